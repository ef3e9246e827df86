package main

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/plugins/sdk"
)

// config is what the guard protects. Names may hold *.
type config struct {
	Namespaces []string          `json:"namespaces"`
	Kinds      []string          `json:"kinds"`
	Labels     map[string]string `json:"labels"` // an empty value means any
	Data       bool              `json:"data"`
	Action     string            `json:"action"`
	Allow      []string          `json:"allow"` // Kind/namespace/name, or Kind/name
}

const (
	actionDeny = "deny"
	actionKeep = "keep"
)

// readConfig returns the request's configuration over the defaults: what holds data is denied.
func readConfig(r sdk.Request) (config, error) {
	c := config{Data: true, Action: actionDeny}
	if err := r.DecodeConfig(&c); err != nil {
		return c, err
	}
	if c.Action != actionDeny && c.Action != actionKeep {
		return c, fmt.Errorf("action %q is neither deny nor keep", c.Action)
	}
	if err := c.checkRules(); err != nil {
		return c, err
	}
	for _, a := range c.Allow {
		parts := strings.Split(a, "/")
		if len(parts) != 2 && len(parts) != 3 {
			return c, fmt.Errorf("allow %q is neither Kind/namespace/name nor Kind/name", a)
		}
		// Of the three parts only the namespace may be empty: cluster-wide objects have none.
		for i, p := range parts {
			if p == "" && len(parts) == 3 && i == 1 {
				continue
			}
			if err := checkPattern(p); err != nil {
				return c, fmt.Errorf("allow %q: %w", a, err)
			}
		}
	}
	return c, nil
}

// checkRules refuses entries that no object can ever fit: whoever wrote one believes that something
// is protected.
func (c config) checkRules() error {
	for _, p := range c.Namespaces {
		if err := checkRule("namespaces", p, lower+digits+"-"); err != nil {
			return err
		}
	}
	for _, p := range c.Kinds {
		if err := checkRule("kinds", p, lower+upper+digits+"-"); err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.Labels)) {
		switch value := c.Labels[key]; {
		case key == "":
			return errors.New("labels: an empty name protects nothing")
		case strings.Trim(key, lower+upper+digits+"-_./") != "":
			return fmt.Errorf("labels: no label can be called %q, so it protects nothing", key)
		case strings.Trim(value, lower+upper+digits+"-_.") != "":
			return fmt.Errorf("labels: no label can be %s=%q, so it protects nothing: values are compared whole, without *", key, value)
		}
	}
	return nil
}

// The letters that names are made of.
const (
	lower    = "abcdefghijklmnopqrstuvwxyz"
	upper    = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits   = "0123456789"
	wildcard = `*?[]^\`
)

func checkRule(list, p, letters string) error {
	if err := checkPattern(p); err != nil {
		return fmt.Errorf("%s: %w", list, err)
	}
	if i := strings.IndexFunc(p, func(r rune) bool { return !strings.ContainsRune(letters+wildcard, r) }); i >= 0 {
		return fmt.Errorf("%s: nothing can be called %q, so it protects nothing", list, p)
	}
	return nil
}

func checkPattern(p string) error {
	if p == "" {
		return errors.New("an empty name protects nothing")
	}
	if _, err := path.Match(p, ""); err != nil {
		return fmt.Errorf("%q is not a name with *: %w", p, err)
	}
	return nil
}

// allows says whether the configuration lets an object go.
func (c config) allows(o sdk.Object) bool {
	for _, a := range c.Allow {
		parts := strings.Split(a, "/")
		if len(parts) == 2 {
			parts = []string{parts[0], "", parts[1]}
		}
		if likeKind(parts[0], o.Kind) && (parts[1] == o.Namespace || like(parts[1], o.Namespace)) && like(parts[2], o.Name) {
			return true
		}
	}
	return false
}

func likeAny(patterns []string, name string) bool {
	for _, p := range patterns {
		if like(p, name) {
			return true
		}
	}
	return false
}

// like is whether a name fits a pattern; readConfig has checked that it is one.
func like(pattern, name string) bool {
	ok, _ := path.Match(pattern, name)
	return ok
}
