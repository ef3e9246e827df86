package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/plugin"
)

// The type of a policy.
const (
	APIVersion = "zarf-host.dev/v1alpha1"
	Kind       = "Policy"
)

// Policy is one policy, without its constraints on the definition and the configuration.
type Policy struct {
	APIVersion string     `json:"apiVersion"`
	Kind       string     `json:"kind"`
	Metadata   Metadata   `json:"metadata"`
	Plugins    []Plugin   `json:"plugins,omitempty"`
	Collisions Collisions `json:"collisions,omitzero"`
	// Sources are where packages may come from, * for any text without a slash, ** for any text; empty
	// is anywhere.
	Sources []string `json:"sources,omitempty"`
	// Signed wants packages to carry a signature.
	Signed bool `json:"signed,omitempty"`
}

// Metadata names a policy.
type Metadata struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// Collisions are what holds for collisions beside what plugins say.
type Collisions struct {
	// NeverAccept are the kinds that an operator cannot accept.
	NeverAccept []plan.CollisionKind `json:"neverAccept,omitempty"`
}

// Plugin is a plugin that a policy wants to be asked.
type Plugin struct {
	Name string `json:"name"`
	// Source is where it comes from, as plugin.ParseReference reads it.
	Source string `json:"source"`
	// Digest is that of the module, "sha256:…".
	Digest string `json:"digest,omitempty"`
	// Hooks are those at which it is asked; empty is all that it declares.
	Hooks  []hook.Name    `json:"hooks,omitempty"`
	Config map[string]any `json:"config,omitempty"`
	// Grants are as --grant takes them, without the name.
	Grants        []string           `json:"grants,omitempty"`
	FailurePolicy hook.FailurePolicy `json:"failurePolicy,omitempty"`
	Limits        Limits             `json:"limits,omitzero"`
}

// Limits are what a plugin may take; zero is the default.
type Limits struct {
	Fuel    uint64 `json:"fuel,omitempty"`
	Seconds int    `json:"seconds,omitempty"`
	Memory  int    `json:"memory,omitempty"` // MiB
}

// Parse reads the JSON of a policy that the schema allows, and checks what a schema cannot tell.
func Parse(data []byte) (Policy, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber() // a configuration keeps its numbers
	dec.DisallowUnknownFields()
	var p Policy
	if err := dec.Decode(&p); err != nil {
		return Policy{}, fmt.Errorf("reading the policy: %w", err)
	}
	if p.APIVersion != APIVersion || p.Kind != Kind {
		return Policy{}, fmt.Errorf("it is %q of %q, wanted is kind %q of apiVersion %q", p.Kind, p.APIVersion, Kind, APIVersion)
	}
	for i, pl := range p.Plugins {
		if slices.ContainsFunc(p.Plugins[:i], func(o Plugin) bool { return o.Name == pl.Name }) {
			return Policy{}, fmt.Errorf("plugins[%d]: %q is there twice", i, pl.Name)
		}
		if err := pl.check(); err != nil {
			return Policy{}, fmt.Errorf("plugins[%d]: %w", i, err)
		}
	}
	return p, nil
}

func (p Plugin) check() error {
	ref, err := plugin.ParseReference(p.Source)
	if err != nil {
		return fmt.Errorf("source of %q: %w", p.Name, err)
	}
	if ref.Kind == plugin.Package && ref.Name != p.Name {
		return fmt.Errorf("source of %q: %s is another plugin", p.Name, p.Source)
	}
	if ref.Kind != plugin.File && p.Digest == "" && ref.Digest == "" {
		return &UnpinnedError{Plugin: p.Name, Source: p.Source}
	}
	for _, name := range p.Hooks {
		if _, err := hook.Find(name); err != nil {
			return fmt.Errorf("hooks of %q: %w", p.Name, err)
		}
	}
	_, err = p.Granted()
	return err
}

// UnpinnedError says that a plugin could be another one tomorrow.
type UnpinnedError struct{ Plugin, Source string }

func (e *UnpinnedError) Error() string {
	return fmt.Sprintf("plugin %q has no digest: what %s stands for may change", e.Plugin, e.Source)
}

// Hint says how to get a digest.
func (e *UnpinnedError) Hint() string {
	return "`zarf-host plugin push` prints a reference with its digest, `zarf-host plugin inspect` the digest of a module"
}

// Granted are the grants of the plugin.
func (p Plugin) Granted() ([]hook.Grant, error) {
	var out []hook.Grant
	for _, text := range p.Grants {
		g, err := hook.ParseGrant(text)
		if err != nil {
			return nil, fmt.Errorf("grants of %q: %w", p.Name, err)
		}
		out = append(out, g)
	}
	return out, nil
}

// Admit says whether a module is the one that the policy means.
func (p Plugin) Admit(f plugin.Facts) error {
	switch {
	case f.Name != p.Name:
		return fmt.Errorf("the module at %s is plugin %q, not %q", p.Source, f.Name, p.Name)
	case p.Digest != "" && f.Digest != p.Digest:
		return fmt.Errorf("the module at %s has the digest %s, the policy wants %s", p.Source, f.Digest, p.Digest)
	}
	return nil
}

// allows reports whether a source is one of those that a policy names.
func (p Policy) allows(source string) bool {
	if len(p.Sources) == 0 {
		return true
	}
	return slices.ContainsFunc(p.Sources, func(pattern string) bool { return matches(pattern, cleaned(source)) })
}

// cleaned takes dots out of a path, by which one place could look like another.
func cleaned(source string) string {
	scheme, rest, ok := strings.Cut(source, "://")
	if !ok {
		return path.Clean(source)
	}
	return scheme + "://" + path.Clean(rest)
}

// matches compares a source with a pattern.
func matches(pattern, source string) bool {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch {
		case strings.HasPrefix(pattern[i:], "**"):
			b.WriteString(".*")
			i++
		case pattern[i] == '*':
			b.WriteString("[^/]*")
		default:
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		}
	}
	re, err := regexp.Compile("^(?s:" + b.String() + ")$")
	return err == nil && re.MatchString(source)
}
