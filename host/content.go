package host

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/chart"
	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/state"
	"github.com/zarf-host/zarf-host/host/template"
)

// content is what a component brings for its releases, by path (bundle.ChartPath and its like).
type content map[string][]byte

// readContent reads the charts, values and manifests of a component, not its files.
func readContent(ctx context.Context, b *bundle.Bundle, component string) (content, error) {
	read, err := b.ReadComponent(ctx, component, func(path string) bool {
		top, _, _ := strings.Cut(path, "/")
		return top == "charts" || top == "values" || top == "manifests"
	})
	if err != nil {
		return nil, fmt.Errorf("reading component %q: %w", component, err)
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
}

// builder makes releases of components.
type builder struct {
	pkg       spec.Package
	name      string // the package's name as objects are labelled with it
	variables *template.Variables
	config    state.DeployConfig
	loader    template.Loader
	start     time.Time
	common    Common
	takeOver  bool
}

// releases returns the releases of a component in Zarf's order: charts, then manifests.
func (b *builder) releases(c spec.Component, has content) []release {
	var out []release
	for _, ch := range c.Charts {
		out = append(out, release{
			Release:   object.Release{Namespace: ch.Namespace, Name: chart.ReleaseName(ch)},
			component: c.Name, chart: ch.Name, version: ch.Version,
			wanted: func() (chart.Wanted, error) { return b.chart(c, ch, has) },
		})
	}
	for _, m := range c.Manifests {
		w := chart.FromManifest(b.name, c.Name, m, nil, b.start)
		out = append(out, release{
			Release: w.Release, component: c.Name, chart: m.Name,
			wanted: func() (chart.Wanted, error) { return b.manifest(c, m, has) },
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
	overlay := map[string]any{}
	for _, v := range ch.Variables {
		if value, ok := b.variables.Value(v.Name); ok {
			setPath(overlay, v.Path, value)
		}
	}
	for key, value := range b.config.ValuesOverridesMap[c.Name][ch.Name] {
		overlay[key] = value
	}
	values, err := chart.MergeValues(files, overlay)
	if err != nil {
		return chart.Wanted{}, fmt.Errorf("merging the values of chart %q: %w", ch.Name, err)
	}
	return b.common.wanted(b, chart.FromChart(b.name, ch, archive, values)), nil
}

func (b *builder) manifest(c spec.Component, m spec.Manifest, has content) (chart.Wanted, error) {
	var docs [][]byte
	add := func(path string) error {
		data, err := has.get(c.Name, path)
		if err != nil {
			return err
		}
		if data, err = b.fill(data); err != nil {
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
	return b.common.wanted(b, chart.FromManifest(b.name, c.Name, m, docs, b.start)), nil
}

// wanted fills in what every release of an operation has in common.
func (c Common) wanted(b *builder, w chart.Wanted) chart.Wanted {
	w.NamespaceOverride = b.config.NamespaceOverride
	w.Fill = b.fill
	w.Timeout = c.Timeout
	w.TakeOwnership = b.takeOver
	return w
}

func (b *builder) fill(text []byte) ([]byte, error) {
	if !template.IsText(text) {
		return text, nil
	}
	return b.variables.Fill(text, b.loader)
}

// setPath sets the value at a dotted path, as the `path` of a chart's variable names it.
func setPath(values map[string]any, path, value string) {
	keys := strings.Split(strings.TrimPrefix(path, "."), ".")
	for _, key := range keys[:len(keys)-1] {
		next, ok := values[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			values[key] = next
		}
		values = next
	}
	values[keys[len(keys)-1]] = value
}
