package host

import (
	"fmt"

	"github.com/zarf-host/zarf-host/host/object"
)

// releaseProblems refuses releases that have no namespace, which Helm would look for in all of them,
// and releases that the package installs twice, where the later would replace the earlier. Zarf's
// create refuses both, but nothing says that create wrote the package.
func releaseProblems(wanted []release) []string {
	var out []string
	by := map[object.Release]release{}
	for _, r := range wanted {
		if r.Namespace == "" {
			out = append(out, fmt.Sprintf("component %q names no namespace for chart %q", r.component, r.chart))
			continue
		}
		if first, twice := by[r.Release]; twice {
			out = append(out, fmt.Sprintf("chart %q of component %q and chart %q of component %q are both release %s: two charts need two release names",
				first.chart, first.component, r.chart, r.component, r.Release))
			continue
		}
		by[r.Release] = r
	}
	return out
}
