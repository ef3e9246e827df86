package packagetest

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/spec"
)

// authored are an author's files by clean path.
type authored map[string][]byte

func newAuthored(files map[string]string) authored {
	a := authored{}
	for name, content := range files {
		a[path.Clean(name)] = []byte(content)
	}
	return a
}

func (a authored) file(name string) ([]byte, error) {
	data, ok := a[path.Clean(name)]
	if !ok {
		return nil, fmt.Errorf("no file %q", name)
	}
	return data, nil
}

// below are the files in a folder, by their path in it, in order.
func (a authored) below(dir string) (names []string) {
	prefix := path.Clean(dir) + "/"
	if prefix == "./" {
		prefix = ""
	}
	for name := range a {
		if inside, ok := strings.CutPrefix(name, prefix); ok {
			names = append(names, inside)
		}
	}
	slices.Sort(names)
	return names
}

// componentEntries is the content of a component's tar, in the order in which a walk through its
// folder finds it. A component without content has none.
func componentEntries(c spec.Component, files authored) ([]Entry, error) {
	t := &componentTree{component: c.Name, dirs: map[string]bool{}}
	for _, add := range []func(*componentTree, spec.Component, authored) error{addCharts, addManifests, addFiles} {
		if err := add(t, c, files); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(t.entries, func(a, b Entry) int { return cmp.Compare(walkOrder(a.Name), walkOrder(b.Name)) })
	return t.entries, nil
}

// walkOrder makes byte order the order of a walk: what is in a folder comes right behind it.
func walkOrder(name string) string {
	return strings.ReplaceAll(strings.TrimSuffix(name, "/"), "/", "\x00")
}

// componentTree collects entries, with a folder for whatever lies in one.
type componentTree struct {
	component string
	entries   []Entry
	dirs      map[string]bool
}

func (t *componentTree) add(inside string, mode int64, body []byte) {
	name := path.Join(t.component, inside)
	t.folder(path.Dir(name))
	t.entries = append(t.entries, Entry{Name: name, Mode: mode, Body: body})
}

func (t *componentTree) folder(name string) {
	if name == "." || t.dirs[name] {
		return
	}
	t.folder(path.Dir(name))
	t.dirs[name] = true
	mode := int64(0o700)
	if name == t.component+"/charts" {
		mode = 0o755 // Helm makes this one
	}
	t.entries = append(t.entries, Entry{Name: name + "/", Mode: mode})
}

func addCharts(t *componentTree, c spec.Component, files authored) error {
	for _, chart := range c.Charts {
		data, err := chartArchive(chart.LocalPath, files)
		if err != nil {
			return fmt.Errorf("chart %q: %w", chart.Name, err)
		}
		t.add(bundle.ChartPath(chart), 0o644, data)
		for i, name := range slices.Concat(chart.ValuesFiles, chart.TemplatedValuesFiles) {
			data, err := files.file(name)
			if err != nil {
				return fmt.Errorf("chart %q: values: %w", chart.Name, err)
			}
			t.add(bundle.ValuesPath(chart, i), 0o644, data)
		}
	}
	return nil
}

func addManifests(t *componentTree, c spec.Component, files authored) error {
	for _, m := range c.Manifests {
		for i, name := range m.Files {
			data, err := files.file(name)
			if err != nil {
				return fmt.Errorf("manifest %q: %w", m.Name, err)
			}
			t.add(bundle.ManifestPath(m, i), 0o644, data)
		}
	}
	return nil
}

func addFiles(t *componentTree, c spec.Component, files authored) error {
	for i, f := range c.Files {
		target := bundle.FilePath(f, i)
		if data, err := files.file(f.Source); err == nil {
			mode := int64(0o600)
			if f.Executable {
				mode = 0o700
			}
			t.add(target, mode, data)
			continue
		}
		inside := files.below(f.Source)
		if len(inside) == 0 {
			return fmt.Errorf("no file or folder %q", f.Source)
		}
		for _, name := range inside {
			t.add(path.Join(target, name), 0o644, files[path.Join(f.Source, name)])
		}
	}
	return nil
}

// valuesEntries are the files that a package brings for its values, under the names that Zarf gives
// them.
func valuesEntries(v spec.Values, files authored) ([]Entry, error) {
	var entries []Entry
	add := func(name, from string) error {
		data, err := files.file(from)
		entries = append(entries, Entry{Name: name, Mode: 0o644, Body: data})
		return err
	}
	for _, from := range v.Files {
		if err := add(bundle.ValuesYAMLPath, from); err != nil {
			return nil, err
		}
	}
	if v.Schema == "" {
		return entries, nil
	}
	return entries, add(bundle.ValuesSchemaPath, v.Schema)
}
