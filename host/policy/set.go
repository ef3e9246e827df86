package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/plugin"
)

// Applied is a policy that applies to an operation.
type Applied struct {
	Policy
	// Digest is that of its text, "sha256:…"; From is where it came from.
	Digest, From string
}

// Ref is a policy in plans and records.
type Ref struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
	From   string `json:"from,omitempty"`
}

// Set is all policies that apply to an operation, in their order. Each counts, so that the strictest
// verdict wins: nothing that one says makes another milder.
type Set []Applied

// Refs identify the policies.
func (s Set) Refs() []Ref {
	var out []Ref
	for _, p := range s {
		out = append(out, Ref{Name: p.Metadata.Name, Digest: p.Digest, From: p.From})
	}
	return out
}

// Bound is a plugin with the policy that wants it.
type Bound struct {
	Plugin
	Policy Applied
}

// Label is what findings of the plugin are shown under: POLICY/PLUGIN.
func (b Bound) Label() string { return b.Policy.Metadata.Name + "/" + b.Name }

// Plugins are those of all policies, in the order of the policies.
func (s Set) Plugins() []Bound {
	var out []Bound
	for _, p := range s {
		for _, pl := range p.Plugins {
			out = append(out, Bound{Plugin: pl, Policy: p})
		}
	}
	return out
}

// Allows reports whether a policy names a module by its digest, and so lets a package that carries it
// have it run.
func (s Set) Allows(f plugin.Facts) bool {
	return slices.ContainsFunc(s.Plugins(), func(b Bound) bool { return b.Digest != "" && b.Digest == f.Digest && b.Name == f.Name })
}

// Operation is what policies judge beside the constraints.
type Operation struct {
	// Source is where the package came from, Signed whether it carries a signature.
	Source string
	Signed bool
	// Accept are the kinds of collisions that the operator accepts; TakeOwnership takes objects over.
	Accept        []plan.CollisionKind
	TakeOwnership bool
}

// Judge says what of a deployment the policies forbid, beside the constraints.
func (s Set) Judge(o Operation) []plan.Finding {
	var out []plan.Finding
	for _, p := range s {
		deny := func(remedy, format string, args ...any) {
			out = append(out, p.Finding(fmt.Sprintf(format, args...), remedy))
		}
		if !p.allows(o.Source) {
			deny("get the package from one of these places", "packages come from %s, and this one from %s", strings.Join(p.Sources, ", "), o.Source)
		}
		if p.Signed && !o.Signed {
			deny("sign the package", "packages carry a signature, and this one has none")
		}
		for _, kind := range o.Accept {
			if slices.Contains(p.Collisions.NeverAccept, kind) {
				deny("leave --accept-collision "+string(kind)+" out", "collisions of kind %s are not accepted", kind)
			}
		}
		if o.TakeOwnership && slices.Contains(p.Collisions.NeverAccept, plan.CollidesObject) {
			deny("leave --take-ownership out", "objects of others are not taken over")
		}
	}
	return out
}

// Finding is a violation of the policy.
func (p Applied) Finding(message, remedy string) plan.Finding {
	return plan.Finding{Severity: plan.Deny, Rule: fmt.Sprintf("policy %s", p.Metadata.Name), Message: message, Remedy: remedy}
}

// Asks reports whether a plugin that declares a hook is asked there.
func (p Plugin) Asks(name hook.Name) bool {
	return len(p.Hooks) == 0 || slices.Contains(p.Hooks, name)
}
