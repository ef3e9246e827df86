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

// config is what packages may be called, where they may come from, and what collisions mean. Nil
// lists allow everything.
type config struct {
	Names    []string               `json:"names"`
	Sources  []string               `json:"sources"`  // for every package
	Known    map[string][]string    `json:"known"`    // sources by name of the package
	Verdicts map[string]sdk.Verdict `json:"verdicts"` // by kind of collision
}

// kinds are those of a collision.
func kinds() []string {
	return []string{"package-name", "downgrade", "flavor-change", "release-name", "object"}
}

// readConfig returns the request's configuration. There is no default: without a rule nothing would
// be judged by whoever believes that it is.
func readConfig(r sdk.Request) (config, error) {
	var c config
	if err := r.DecodeConfig(&c); err != nil {
		return c, err
	}
	if c.Names == nil && c.Sources == nil && len(c.Known) == 0 && len(c.Verdicts) == 0 {
		return c, errors.New("the configuration has no rule: set names, sources, known or verdicts")
	}
	if c.Names != nil && len(c.Names) == 0 {
		return c, errors.New("names is empty, so that no package may be deployed; leave it out for any")
	}
	for _, p := range c.Names {
		if err := checkName(p); err != nil {
			return c, fmt.Errorf("names: %w", err)
		}
	}
	if c.Sources != nil {
		if err := checkSources(c.Sources); err != nil {
			return c, fmt.Errorf("sources: %w", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Known)) {
		if err := checkName(name); err != nil {
			return c, fmt.Errorf("known: %w", err)
		}
		if err := checkSources(c.Known[name]); err != nil {
			return c, fmt.Errorf("known %q: %w", name, err)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(c.Verdicts)) {
		if !slices.Contains(kinds(), kind) {
			return c, fmt.Errorf("verdicts: there is no collision of kind %q: the kinds are %s", kind, strings.Join(kinds(), ", "))
		}
		if v := c.Verdicts[kind]; v != sdk.Allow && v != sdk.Warn && v != sdk.Deny {
			return c, fmt.Errorf("verdicts: %s: %q is none of allow, warn and deny", kind, v)
		}
	}
	return c, nil
}

// The letters of a package's name, and what a pattern has beside.
const (
	nameLetters = "abcdefghijklmnopqrstuvwxyz0123456789-"
	wildcard    = `*?[]^\`
)

// checkName refuses a pattern that no package's name fits.
func checkName(p string) error {
	if p == "" {
		return errors.New("an empty name fits no package")
	}
	if _, err := path.Match(p, ""); err != nil {
		return fmt.Errorf("%q is not a name with *: %w", p, err)
	}
	if strings.Trim(p, nameLetters+wildcard) != "" {
		return fmt.Errorf("no package can be called %q: names are lower-case letters, digits and dashes", p)
	}
	return nil
}

// checkSources refuses a list of which an entry fits nothing.
func checkSources(patterns []string) error {
	if len(patterns) == 0 {
		return errors.New("an empty list allows no package at all")
	}
	for _, p := range patterns {
		if err := checkSource(p); err != nil {
			return err
		}
	}
	return nil
}
