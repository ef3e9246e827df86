package object

import (
	"cmp"
	"slices"
	"strings"
)

// Resource is how the API server calls a kind.
type Resource struct {
	Group      string
	Name       string // plural, in lower case
	Namespaced bool
}

// Kind is a kind of a group, whatever its version.
type Kind struct {
	Group, Kind string
}

// GroupKind returns the kind of the reference.
func (r Ref) GroupKind() Kind { return Kind{Group: r.Group(), Kind: r.Kind} }

// Permission is the right to make requests of one verb on one resource, as Kubernetes' authorizers
// see them. A namespace itself is in the namespace of its name, except where it is created.
type Permission struct {
	Verb        string `json:"verb"`
	Group       string `json:"group,omitempty"` // empty: the core group
	Resource    string `json:"resource"`
	Subresource string `json:"subresource,omitempty"`
	Namespace   string `json:"namespace,omitempty"` // empty: the whole cluster
	// Names are the only objects that it is needed for, sorted; empty: it is needed for any.
	Names []string `json:"names,omitempty"`
}

// On names what the permission is on: resource, group and subresource, as kubectl writes them.
func (p Permission) On() string {
	on := p.Resource
	if p.Group != "" {
		on += "." + p.Group
	}
	if p.Subresource != "" {
		on += "/" + p.Subresource
	}
	return on
}

// Where names the namespace for people.
func (p Permission) Where() string {
	if p.Namespace == "" {
		return "in the whole cluster"
	}
	return `in namespace "` + p.Namespace + `"`
}

// String returns verb, resource and namespace.
func (p Permission) String() string { return p.Verb + " " + p.On() + " " + p.Where() }

// Compare orders permissions by namespace, group, resource, subresource, verb and names.
func (p Permission) Compare(o Permission) int {
	return cmp.Or(cmp.Compare(p.Namespace, o.Namespace), cmp.Compare(p.Group, o.Group),
		cmp.Compare(p.Resource, o.Resource), cmp.Compare(p.Subresource, o.Subresource),
		cmp.Compare(p.Verb, o.Verb), slices.Compare(p.Names, o.Names))
}

// PermissionGroup is what permissions are on in one namespace.
type PermissionGroup struct {
	Where string   // as Permission.Where has it
	What  []string // verbs, resource and, where they are few, the objects
}

// GroupPermissions names permissions in as few words as can be read: those on the same resource and
// for the same objects together, by namespace.
func GroupPermissions(all []Permission) []PermissionGroup {
	type subject struct{ where, on, names string }
	verbs := map[subject][]string{}
	var order []subject
	for _, p := range slices.SortedFunc(slices.Values(all), Permission.Compare) {
		at := subject{p.Where(), p.On(), shownNames(p.Names)}
		if _, known := verbs[at]; !known {
			order = append(order, at)
		}
		verbs[at] = append(verbs[at], p.Verb)
	}
	var out []PermissionGroup
	for _, at := range order {
		if len(out) == 0 || out[len(out)-1].Where != at.where {
			out = append(out, PermissionGroup{Where: at.where})
		}
		group := &out[len(out)-1]
		group.What = append(group.What, strings.Join(slices.Compact(verbs[at]), ", ")+" "+at.on+at.names)
	}
	return out
}

// DescribePermissions is GroupPermissions with a line for each resource.
func DescribePermissions(all []Permission) []string {
	var out []string
	for _, group := range GroupPermissions(all) {
		for _, what := range group.What {
			out = append(out, what+" "+group.Where)
		}
	}
	return out
}

// maxShownNames is how many names are shown; more of them say no more than none.
const maxShownNames = 3

func shownNames(names []string) string {
	if len(names) == 0 || len(names) > maxShownNames {
		return ""
	}
	return ` "` + strings.Join(names, `", "`) + `"`
}
