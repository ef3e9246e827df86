package cli

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/zarf-host/zarf-host/host/selection"
	"github.com/zarf-host/zarf-host/host/spec"
)

// chooseComponents asks about each optional component. Members of one group are one question.
func (r *root) chooseComponents(_ context.Context, choices []selection.Choice) ([]string, error) {
	var chosen []string
	groups := map[string]bool{}
	for _, c := range choices {
		group := c.Component.Group
		switch {
		case !c.Ask || group != "" && groups[group]:
			continue
		case group != "":
			groups[group] = true
			name, err := r.chooseOne(group, choices)
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
		yes, err := r.ask(text)
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
func (r *root) chooseOne(group string, choices []selection.Choice) (string, error) {
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
	answer, err := r.line(fmt.Sprintf("which of group %q (%s)?", group, strings.Join(members, ", ")), offered)
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
func (r *root) promptVariable(_ context.Context, v spec.InteractiveVariable) (string, error) {
	text := "value of " + v.Name
	if v.Description != "" {
		text += " (" + v.Description + ")"
	}
	if v.Sensitive {
		value, err := r.line(text+"?", "")
		if value == "" {
			value = v.Default
		}
		return value, err
	}
	return r.line(text+"?", v.Default)
}

// line asks for one line; an empty one means what is offered.
func (r *root) line(question, offered string) (string, error) {
	if offered != "" {
		question += " [" + offered + "]"
	}
	if _, err := fmt.Fprint(r.streams.Err, question+" "); err != nil {
		return "", err
	}
	answer, err := bufio.NewReader(r.streams.In).ReadString('\n')
	if err != nil && answer == "" {
		return "", fmt.Errorf("reading the answer: %w", err)
	}
	if answer = strings.TrimSpace(answer); answer == "" {
		return offered, nil
	}
	return answer, nil
}
