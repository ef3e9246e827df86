package plugin

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/zarf-host/zarf-host/host/hook"
)

// LockFile is the name under which a lock file is looked for where none is named.
const LockFile = "zarf-host.plugins.lock"

// The type of a lock file.
const (
	LockAPIVersion = "zarf-host.dev/v1alpha1"
	LockKind       = "PluginLock"
)

// MaxLock bounds a lock file.
const MaxLock = 1 << 20

// Lock says which plugins may run, and what each may ask for.
type Lock struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Plugins    []Locked `json:"plugins"`
}

// Locked is one plugin of a lock.
type Locked struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	// Source is where it was when it was locked, as ParseReference reads it; of one in a registry with
	// the digest of its manifest. It may come from elsewhere: a mirror has the same module.
	Source string `json:"source"`
	// Digest is that of the module, "sha256:…".
	Digest string `json:"digest"`
	// Capabilities are those that it asks for.
	Capabilities []hook.Capability `json:"capabilities,omitempty"`
	// Grants are those that it is given, as --grant takes them: CAPABILITY, CAPABILITY@NAMESPACE,….
	Grants []string `json:"grants,omitempty"`
}

// NewLock is a lock that allows nothing.
func NewLock() Lock { return Lock{APIVersion: LockAPIVersion, Kind: LockKind, Plugins: []Locked{}} }

// ParseLock reads a lock file, YAML or JSON. A key that is not known, or given twice, is an error: what
// is misspelt must not be what was meant to be forbidden.
func ParseLock(data []byte) (Lock, error) {
	if len(data) > MaxLock {
		return Lock{}, fmt.Errorf("it has %d bytes, at most %d are read", len(data), MaxLock)
	}
	if documents(data) > 1 {
		return Lock{}, errors.New("it has more than one document")
	}
	var l Lock
	if err := yaml.UnmarshalStrict(data, &l); err != nil {
		return Lock{}, err
	}
	if l.APIVersion != LockAPIVersion || l.Kind != LockKind {
		return Lock{}, fmt.Errorf("it is %q of %q, wanted is kind %q of apiVersion %q", clip(l.Kind), clip(l.APIVersion), LockKind, LockAPIVersion)
	}
	for i, p := range l.Plugins {
		if slices.ContainsFunc(l.Plugins[:i], func(o Locked) bool { return o.Name == p.Name }) {
			return Lock{}, fmt.Errorf("plugins[%d]: %q is there twice", i, clip(p.Name))
		}
		if err := p.check(); err != nil {
			return Lock{}, fmt.Errorf("plugins[%d]: %w", i, err)
		}
	}
	return l, nil
}

// documents counts the documents of a YAML stream.
func documents(data []byte) int {
	n, content := 1, false
	for line := range bytes.Lines(data) {
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case bytes.Equal(line, []byte("---")) || bytes.HasPrefix(line, []byte("--- ")):
			if content {
				n++
			}
			content = true
		case len(bytes.TrimSpace(line)) > 0 && line[0] != '#' && line[0] != '%':
			content = true
		}
	}
	return n
}

func (p Locked) check() error {
	if !nameForm.MatchString(p.Name) {
		return fmt.Errorf("name %q is not lower-case letters, digits and dashes, at most 63", clip(p.Name))
	}
	if _, err := ParseReference(p.Source); err != nil {
		return fmt.Errorf("source of %q: %w", p.Name, err)
	}
	if !digestForm.MatchString(p.Digest) {
		return fmt.Errorf("digest %q of %q is not sha256:… in lower-case hex", clip(p.Digest), p.Name)
	}
	for _, c := range p.Capabilities {
		if g, err := hook.ParseGrant(string(c)); err != nil || len(g.Namespaces) > 0 {
			return fmt.Errorf("capabilities of %q: %q is none", p.Name, clip(string(c)))
		}
	}
	grants, err := p.grants()
	if err != nil {
		return fmt.Errorf("grants of %q: %w", p.Name, err)
	}
	for _, g := range grants {
		if !slices.Contains(p.Capabilities, g.Capability) {
			return fmt.Errorf("grants of %q: %s is not among its capabilities", p.Name, g.Capability)
		}
	}
	return nil
}

func (p Locked) grants() ([]hook.Grant, error) {
	var out []hook.Grant
	for _, text := range p.Grants {
		g, err := hook.ParseGrant(text)
		if err != nil {
			return nil, err
		}
		out = append(out, g)
	}
	return out, nil
}

// Find returns the plugin of a name.
func (l Lock) Find(name string) (Locked, bool) {
	i := slices.IndexFunc(l.Plugins, func(p Locked) bool { return p.Name == name })
	if i < 0 {
		return Locked{}, false
	}
	return l.Plugins[i], true
}

// Format writes a lock file, the plugins in the order of their names.
func (l Lock) Format() ([]byte, error) {
	l.Plugins = slices.SortedFunc(slices.Values(l.Plugins), func(a, b Locked) int { return cmp.Compare(a.Name, b.Name) })
	body, err := yaml.Marshal(l)
	if err != nil {
		return nil, fmt.Errorf("writing the lock file: %w", err)
	}
	return append([]byte("# The plugins that may run, and what each may ask for. Written by `zarf-host plugin lock`.\n"), body...), nil
}
