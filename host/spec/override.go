package spec

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// AllowsNamespaceOverride reports whether the author lets the package be deployed into another
// namespace; left out, it is allowed.
func (p *Package) AllowsNamespaceOverride() bool {
	return p.Metadata.AllowNamespaceOverride == nil || *p.Metadata.AllowNamespaceOverride
}

// Namespaces returns the distinct namespaces of charts and manifests in the order of the
// definition. A manifest without a namespace counts as the namespace "", as it does in Zarf.
func (p *Package) Namespaces() []string {
	var all []string
	add := func(namespace string) {
		if !slices.Contains(all, namespace) {
			all = append(all, namespace)
		}
	}
	for _, c := range p.Components {
		for _, chart := range c.Charts {
			add(chart.Namespace)
		}
		for _, manifest := range c.Manifests {
			add(manifest.Namespace)
		}
	}
	return all
}

// OverrideNamespace moves the package to another namespace, in place: the one namespace that its
// charts and manifests name is replaced there and in the cluster waits of its actions. Health
// checks, data injections and what manifests say in their bodies stay, as in Zarf. Nothing is
// changed when it returns an error.
func (p *Package) OverrideNamespace(namespace string) error {
	if !p.AllowsNamespaceOverride() {
		return fmt.Errorf("moving package %q to namespace %q: its metadata.allowNamespaceOverride is false", p.Metadata.Name, namespace)
	}
	if p.Kind != KindPackage {
		return fmt.Errorf("moving package %q to namespace %q: only a %s can be moved, this is a %s", p.Metadata.Name, namespace, KindPackage, p.Kind)
	}
	if namespace == "" {
		return errors.New("moving the package to another namespace: the namespace is empty")
	}
	var original string
	switch all := p.Namespaces(); len(all) {
	case 0:
	case 1:
		original = all[0]
	default:
		return fmt.Errorf("moving package %q to namespace %q: its charts and manifests use %d namespaces (%s), where one can be replaced",
			p.Metadata.Name, namespace, len(all), quoted(all))
	}
	for i := range p.Components {
		p.Components[i].moveNamespace(original, namespace)
	}
	return nil
}

func (c *Component) moveNamespace(original, target string) {
	for i := range c.Charts {
		if c.Charts[i].Namespace == original {
			c.Charts[i].Namespace = target
		}
	}
	for i := range c.Manifests {
		if c.Manifests[i].Namespace == original {
			c.Manifests[i].Namespace = target
		}
	}
	for _, set := range c.Actions.Sets() {
		for _, list := range set.Set.Lists() {
			for _, action := range list.Actions {
				if wait := action.Wait; wait != nil && wait.Cluster != nil && wait.Cluster.Namespace == original {
					wait.Cluster.Namespace = target
				}
			}
		}
	}
}

func quoted(names []string) string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = fmt.Sprintf("%q", name)
	}
	return strings.Join(out, ", ")
}
