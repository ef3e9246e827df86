package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/zarf-host/zarf-host/host/selection"
	"github.com/zarf-host/zarf-host/host/spec"
)

// chooseComponents asks about each optional component. Members of one group are one question.
func (r *root) chooseComponents(ctx context.Context, choices []selection.Choice) ([]string, error) {
	var chosen []string
	groups := map[string]bool{}
	for _, c := range choices {
		group := c.Component.Group
		switch {
		case !c.Ask || group != "" && groups[group]:
			continue
		case group != "":
			groups[group] = true
			name, err := r.chooseOne(ctx, group, choices)
			if err != nil {
				return nil, err
			}
			chosen = append(chosen, name)
			continue
		}
		text := fmt.Sprintf("deploy the optional component %q?", c.Component.Name)
		if c.Component.Description != "" {
			text = fmt.Sprintf("deploy the optional component %q (%s)?", c.Component.Name, c.Component.Description)
		}
		yes, err := r.prompts().ask(ctx, text, c.Selected)
		if err != nil {
			return nil, err
		}
		if yes {
			chosen = append(chosen, c.Component.Name)
		}
	}
	return chosen, nil
}

// chooseOne asks which member of a group to deploy.
func (r *root) chooseOne(ctx context.Context, group string, choices []selection.Choice) (string, error) {
	var members []string
	offered := ""
	for _, c := range choices {
		if c.Ask && c.Component.Group == group {
			members = append(members, c.Component.Name)
			if c.Selected {
				offered = c.Component.Name
			}
		}
	}
	answer, err := r.prompts().line(ctx, fmt.Sprintf("which of group %q (%s)?", group, strings.Join(members, ", ")), offered, false)
	if err != nil {
		return "", err
	}
	for _, m := range members {
		if m == answer {
			return m, nil
		}
	}
	return "", fmt.Errorf("%q is not in group %q: choose one of %s", answer, group, strings.Join(members, ", "))
}

// promptVariable asks for a variable that the package wants to be asked for. A sensitive default is
// not shown.
func (r *root) promptVariable(ctx context.Context, v spec.InteractiveVariable) (string, error) {
	text := "value of " + v.Name
	if v.Description != "" {
		text += " (" + v.Description + ")"
	}
	return r.prompts().line(ctx, text+"?", v.Default, v.Sensitive)
}
