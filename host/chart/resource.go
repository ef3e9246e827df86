package chart

import (
	"fmt"

	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/zarf-host/zarf-host/host/object"
)

// Resource returns how the API server calls the kind of an object, or will call it once a
// CustomResourceDefinition is there that this Client rendered. False means that neither knows it.
func (c *Client) Resource(ref object.Ref) (object.Resource, bool, error) {
	if err := c.online(); err != nil {
		return object.Resource{}, false, err
	}
	gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	m, err := c.getter.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		m, err = c.getter.mapper.RESTMapping(gvk.GroupKind()) // another version of it
	}
	switch {
	case err == nil:
		return object.Resource{
			Group: m.Resource.Group, Name: m.Resource.Resource, Namespaced: m.Scope.Name() == meta.RESTScopeNameNamespace,
		}, true, nil
	case !meta.IsNoMatchError(err):
		return object.Resource{}, false, fmt.Errorf("finding kind %q in the cluster: %w", ref.Kind, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	plural, seen := c.plurals[gvk.GroupKind()]
	return object.Resource{
		Group: gvk.Group, Name: plural, Namespaced: c.scopes[gvk.GroupKind()] == meta.RESTScopeNameNamespace,
	}, seen, nil
}

// pluralOf returns the resource that a CRD defines.
func pluralOf(crd *unstructured.Unstructured) string {
	plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
	return plural
}

// UninstallHooks returns the objects that an uninstall creates for hooks, as the newest revision has
// them.
func (h History) UninstallHooks() []object.Ref {
	latest, _ := h.Latest()
	return latest.uninstall
}

// uninstallHooks are the objects that an uninstall of a stored release creates for hooks.
func uninstallHooks(rel *release.Release, namespace string, scope scoper) ([]object.Ref, error) {
	var out []object.Ref
	for _, h := range rel.Hooks {
		for _, e := range h.Events {
			if e != release.HookPreDelete && e != release.HookPostDelete {
				continue
			}
			docs, err := documents(h.Manifest, namespace, scope)
			if err != nil {
				return nil, fmt.Errorf("reading hook %s: %w", h.Path, err)
			}
			out = append(out, refs(docs)...)
			break
		}
	}
	return out, nil
}
