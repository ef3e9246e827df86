package host

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/chart"
	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/state"
	"github.com/zarf-host/zarf-host/host/template"
	"github.com/zarf-host/zarf-host/host/value"
)

// content is what a component brings for its releases, by path (bundle.ChartPath and its like).
type content map[string][]byte

// readContent reads the charts, values and manifests of a component, and of its files those that
// are Go templates, which are looked at before anything changes.
func readContent(ctx context.Context, b *bundle.Bundle, c spec.Component) (content, error) {
	templates := goTemplates(c)
	read, err := b.ReadComponent(ctx, c.Name, func(path string) bool {
		top, _, _ := strings.Cut(path, "/")
		return top == "charts" || top == "values" || top == "manifests" ||
			slices.ContainsFunc(templates, func(t goTemplate) bool { return t.holds(path) })
	})
	if err != nil {
		return nil, fmt.Errorf("reading component %q: %w", c.Name, err)
	}
	return read, nil
}

func (c content) get(component, path string) ([]byte, error) {
	data, ok := c[path]
	if !ok {
		return nil, fmt.Errorf("component %q of the package lacks %s", component, path)
	}
	return data, nil
}

// release is one release that a component installs, and how to make it with the variables as they
// are when it is made.
type release struct {
	object.Release
	component string
	chart     string
	version   string
	wanted    func() (chart.Wanted, error)
	// unsettled says why what is rendered is known only when it is applied: what actions set, and
	// functions of Go templates that give something else each time.
	unsettled func(template.Settable) []string
}

// builder makes releases of components.
type builder struct {
	pkg       spec.Package
	name      string // the package's name as objects are labelled with it
	templates *templating
	config    state.DeployConfig
	loader    template.Loader
	start     time.Time
	common    Common
	takeOver  bool
	// prepare tells a release about the services of the cluster.
	prepare func(*chart.Wanted) error
}

// releases returns the releases of a component in Zarf's order: charts, then manifests.
func (b *builder) releases(c spec.Component, has content) []release {
	var out []release
	for _, ch := range c.Charts {
		out = append(out, release{
			Release:   object.Release{Namespace: ch.Namespace, Name: chart.ReleaseName(ch)},
			component: c.Name, chart: ch.Name, version: ch.Version,
			wanted:    func() (chart.Wanted, error) { return b.chart(c, ch, has) },
			unsettled: func(s template.Settable) []string { return b.unsettledChart(c, ch, has, s) },
		})
	}
	for _, m := range c.Manifests {
		w := chart.FromManifest(b.name, c.Name, m, nil, b.start)
		out = append(out, release{
			Release: w.Release, component: c.Name, chart: m.Name,
			wanted:    func() (chart.Wanted, error) { return b.manifest(c, m, has) },
			unsettled: func(s template.Settable) []string { return b.unsettledTexts(c, has, s, manifestPaths(m)) },
		})
	}
	return out
}

func (b *builder) chart(c spec.Component, ch spec.Chart, has content) (chart.Wanted, error) {
	archive, err := has.get(c.Name, bundle.ChartPath(ch))
	if err != nil {
		return chart.Wanted{}, err
	}
	var files [][]byte
	for i := range len(ch.ValuesFiles) {
		path := bundle.ValuesPath(ch, i)
		data, err := has.get(c.Name, path)
		if err != nil {
			return chart.Wanted{}, err
		}
		if data, err = b.fill(data); err != nil {
			return chart.Wanted{}, fmt.Errorf("filling %s: %w", path, err)
		}
		files = append(files, data)
	}
	for i := range ch.TemplatedValuesFiles {
		path := bundle.ValuesPath(ch, len(ch.ValuesFiles)+i)
		data, err := has.get(c.Name, path)
		if err != nil {
			return chart.Wanted{}, err
		}
		if data, err = b.render(c, data); err != nil {
			return chart.Wanted{}, fmt.Errorf("rendering %s: %w", path, err)
		}
		files = append(files, data)
	}
	overlay, err := b.overlay(c, ch)
	if err != nil {
		return chart.Wanted{}, fmt.Errorf("setting the values of chart %q: %w", ch.Name, err)
	}
	values, err := chart.MergeValues(files, overlay)
	if err != nil {
		return chart.Wanted{}, fmt.Errorf("merging the values of chart %q: %w", ch.Name, err)
	}
	return b.complete(chart.FromChart(b.name, ch, archive, values))
}

