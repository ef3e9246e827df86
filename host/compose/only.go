package compose

import "github.com/zarf-host/zarf-host/host/spec"

// Fits reports whether a build for an architecture and a flavor takes a component. One without a
// flavor fits every build; one with a flavor only that of it.
func Fits(c spec.Component, architecture, flavor string) bool {
	return (c.Only.Cluster.Architecture == "" || c.Only.Cluster.Architecture == architecture) &&
		(c.Only.Flavor == "" || c.Only.Flavor == flavor)
}
