package plan

import (
	"fmt"

	"github.com/zarf-host/zarf-host/host/object"
)

// RenderedTwice names every object that two releases of one deployment render: each would take it
// from the other, again at every deployment. Which of the two is right, nobody can tell.
func RenderedTwice(wanted []Wanted) []string {
	var out []string
	by := map[object.Key]Wanted{}
	for _, w := range wanted {
		for _, o := range w.Objects {
			if o.Name == "" {
				continue // the server names it
			}
			first, twice := by[o.Key()]
			if twice && first.Release != w.Release {
				out = append(out, fmt.Sprintf("%s is in release %s (chart %q of component %q) and in release %s (chart %q of component %q): one object can have one owner",
					o.Ref, first.Release, first.Chart, first.Component, w.Release, w.Chart, w.Component))
				continue
			}
			by[o.Key()] = w
		}
	}
	return out
}
