package main

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/zarf-host/zarf-host/plugins/sdk"
)

// config is what becomes of what is in use.
type config struct {
	Action string   `json:"action"`
	Allow  []string `json:"allow"` // Kind/namespace/name, or Kind/name; parts may hold *
}

const (
	actionDeny = "deny"
	actionKeep = "keep"
)

// readConfig returns the request's configuration over the default, which denies.
func readConfig(r sdk.Request) (config, error) {
	c := config{Action: actionDeny}
	if err := r.DecodeConfig(&c); err != nil {
		return c, err
	}
	if c.Action != actionDeny && c.Action != actionKeep {
		return c, fmt.Errorf("action %q is neither deny nor keep", c.Action)
	}
	for _, a := range c.Allow {
		if err := checkAllowed(a); err != nil {
			return c, fmt.Errorf("allow %q: %w", a, err)
		}
	}
	return c, nil
}

func checkAllowed(entry string) error {
	parts := strings.Split(entry, "/")
	if len(parts) != 2 && len(parts) != 3 {
		return errors.New("it is neither Kind/namespace/name nor Kind/name")
	}
	for _, p := range parts {
		if p == "" {
			return errors.New("an empty part fits nothing")
		}
		if _, err := path.Match(p, ""); err != nil {
			return fmt.Errorf("%q is not a name with *: %w", p, err)
		}
	}
	return nil
}

// allows says whether the configuration lets an object go whoever uses it.
func (c config) allows(o sdk.Object) bool {
	for _, a := range c.Allow {
		// A slash is in no part of a name, and * does not stand for one.
		if ok, _ := path.Match(a, o.String()); ok { // readConfig has checked the pattern
			return true
		}
	}
	return false
}
