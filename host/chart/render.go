package chart

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/state"
)

// Rendered is what a release would install.
type Rendered struct {
	ChartName    string
	ChartVersion string
	Objects      []Document // in Helm's order of installation, labelled and filled
	Hooks        []Document
	CRDs         []Document // of the chart's crds folder: installed once, never upgraded or removed
	// Namespaces are those that the release needs: its own, those of its objects, and the Namespace
	// objects that were taken out of the chart. Apply creates the missing ones.
	Namespaces     []string
	ConnectStrings state.ConnectStrings
}

// Refs returns the references of the objects, without hooks and CRDs.
func (r Rendered) Refs() []object.Ref { return refs(r.Objects) }

// After returns w to be rendered as Apply will render it on top of what h holds: charts can tell an
// install from an upgrade and see the revision's number.
func (w Wanted) After(h History) Wanted {
	how, revision := plannedMode(h)
	w.revision, w.upgrade = revision, how == modeUpgrade
	return w
}

// Render renders a release with Helm's engine, as Apply will. Objects need not be of kinds that the
// cluster knows yet: their CRD may come in the same package. Templates' lookups see the cluster.
func (c *Client) Render(ctx context.Context, w Wanted) (Rendered, error) {
	first, err := c.render(ctx, w)
	if err != nil {
		return Rendered{}, fmt.Errorf("rendering release %q: %w", w.Release, err)
	}
	second, err := c.render(ctx, w)
	if err != nil {
		return Rendered{}, fmt.Errorf("rendering release %q again: %w", w.Release, err)
	}
	markKnownAfterApply(first, second)
	return first.describe(w.Release.Namespace, c.scope(ctx))
}

// rendering is one run of the engine over a chart.
type rendering struct {
	chart   *helmchart.Chart
	hooks   []*release.Hook
	result  postRendered
	unknown map[string]string // template → why what it renders is known only after apply
	reasons []string          // for each object of result
}

// render follows what Helm does in an install or upgrade.
func (c *Client) render(ctx context.Context, w Wanted) (*rendering, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ch, err := w.load()
	if err != nil {
		return nil, err
	}
	if err := ch.Validate(); err != nil {
		return nil, fmt.Errorf("validating the chart: %w", err)
	}
	if w.ServerSideApply != "" && !slices.Contains([]string{"true", "false", "auto"}, w.ServerSideApply) {
		return nil, fmt.Errorf("serverSideApply is %q, not true, false or auto", w.ServerSideApply)
	}
	caps, err := c.capabilities()
	if err != nil {
		return nil, err
	}
	if want := ch.Metadata.KubeVersion; want != "" && !chartutil.IsCompatibleRange(want, caps.KubeVersion.String()) {
		return nil, fmt.Errorf("chart %q needs Kubernetes %s, this is %s", ch.Name(), want, caps.KubeVersion.String())
	}
	values := map[string]any{}
	merge(values, w.Values) // a copy: Helm writes into values
	if err := chartutil.ProcessDependenciesWithMerge(ch, values); err != nil {
		return nil, fmt.Errorf("processing the chart's dependencies: %w", err)
	}
	top, err := chartutil.ToRenderValuesWithSchemaValidation(ch, values, chartutil.ReleaseOptions{
		Name:      w.Release.Name,
		Namespace: w.Release.Namespace,
		Revision:  max(w.revision, 1),
		IsInstall: !w.upgrade,
		IsUpgrade: w.upgrade,
	}, caps, w.SkipSchemaValidation)
	if err != nil {
		return nil, err
	}
	plain, _ := top["Values"].(chartutil.Values)
	files, err := c.runEngine(ctx, ch, top)
	if err != nil {
		return nil, err
	}
	for name := range files {
		if strings.HasSuffix(name, "NOTES.txt") {
			delete(files, name)
		}
	}
	hooks, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil {
		return nil, err
	}
	pieces := make([]piece, len(manifests))
	for i, m := range manifests {
		pieces[i] = piece{source: m.Name, text: m.Content}
	}
	r := &rendering{chart: ch, hooks: hooks, unknown: unknownTemplates(ch, plain)}
	if r.result, err = postRender(w, join(pieces)); err != nil {
		return nil, err
	}
	for _, h := range hooks {
		if h.Manifest, err = w.fillHook(h.Manifest); err != nil {
			return nil, fmt.Errorf("filling the variables of hook %s: %w", h.Path, err)
		}
	}
	for _, crd := range ch.CRDObjects() {
		objs, err := parseAll(string(crd.File.Data))
		if err != nil {
			return nil, fmt.Errorf("reading CRDs of %s: %w", crd.Filename, err)
		}
		for _, obj := range objs {
			c.sawCRD(obj)
		}
	}
	for _, obj := range r.result.objects {
		c.sawCRD(obj)
	}
	return r, nil
}

func (c *Client) runEngine(ctx context.Context, ch *helmchart.Chart, values chartutil.Values) (map[string]string, error) {
	if c.config == nil {
		return engine.Render(ch, values)
	}
	return engine.RenderWithClientProvider(ch, values, lookups{ctx: ctx, c: c})
}

// lookups serves the lookup function from the shared clients.
type lookups struct {
	ctx context.Context // Helm's interface has none; it only gates
	c   *Client
}

// GetClientFor returns the client of a kind and whether it has namespaces.
func (l lookups) GetClientFor(apiVersion, kind string) (dynamic.NamespaceableResourceInterface, bool, error) {
	if err := l.ctx.Err(); err != nil {
		return nil, false, err
	}
	m, err := l.c.mapping(schema.FromAPIVersionAndKind(apiVersion, kind))
	if err != nil {
		return nil, false, fmt.Errorf("looking up kind %q of %q: %w", kind, apiVersion, err)
	}
	return l.c.dynamic.Resource(m.Resource), m.Scope.Name() == meta.RESTScopeNameNamespace, nil
}

// describe turns a rendering into words.
func (r *rendering) describe(namespace string, scope scoper) (Rendered, error) {
	out := Rendered{
		ChartName:      r.chart.Name(),
		ChartVersion:   r.chart.Metadata.Version,
		Namespaces:     r.result.namespaceNames(),
		ConnectStrings: r.result.connect,
	}
	for i, obj := range r.result.objects {
		d, err := document(obj, namespace, scope)
		if err != nil {
			return out, err
		}
		d.KnownAfterApply = r.reasons[i]
		out.Objects = append(out.Objects, d)
	}
	for _, h := range r.hooks {
		docs, err := documents(h.Manifest, namespace, scope)
		if err != nil {
			return out, fmt.Errorf("reading hook %s: %w", h.Path, err)
		}
		for _, d := range docs {
			d.KnownAfterApply = r.unknown[h.Path]
			out.Hooks = append(out.Hooks, d)
		}
	}
	for _, crd := range r.chart.CRDObjects() {
		docs, err := documents(string(crd.File.Data), namespace, scope)
		if err != nil {
			return out, fmt.Errorf("reading %s: %w", path.Join(r.chart.Name(), crd.Filename), err)
		}
		out.CRDs = append(out.CRDs, docs...)
	}
	return out, nil
}
