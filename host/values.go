package host

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/template"
	"github.com/zarf-host/zarf-host/host/value"
)

// packageValues are what a package itself brings for its values.
type packageValues struct {
	defaults map[string]any
	schema   *value.Schema // nil where it has none
}

// readValues reads them in one pass.
func readValues(ctx context.Context, b *bundle.Bundle) (packageValues, error) {
	files := map[string][]byte{}
	want := func(path string) bool { return path == bundle.ValuesYAMLPath || path == bundle.ValuesSchemaPath }
	if !b.Has(bundle.ValuesYAMLPath) && !b.Has(bundle.ValuesSchemaPath) {
		return packageValues{}, nil
	}
	err := b.Walk(ctx, want, func(f bundle.File, r io.Reader) (err error) {
		if f.Size > maxValuesFile {
			return fmt.Errorf("%s has %d bytes, more than the %d that it may have", f.Path, f.Size, maxValuesFile)
		}
		files[f.Path], err = io.ReadAll(r)
		return err
	})
	if err != nil {
		return packageValues{}, fmt.Errorf("reading the values of the package: %w", err)
	}
	var out packageValues
	if data, ok := files[bundle.ValuesYAMLPath]; ok {
		if out.defaults, err = value.Parse(data); err != nil {
			return packageValues{}, fmt.Errorf("reading %s of the package: %w", bundle.ValuesYAMLPath, err)
		}
	}
	if data, ok := files[bundle.ValuesSchemaPath]; ok {
		if out.schema, err = value.ParseSchema(data); err != nil {
			return packageValues{}, err
		}
	}
	return out, nil
}

// maxValuesFile is the largest values.yaml or values.schema.json that is read.
const maxValuesFile = 4 << 20

// resolveValues lays what was supplied on the package's own values and holds the result against
// the package's schema, before anything changes.
func (d *deployment) resolveValues(ctx context.Context) error {
	own, err := readValues(ctx, d.pkg.bundle)
	if err != nil {
		return err
	}
	d.templates = &templating{
		variables: d.variables, values: value.Merge(own.defaults, d.resolved.Config.Values), pkg: &d.definition,
	}
	if own.schema == nil || d.SkipValuesSchema {
		return nil
	}
	faults, err := own.schema.Check(d.templates.values)
	if err != nil {
		return err
	}
	if len(faults) > 0 {
		return &InvalidError{What: "what the package gets as values", Faults: faults}
	}
	return nil
}

// templating is what Go templates of an operation are executed with. Values are those of the whole
// operation: what actions set is in them from then on.
type templating struct {
	variables *template.Variables
	values    map[string]any
	pkg       *spec.Package   // nil where only actions are templated
	state     *template.State // nil: no state of Zarf is known
}

// content is what the templates of a component's manifests, files and values files see.
func (t *templating) content(c spec.Component) template.Objects {
	return template.Objects{Values: t.values, Variables: t.variables, Package: t.pkg, State: t.state, Access: c.StateAccess}
}

// action is what the commands of a component's actions see.
func (t *templating) action(c spec.Component) template.Objects {
	o := t.content(c)
	o.Package = nil
	return o
}

// valueProblems finds, before anything changes, what the components' templates and mappings refer
// to and nobody gives. What an action may set is known only when it has run, and .State may be left
// out as long as no cluster was asked.
func (d *deployment) valueProblems(c spec.Component, withoutState bool) []string {
	t := d.templates
	p := problems{component: c.Name, settable: d.settable, withoutState: withoutState}
	for _, text := range goTemplates(c) {
		o := t.content(c)
		for path, data := range d.contents[c.Name] {
			if text.holds(path) && template.IsText(data) {
				p.inspect(text.what, o, data, true)
			}
		}
	}
	for _, ch := range c.Charts {
		for _, m := range ch.Values {
			path, err := value.ParsePath(m.SourcePath)
			if err == nil {
				if _, ok := value.Get(t.values, path); !ok && d.settable.Value(path) {
					continue
				}
				_, err = value.ForChart(t.values, []spec.ChartValue{m})
			}
			if err != nil {
				p.add(fmt.Sprintf("chart %q", ch.Name), err.Error())
			}
		}
	}
	p.actions("onDeploy", t.action(c), c.Actions.OnDeploy)
	return p.found
}

// problems gathers what is wrong with the templates of a component.
type problems struct {
	component    string
	settable     template.Settable
	withoutState bool // references to .State are not looked at
	found        []string
}

func (p *problems) add(where, what string) {
	text := fmt.Sprintf("component %q, %s: %s", p.component, where, what)
	if !slices.Contains(p.found, text) {
		p.found = append(p.found, text)
	}
}

func (p *problems) inspect(where string, o template.Objects, text []byte, fill bool) {
	findings, err := o.Inspect(text, p.settable, fill, os.ReadFile)
	if err != nil {
		p.add(where, err.Error())
	}
	for _, r := range findings.Missing {
		if p.withoutState && r.Path[0] == "State" {
			continue
		}
		if fill {
			p.add(fmt.Sprintf("%s, line %d", where, r.Line), o.Explain(r))
			continue
		}
		p.add(where, o.Explain(r))
	}
}

// actions looks at the commands of an action set that are Go templates.
func (p *problems) actions(operation string, o template.Objects, set spec.ActionSet) {
	for _, list := range []struct {
		name    string
		actions []spec.Action
	}{
		{"before", set.Before}, {"after", set.After}, {"onSuccess", set.OnSuccess}, {"onFailure", set.OnFailure},
	} {
		for i, a := range list.actions {
			if a.ShouldTemplate() && a.Wait == nil {
				p.inspect(fmt.Sprintf("%s.%s[%d]", operation, list.name, i), o, []byte(a.Cmd), false)
			}
		}
	}
}

// goTemplate is something in a component whose content is a Go template.
type goTemplate struct {
	what  string // for people, by the author's name for it
	holds func(path string) bool
}

// goTemplates lists them, without actions.
func goTemplates(c spec.Component) []goTemplate {
	var out []goTemplate
	at := func(path, what string) {
		out = append(out, goTemplate{what, func(p string) bool { return p == path }})
	}
	for _, m := range c.Manifests {
		if !m.ShouldTemplate() {
			continue
		}
		for i, file := range m.Files {
			at(bundle.ManifestPath(m, i), fmt.Sprintf("manifest %q, file %q", m.Name, file))
		}
		for i, file := range m.Kustomizations {
			at(bundle.KustomizationPath(m, i), fmt.Sprintf("manifest %q, kustomization %q", m.Name, file))
		}
	}
	for _, ch := range c.Charts {
		for i, file := range ch.TemplatedValuesFiles {
			at(bundle.ValuesPath(ch, len(ch.ValuesFiles)+i), fmt.Sprintf("chart %q, values file %q", ch.Name, file))
		}
	}
	for i, f := range c.Files {
		if f.ShouldTemplate() {
			path := bundle.FilePath(f, i)
			out = append(out, goTemplate{fmt.Sprintf("file %q", f.Target), func(p string) bool { return within(p, path) }})
		}
	}
	return out
}

// within reports whether a path is another one or lies below it.
func within(path, dir string) bool {
	return path == dir || len(path) > len(dir) && path[:len(dir)] == dir && path[len(dir)] == '/'
}
