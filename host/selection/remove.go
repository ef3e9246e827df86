package selection

import (
	"fmt"

	"github.com/zarf-host/zarf-host/host/spec"
)

// ForRemove chooses the components to remove (and to mirror): those that the request names, or all
// without one. Required, default and group mean nothing here.
func ForRemove(components []spec.Component, opts Options) ([]Choice, error) {
	terms, err := parseRequest(opts.Request)
	if err != nil {
		return nil, err
	}
	if err := checkMatched(terms, components, opts.OS); err != nil {
		return nil, err
	}
	choices := make([]Choice, len(components))
	var some bool
	for i, c := range components {
		choices[i] = removal(c, terms, opts.OS)
		some = some || choices[i].Selected
	}
	if len(terms) > 0 && !some {
		return nil, fmt.Errorf("selecting components: %q selects none; an exclusion only takes away from what the list names", opts.Request)
	}
	return choices, nil
}

func removal(c spec.Component, terms []term, goos string) Choice {
	included, excluded := verdict(terms, c.Name)
	switch {
	case !fitsOS(c, goos):
		return Choice{Component: c, Reason: OtherOS}
	case len(terms) == 0:
		return Choice{Component: c, Selected: true, Reason: All}
	case included:
		return Choice{Component: c, Selected: true, Reason: Requested}
	case excluded:
		return Choice{Component: c, Reason: Excluded}
	default:
		return Choice{Component: c, Reason: Optional}
	}
}
