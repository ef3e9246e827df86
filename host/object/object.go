// Package object holds the words for Kubernetes objects and Helm releases that the decisions and the
// effects share. It imports only the standard library and talks to nothing.
package object

import (
	"cmp"
	"strings"
	"time"
)

// Ref names one object. Namespace is empty for objects that are not namespaced. Two Refs with
// different versions of one group name the same object; Key tells them apart from others.
type Ref struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// Group returns the API group of the reference, empty for the core group.
func (r Ref) Group() string {
	if group, _, ok := strings.Cut(r.APIVersion, "/"); ok {
		return group
	}
	return ""
}

// Key returns the reference without its version, comparable across versions of one group.
func (r Ref) Key() Key {
	return Key{Group: r.Group(), Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}

// String returns Kind/namespace/name, or Kind/name for an object without a namespace.
func (r Ref) String() string {
	if r.Namespace == "" {
		return r.Kind + "/" + r.Name
	}
	return r.Kind + "/" + r.Namespace + "/" + r.Name
}

// Compare orders references by namespace, kind, name and apiVersion.
func (r Ref) Compare(o Ref) int {
	return cmp.Or(cmp.Compare(r.Namespace, o.Namespace), cmp.Compare(r.Kind, o.Kind),
		cmp.Compare(r.Name, o.Name), cmp.Compare(r.APIVersion, o.APIVersion))
}

// Key identifies an object whatever the version it is asked for in.
type Key struct {
	Group, Kind, Namespace, Name string
}

// Release names a Helm release.
type Release struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// String returns namespace/name.
func (r Release) String() string { return r.Namespace + "/" + r.Name }

// Compare orders releases by namespace and name.
func (r Release) Compare(o Release) int {
	return cmp.Or(cmp.Compare(r.Namespace, o.Namespace), cmp.Compare(r.Name, o.Name))
}

// Instance is one life of an object: another object of the same name has another UID.
type Instance struct {
	Ref
	UID string `json:"uid,omitempty"`
}

// Instance returns which life of the object this is.
func (l Live) Instance() Instance { return Instance{Ref: l.Ref, UID: l.UID} }

// Live is what the cluster says of an object: never its body, so that no secret can leak from it.
type Live struct {
	Ref
	UID               string            `json:"uid"`
	Labels            map[string]string `json:"labels,omitempty"`
	Annotations       map[string]string `json:"annotations,omitempty"`
	CreationTimestamp time.Time         `json:"creationTimestamp"`
	// Owner is the Helm release that the object's ownership metadata names
	// (meta.helm.sh/release-name, -namespace and app.kubernetes.io/managed-by: Helm), or zero.
	Owner Release `json:"owner,omitzero"`
	// Package is the value of the label zarf.dev/package, or empty.
	Package string `json:"package,omitempty"`
	// HoldsData is true for PersistentVolumes and claims, StatefulSets with claim templates,
	// workloads that mount a claim, Namespaces that contain one of these, and CRDs with resources.
	HoldsData bool `json:"holdsData,omitempty"`
	// Terminating is true once deletion was asked for.
	Terminating bool `json:"terminating,omitempty"`
}
