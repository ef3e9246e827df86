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

// DescribePermissions names permissions in as few lines as can be read: a line for what is on the
// same resource, in the same namespace and for the same objects.
func DescribePermissions(all []Permission) []string {
	type place struct{ where, on, names string }
	verbs := map[place][]string{}
	var order []place
	for _, p := range slices.SortedFunc(slices.Values(all), Permission.Compare) {
		at := place{p.Where(), p.On(), shownNames(p.Names)}
		if _, known := verbs[at]; !known {
			order = append(order, at)
		}
		verbs[at] = append(verbs[at], p.Verb)
	}
	out := make([]string, len(order))
	for i, at := range order {
		out[i] = strings.Join(verbs[at], ", ") + " " + at.on + at.names + " " + at.where
	}
	return out
}

// maxShownNames is how many names a line of DescribePermissions has.
const maxShownNames = 3

func shownNames(names []string) string {
	if len(names) == 0 || len(names) > maxShownNames {
		return ""
	}
	return ` "` + strings.Join(names, `", "`) + `"`
}
