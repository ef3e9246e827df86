package plugin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/hook"
)

// Facts are what is known of a module before anything of it runs.
type Facts struct {
	Name, Version string
	// Source is where it comes from, as ParseReference reads it.
	Source string
	// Digest is that of the module, "sha256:…".
	Digest string
	// Capabilities are those that its metadata asks for.
	Capabilities []hook.Capability
}

// LockError says that a lock file does not allow a plugin, or what it is to be granted.
type LockError struct {
	Plugin string
	reason string
	hint   string
}

func (e *LockError) Error() string {
	return fmt.Sprintf("plugin %q is refused: %s", e.Plugin, e.reason)
}

// Hint says what to do about it.
func (e *LockError) Hint() string { return e.hint }

// Admit returns what a plugin is granted where the lock lets it in, and a *LockError where not. Flags
// are what --grant gives it: they may repeat what the lock grants or give a part of it, and no more.
func (l Lock) Admit(f Facts, flags []hook.Grant) ([]hook.Grant, error) {
	p, ok := l.Find(f.Name)
	if !ok {
		return nil, &LockError{f.Name, fmt.Sprintf("the lock file does not have it (its digest is %s)", f.Digest), lockHint(f, "")}
	}
	if p.Digest != f.Digest {
		return nil, &LockError{f.Name, fmt.Sprintf("it is not the module that the lock file has: its digest is %s, locked is %s", f.Digest, p.Digest),
			"if the change is meant, look at it with `zarf-host plugin inspect` and " + lockHint(f, " --update")}
	}
	if grown := missing(f.Capabilities, p.Capabilities); len(grown) > 0 {
		return nil, &LockError{f.Name, fmt.Sprintf("it asks for %s, which the lock file does not know of", join(grown)),
			"if that is meant, " + lockHint(f, " --update")}
	}
	grants, err := p.grants()
	if err != nil {
		return nil, fmt.Errorf("reading what the lock file grants to %q: %w", f.Name, err)
	}
	for _, g := range flags {
		if !covered(g, grants) {
			return nil, &LockError{f.Name, fmt.Sprintf("--grant %s=%s is more than the lock file grants", f.Name, g),
				lockHint(f, fmt.Sprintf(" --grant %s=%s", f.Name, g))}
		}
	}
	if len(flags) > 0 {
		return flags, nil
	}
	return grants, nil
}

// Unlocked is the refusal of a plugin that the package carries, where there is no lock file: what a
// package brings along is not trusted by deploying it.
func Unlocked(f Facts) *LockError {
	return &LockError{f.Name, fmt.Sprintf("the package carries it, and no lock file allows its digest, %s", f.Digest),
		"look at it with `zarf-host plugin pull " + f.Source + " --package PACKAGE` and `zarf-host plugin inspect`, then " + lockHint(f, "")}
}

func lockHint(f Facts, flags string) string {
	if strings.HasPrefix(f.Source, packageScheme) {
		flags = " --package PACKAGE" + flags
	}
	return fmt.Sprintf("lock it with `zarf-host plugin lock --plugin %s%s`", f.Source, flags)
}

// covered reports whether a grant is a part of what others give together.
func covered(g hook.Grant, by []hook.Grant) bool {
	var reach []string
	given := false
	for _, b := range by {
		if b.Capability == g.Capability {
			given = true
			reach = append(reach, b.Namespaces...)
		}
	}
	return given && (slices.Contains(reach, hook.Everywhere) ||
		!slices.ContainsFunc(g.Namespaces, func(ns string) bool { return !slices.Contains(reach, ns) }))
}

// Add locks a plugin with what it is to be granted. Update lets the module of one that is locked
// already be replaced. One that asks for more than before is refused unless that is granted: an update
// must not be how a plugin comes to ask for more unseen. What was granted before stays, as far as the
// plugin still asks for it and the grants say nothing else of that capability.
func (l Lock) Add(f Facts, grants []hook.Grant, update bool) (Lock, error) {
	for _, g := range grants {
		if !slices.Contains(f.Capabilities, g.Capability) {
			return l, fmt.Errorf("--grant %s=%s: the plugin does not ask for %s", f.Name, g, g.Capability)
		}
	}
	entry := Locked{Name: f.Name, Version: f.Version, Source: f.Source, Digest: f.Digest, Capabilities: f.Capabilities}
	for _, g := range grants {
		entry.Grants = append(entry.Grants, g.String())
	}
	old, locked := l.Find(f.Name)
	if locked {
		if err := l.replaces(old, f, grants, update); err != nil {
			return l, err
		}
		entry.Grants = append(entry.Grants, kept(old, f, grants)...)
	}
	if err := entry.check(); err != nil {
		return l, fmt.Errorf("locking plugin %q: %w", f.Name, err)
	}
	out := l
	out.Plugins = slices.DeleteFunc(slices.Clone(l.Plugins), func(p Locked) bool { return p.Name == f.Name })
	out.Plugins = append(out.Plugins, entry)
	return out, nil
}

// replaces says why a plugin does not take the place of the one that is locked.
func (l Lock) replaces(old Locked, f Facts, grants []hook.Grant, update bool) error {
	if old.Digest != f.Digest && !update {
		return &LockError{f.Name, fmt.Sprintf("it is not the module that the lock file has: its digest is %s, locked is %s", f.Digest, old.Digest),
			"if the change is meant, add --update"}
	}
	grown := missing(f.Capabilities, old.Capabilities)
	grown = slices.DeleteFunc(grown, func(c hook.Capability) bool {
		return slices.ContainsFunc(grants, func(g hook.Grant) bool { return g.Capability == c })
	})
	if len(grown) > 0 {
		return &LockError{f.Name, fmt.Sprintf("it asks for %s, which version %s did not", join(grown), old.Version),
			fmt.Sprintf("grant it with --grant %s=%s, or take the plugin out of the lock file and lock it anew without", f.Name, grown[0])}
	}
	return nil
}

// kept are the grants of before that stay.
func kept(old Locked, f Facts, grants []hook.Grant) []string {
	var out []string
	for _, text := range old.Grants {
		g, err := hook.ParseGrant(text)
		again := slices.ContainsFunc(grants, func(n hook.Grant) bool { return n.Capability == g.Capability })
		if err == nil && !again && slices.Contains(f.Capabilities, g.Capability) {
			out = append(out, text)
		}
	}
	return out
}

// missing are those of a that b lacks.
func missing(a, b []hook.Capability) []hook.Capability {
	var out []hook.Capability
	for _, c := range a {
		if !slices.Contains(b, c) {
			out = append(out, c)
		}
	}
	return out
}

func join(capabilities []hook.Capability) string {
	var out []string
	for _, c := range capabilities {
		out = append(out, string(c))
	}
	return strings.Join(out, ", ")
}