// overlay is what is laid on a chart's values files: variables, then package values, then overrides.
func (b *builder) overlay(c spec.Component, ch spec.Chart) (map[string]any, error) {
	out := map[string]any{}
	for _, v := range ch.Variables {
		text, ok := b.templates.variables.Value(v.Name)
		if !ok {
			continue
		}
		path, err := value.ParsePath(v.Path)
		if err == nil {
			err = value.Set(out, path, text)
		}
		if err != nil {
			return nil, fmt.Errorf("setting variable %s: %w", v.Name, err)
		}
	}
	mapped, err := value.ForChart(b.templates.values, ch.Values)
	if err != nil {
		return nil, err
	}
	out = value.Merge(out, mapped)
	return value.Native(value.Merge(out, b.config.ValuesOverridesMap[c.Name][ch.Name])), nil
}

func manifestPaths(m spec.Manifest) []string {
	if !m.ShouldTemplate() {
		return nil
	}
	var out []string
	for i := range m.Files {
		out = append(out, bundle.ManifestPath(m, i))
	}
	for i := range m.Kustomizations {
		out = append(out, bundle.KustomizationPath(m, i))
	}
	return out
}

// unsettledChart is unsettled for a chart.
func (b *builder) unsettledChart(c spec.Component, ch spec.Chart, has content, settable template.Settable) []string {
	var paths []string
	for i := range ch.TemplatedValuesFiles {
		paths = append(paths, bundle.ValuesPath(ch, len(ch.ValuesFiles)+i))
	}
	out := b.unsettledTexts(c, has, settable, paths)
	for _, v := range ch.Variables {
		if settable.Variables[strings.ToUpper(v.Name)] {
			out = append(out, fmt.Sprintf("variable %s is set by an action", v.Name))
		}
	}
	for _, m := range ch.Values {
		if path, err := value.ParsePath(m.SourcePath); err == nil && settable.Value(path) {
			out = append(out, fmt.Sprintf("the value %s is set by an action", m.SourcePath))
		}
	}
	return out
}

// unsettledTexts is unsettled for files that are Go templates. What cannot be looked at was a
// problem of the preflight already.
func (b *builder) unsettledTexts(c spec.Component, has content, settable template.Settable, paths []string) []string {
	var out []string
	for _, path := range paths {
		findings, err := b.templates.content(c).Inspect(has[path], settable, true, b.loader)
		if err != nil {
			continue
		}
		for _, why := range findings.Unsettled {
			out = append(out, path+": "+why)
		}
	}
	return out
}

func (b *builder) manifest(c spec.Component, m spec.Manifest, has content) (chart.Wanted, error) {
	var docs [][]byte
	add := func(path string) error {
		data, err := has.get(c.Name, path)
		if err != nil {
			return err
		}
		fill := b.fill
		if m.ShouldTemplate() {
			fill = func(text []byte) ([]byte, error) { return b.render(c, text) }
		}
		if data, err = fill(data); err != nil {
			return fmt.Errorf("filling %s: %w", path, err)
		}
		docs = append(docs, data)
		return nil
	}
	for i := range m.Files {
		if err := add(bundle.ManifestPath(m, i)); err != nil {
			return chart.Wanted{}, err
		}
	}
	for i := range m.Kustomizations {
		if err := add(bundle.KustomizationPath(m, i)); err != nil {
			return chart.Wanted{}, err
		}
	}
	return b.complete(chart.FromManifest(b.name, c.Name, m, docs, b.start))
}

// complete fills in what every release of an operation has in common.
func (b *builder) complete(w chart.Wanted) (chart.Wanted, error) {
	w.NamespaceOverride = b.config.NamespaceOverride
	w.Fill = b.fill
	w.Timeout = b.common.Timeout
	w.TakeOwnership = b.takeOver
	return w, b.prepare(&w)
}

func (b *builder) fill(text []byte) ([]byte, error) {
	if !template.IsText(text) {
		return text, nil
	}
	return b.templates.variables.Fill(text, b.loader)
}

// render fills a text and executes it as a Go template.
func (b *builder) render(c spec.Component, text []byte) ([]byte, error) {
	if !template.IsText(text) {
		return text, nil
	}
	return b.templates.content(c).Render(text, b.loader)
}
