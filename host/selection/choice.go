package selection

import "github.com/zarf-host/zarf-host/host/spec"

// Reason says why a component was chosen or left out.
type Reason string

// The reasons of a Choice.
const (
	Required  Reason = "required"               // the package demands it
	Requested Reason = "requested"              // the request names it
	Default   Reason = "default"                // the package chooses it unless told otherwise
	All       Reason = "all"                    // no request, so everything (remove)
	Excluded  Reason = "excluded"               // the request takes it out
	Optional  Reason = "optional"               // nobody asked for it
	OtherOS   Reason = "other operating system" // only.localOS names another one
)

// Choice is the decision about one component. A definition gives as many choices as it has
// components, in its order.
type Choice struct {
	Component spec.Component
	Selected  bool
	Reason    Reason
	// Ask is set where a person may decide otherwise: Select was called with Interactive, nothing
	// was requested, and the component is optional. Selected then is the answer to offer first.
	// Members of one group are one question.
	Ask bool
}

// Chosen returns the components that were selected, in the package's order.
func Chosen(choices []Choice) []spec.Component {
	var out []spec.Component
	for _, c := range choices {
		if c.Selected {
			out = append(out, c.Component)
		}
	}
	return out
}
