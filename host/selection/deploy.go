package selection

import (
	"fmt"
	"strings"

	"github.com/zarf-host/zarf-host/host/spec"
)

// Options say what is asked for.
type Options struct {
	// Request is a comma separated list of names and globs; a leading '-' excludes, and the last
	// element that fits a component decides. Empty means the package's own choice.
	Request string
	// OS is the operating system of the deploying machine, in Go's spelling.
	OS string
	// Interactive marks what a person may choose (Choice.Ask) instead of failing where the package
	// leaves a choice open.
	Interactive bool
}

// ForDeploy chooses the components to deploy. Required ones are always in, even when excluded by
// name. With a request, default ones stay in unless it excludes them. Of a group exactly one is
// chosen.
func ForDeploy(components []spec.Component, opts Options) ([]Choice, error) {
	terms, err := parseRequest(opts.Request)
	if err != nil {
		return nil, err
	}
	if err := checkMatched(terms, components, opts.OS); err != nil {
		return nil, err
	}
	ask := opts.Interactive && len(terms) == 0
	choices := make([]Choice, len(components))
	groups := map[string][]int{}
	for i, c := range components {
		choices[i] = single(c, terms, opts.OS, ask)
		if c.Group != "" && choices[i].Reason != OtherOS {
			groups[c.Group] = append(groups[c.Group], i)
		}
	}
	for _, c := range components { // the package's order, so that errors are the same each time
		members := groups[c.Group]
		delete(groups, c.Group)
		if len(members) < 2 {
			continue
		}
		if err := settleGroup(c.Group, choices, members, ask); err != nil {
			return nil, err
		}
	}
	return choices, nil
}

// single decides about a component as if it belonged to no group.
func single(c spec.Component, terms []term, goos string, ask bool) Choice {
	included, excluded := verdict(terms, c.Name)
	switch {
	case !fitsOS(c, goos):
		return Choice{Component: c, Reason: OtherOS}
	case c.Required != nil && *c.Required:
		return Choice{Component: c, Selected: true, Reason: Required}
	case included:
		return Choice{Component: c, Selected: true, Reason: Requested}
	case excluded:
		return Choice{Component: c, Reason: Excluded}
	case c.Default:
		return Choice{Component: c, Selected: true, Reason: Default, Ask: ask}
	default:
		return Choice{Component: c, Reason: Optional, Ask: ask}
	}
}

// settleGroup makes the choice in a group unique: a member that is required or asked for displaces
// the default one.
func settleGroup(group string, choices []Choice, members []int, ask bool) error {
	var named, defaults, names []string
	for _, i := range members {
		c := choices[i]
		names = append(names, c.Component.Name)
		switch {
		case !c.Selected:
		case c.Reason == Default:
			defaults = append(defaults, c.Component.Name)
		default:
			named = append(named, c.Component.Name)
		}
	}
	if len(named) > 1 {
		return fmt.Errorf("selecting components: group %q allows one component, but %s are selected", group, strings.Join(named, " and "))
	}
	if len(named)+len(defaults) == 0 {
		if ask {
			return nil
		}
		return fmt.Errorf("selecting components: group %q has no default and none of it is selected; choose one of %s with --components", group, strings.Join(names, ", "))
	}
	keep := append(named, defaults...)[0]
	for _, i := range members {
		if choices[i].Selected && choices[i].Component.Name != keep {
			choices[i].Selected, choices[i].Reason = false, Optional
		}
	}
	return nil
}
