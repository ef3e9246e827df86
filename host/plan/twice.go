package plan

import (
	"fmt"
	"strings"

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

// unrecorded warns of releases that say they are this package's while it is not on record: its record was
// lost, and what else it had is forgotten once a new one is written.
func (d *deployment) unrecorded() {
	if d.Record != nil {
		return
	}
	var found []string
	for _, w := range d.Wanted {
		if has := d.Releases[w.Release]; has.Exists && has.Package == d.Package.Name && has.Override == d.Package.NamespaceOverride {
			found = append(found, w.Release.String())
		}
	}
	if len(found) > 0 {
		d.warn("package %q is not on record, but installed what is there (release %s): state rebuild %s makes the record up first; "+
			"without it, whatever else the package had is forgotten", d.Package.Name, strings.Join(found, ", "), d.Package.Name)
	}
}

// unknownKinds warns of objects whose kind neither the cluster serves nor anything of the package brings.
// An operator of the package may still register it, so that it is no fault.
func (d *deployment) unknownKinds() {
	if d.Access == nil {
		return
	}
	for _, w := range d.Wanted {
		for _, o := range w.Objects {
			if _, known := d.Access.Kinds[o.GroupKind()]; !known {
				d.warn("%s of release %s is of kind %s in %s, which the cluster does not serve and no definition in the package brings: "+
					"installing it fails unless something registers the kind before", o.Ref, w.Release, o.Kind, o.APIVersion)
			}
		}
	}
}
