package host

import (
	"slices"

	"github.com/zarf-host/zarf-host/host/chart"
	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/spec"
)

// unselected names the releases of the components that an operation does not touch. What they render
// is not known, but that they have these releases is: none of them is an orphan.
func unselected(name string, all, selected []spec.Component) map[object.Release]string {
	out := map[object.Release]string{}
	for _, c := range all {
		if slices.ContainsFunc(selected, func(s spec.Component) bool { return s.Name == c.Name }) {
			continue
		}
		for _, ch := range c.Charts {
			out[object.Release{Namespace: ch.Namespace, Name: chart.ReleaseName(ch)}] = c.Name
		}
		for _, m := range c.Manifests {
			out[chart.ManifestRelease(name, c.Name, m)] = c.Name
		}
	}
	return out
}
