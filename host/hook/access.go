package hook

import (
	"fmt"
	"slices"
	"strings"
)

// Everywhere is the namespace of a grant that reaches all namespaces and what belongs to none.
const Everywhere = "*"

// Grant is a capability that an operator gives to a plugin.
type Grant struct {
	Capability Capability `json:"capability"`
	// Namespaces are those that it reaches beyond the ones of the operation; Everywhere is all.
	Namespaces []string `json:"namespaces,omitempty"`
}

// ParseGrant reads CAPABILITY, CAPABILITY@NAMESPACE or CAPABILITY@*.
func ParseGrant(text string) (Grant, error) {
	name, where, wider := strings.Cut(text, "@")
	g := Grant{Capability: Capability(name)}
	if !slices.Contains(capabilities(), g.Capability) {
		return Grant{}, fmt.Errorf("grant %q names no capability: they are %v", clip(text), capabilities())
	}
	if !wider {
		return g, nil
	}
	if g.Capability != K8sGet && g.Capability != K8sList {
		return Grant{}, fmt.Errorf("grant %q: %s has no namespaces", clip(text), g.Capability)
	}
	for _, ns := range strings.Split(where, ",") {
		if ns == "" {
			return Grant{}, fmt.Errorf("grant %q names no namespace after the @", clip(text))
		}
		g.Namespaces = append(g.Namespaces, ns)
	}
	return g, nil
}

// String is what ParseGrant reads.
func (g Grant) String() string {
	if len(g.Namespaces) == 0 {
		return string(g.Capability)
	}
	return string(g.Capability) + "@" + strings.Join(g.Namespaces, ",")
}

// ParseGrantFlags reads the values of --grant, each NAME=GRANT, by plugin.
func ParseGrantFlags(flags []string) (map[string][]Grant, error) {
	out := map[string][]Grant{}
	for _, flag := range flags {
		name, text, ok := strings.Cut(flag, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--grant %q is not NAME=CAPABILITY", flag)
		}
		g, err := ParseGrant(text)
		if err != nil {
			return nil, fmt.Errorf("--grant %s: %w", name, err)
		}
		out[name] = append(out[name], g)
	}
	return out, nil
}

// Access is what a plugin may ask for: what it declares and is granted, in the namespaces of the
// operation and those that it is granted beyond. What the user may not do, the cluster refuses.
type Access struct {
	Declared   []Capability
	Granted    []Grant
	Namespaces []string // of the operation
}

// Has says whether a capability is both declared and granted.
func (a Access) Has(c Capability) bool {
	return slices.Contains(a.Declared, c) && slices.ContainsFunc(a.Granted, func(g Grant) bool { return g.Capability == c })
}

// Missing are the capabilities that are declared and not granted.
func (a Access) Missing() []Capability {
	var out []Capability
	for _, c := range a.Declared {
		if !a.Has(c) {
			out = append(out, c)
		}
	}
	return out
}

// Allow says why a call is not allowed, as a *CallError; nil if it is.
func (a Access) Allow(c Call) error {
	forbid := func(format string, args ...any) error {
		return &CallError{Code: CodeForbidden, Message: fmt.Sprintf(format, args...)}
	}
	need := c.needs()
	switch {
	case !slices.Contains(a.Declared, need):
		return forbid("the plugin's metadata does not declare %s", need)
	case !a.Has(need):
		return forbid("%s is not granted: the operator grants it with --grant NAME=%s", need, need)
	case need == PackageFile:
		return nil
	}
	reach := slices.Clone(a.Namespaces)
	for _, g := range a.Granted {
		if g.Capability == need {
			reach = append(reach, g.Namespaces...)
		}
	}
	namespace := c.Namespace
	if namespace == "" && c.Op == OpGet && c.APIVersion == "v1" && c.Kind == "Namespace" {
		namespace = c.Name // a namespace is seen by whoever sees into it
	}
	switch {
	case slices.Contains(reach, Everywhere) || namespace != "" && slices.Contains(reach, namespace):
		return nil
	case namespace == "" && c.Op == OpList:
		return forbid("a list over all namespaces is not granted: the operator grants it with --grant NAME=%s@*", need)
	case namespace == "":
		return forbid("what belongs to no namespace is not granted: the operator grants it with --grant NAME=%s@*", need)
	default:
		return forbid("namespace %q is none of the operation's: the operator grants it with --grant NAME=%s@%s", clip(namespace), need, clip(namespace))
	}
}

func (c Call) needs() Capability {
	switch c.Op {
	case OpGet:
		return K8sGet
	case OpList:
		return K8sList
	default:
		return PackageFile
	}
}
