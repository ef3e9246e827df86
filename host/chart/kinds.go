package chart

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"helm.sh/helm/v3/pkg/action"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
)

const crdGroup = "apiextensions.k8s.io"

func isCRD(gk schema.GroupKind) bool {
	return gk == schema.GroupKind{Group: crdGroup, Kind: "CustomResourceDefinition"}
}

// mapping finds how a kind is addressed, discovering anew if it is unknown, since its CRD may just
// have come. It returns a NoMatch error for one that the cluster does not serve.
func (c *Client) mapping(gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	m, err := c.getter.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err == nil || !meta.IsNoMatchError(err) {
		return m, err
	}
	c.getter.mapper.Reset()
	return c.getter.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
}

// establishTimeout is how long discovery may lag behind a CRD that was just applied.
const establishTimeout = 10 * time.Second

// awaitMapping is mapping, but waits for a kind whose CRD this Client saw: the API server serves
// a new kind a moment after its CRD is established.
func (c *Client) awaitMapping(ctx context.Context, gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	m, err := c.mapping(gvk)
	if err == nil || !meta.IsNoMatchError(err) {
		return m, err
	}
	if _, seen := c.seenScope(gvk.GroupKind()); !seen {
		return nil, err
	}
	for pause, waited := 50*time.Millisecond, time.Duration(0); waited < establishTimeout; pause = min(2*pause, time.Second) {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
		waited += pause
		if m, err = c.mapping(gvk); err == nil || !meta.IsNoMatchError(err) {
			return m, err
		}
	}
	return nil, err
}

// resource returns the client of a kind in a namespace, which is ignored where the kind has none.
func (c *Client) resource(m *meta.RESTMapping, namespace string) dynamic.ResourceInterface {
	if m.Scope.Name() == meta.RESTScopeNameNamespace {
		return c.dynamic.Resource(m.Resource).Namespace(namespace)
	}
	return c.dynamic.Resource(m.Resource)
}

// scope tells whether kinds have namespaces: as the cluster says, else as a CRD says that was
// rendered here, else as Kubernetes' own kinds are. Each unknown kind costs one new discovery.
func (c *Client) scope(ctx context.Context) scoper {
	asked := map[schema.GroupKind]bool{}
	return func(gvk schema.GroupVersionKind) (bool, error) {
		gk := gvk.GroupKind()
		if c.config != nil && ctx.Err() == nil {
			find := c.mapping
			if asked[gk] {
				find = func(gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
					return c.getter.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
				}
			} else if scope, seen := c.seenScope(gk); seen {
				return scope == meta.RESTScopeNameNamespace, nil
			}
			asked[gk] = true
			m, err := find(gvk)
			if err == nil {
				return m.Scope.Name() == meta.RESTScopeNameNamespace, nil
			}
			if !meta.IsNoMatchError(err) {
				return false, err
			}
		}
		if scope, seen := c.seenScope(gk); seen {
			return scope == meta.RESTScopeNameNamespace, nil
		}
		return !clusterScoped(gk), nil
	}
}

func (c *Client) seenScope(gk schema.GroupKind) (meta.RESTScopeName, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	scope, ok := c.scopes[gk]
	return scope, ok
}

// sawCRD remembers the kind that a CRD defines.
func (c *Client) sawCRD(crd *unstructured.Unstructured) {
	if !isCRD(crd.GroupVersionKind().GroupKind()) {
		return
	}
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	scope, _, _ := unstructured.NestedString(crd.Object, "spec", "scope")
	name := meta.RESTScopeNameNamespace
	if scope == "Cluster" {
		name = meta.RESTScopeNameRoot
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	gk := schema.GroupKind{Group: group, Kind: kind}
	c.scopes[gk], c.plurals[gk] = name, pluralOf(crd)
}

// capabilities returns what the server offers, asked once and again after an API was added.
func (c *Client) capabilities() (*chartutil.Capabilities, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.caps == nil {
		version, err := c.getter.cache.ServerVersion()
		if err != nil {
			return nil, fmt.Errorf("asking the cluster for its version: %w", err)
		}
		apis, err := action.GetVersionSet(c.getter.cache)
		// An API service without its server leaves its group out; everything else is there.
		if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
			return nil, fmt.Errorf("asking the cluster for its APIs: %w", err)
		}
		c.caps = &chartutil.Capabilities{
			APIVersions: apis,
			KubeVersion: chartutil.KubeVersion{Version: version.GitVersion, Major: version.Major, Minor: version.Minor},
			HelmVersion: chartutil.DefaultCapabilities.HelmVersion,
		}
	}
	copied := *c.caps
	return &copied, nil
}

// assume settles what a server would offer that nobody asks.
func (c *Client) assume(version string) error {
	c.caps = chartutil.DefaultCapabilities.Copy()
	if version == "" {
		return nil
	}
	parsed, err := chartutil.ParseKubeVersion(version)
	if err != nil {
		return fmt.Errorf("%q is not a version of Kubernetes: %w", version, err)
	}
	c.caps.KubeVersion = *parsed
	return nil
}

// refreshAPIs forgets what the server offers, after an API was added.
func (c *Client) refreshAPIs() {
	c.mu.Lock()
	c.caps = nil
	c.mu.Unlock()
	c.getter.mapper.Reset()
}

// asksForAPIs reports whether a chart's templates look at what the server offers.
func asksForAPIs(ch *helmchart.Chart) bool {
	return slices.ContainsFunc(ch.Templates, func(f *helmchart.File) bool {
		return bytes.Contains(f.Data, []byte(".Capabilities"))
	}) || slices.ContainsFunc(ch.Dependencies(), asksForAPIs)
}
