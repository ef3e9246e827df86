package create

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/goccy/go-yaml"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/compose"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/value"
)

// Assemble gathers everything that the package consists of, but for the definition and the checksums.
// Files stay in the folder for temporary files, and in the store of blobs, until they are written.
func (r *Resolved) Assemble(ctx context.Context) ([]bundle.Content, error) {
	var out []bundle.Content
	for i := range r.Components {
		c, err := r.assembleComponent(ctx, i)
		if err != nil {
			return nil, fmt.Errorf("creating component %q: %w", r.Components[i].Name, err)
		}
		out = append(out, c...)
	}
	for _, more := range []func(context.Context) ([]bundle.Content, error){r.valuesFiles, r.documentation, r.images} {
		files, err := more(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, files...)
	}
	return out, nil
}

// assembleComponent runs what a component does when it is created, and packs it.
func (r *Resolved) assembleComponent(ctx context.Context, index int) (out []bundle.Content, err error) {
	c := r.Components[index]
	set := c.Actions.OnCreate
	run := func(ctx context.Context, name string, actions []spec.Action) error {
		if len(actions) == 0 {
			return nil
		}
		err := r.world.Actions.Run(ctx, c.Name, set.Defaults, r.onDisk(actions))
		return r.sources.at(r.At(index, "actions", "onCreate", name), err)
	}
	defer func() {
		if err == nil {
			err = run(ctx, "onSuccess", set.OnSuccess)
		}
		if err == nil {
			return
		}
		// It is for cleaning up, so it runs also where the operation was cancelled.
		if failed := run(context.WithoutCancel(ctx), "onFailure", set.OnFailure); failed != nil {
			r.say(event.Warn, c.Name, "the actions for a failure failed too: %v", failed)
		}
	}()
	if err := run(ctx, "before", set.Before); err != nil {
		return nil, err
	}
	r.say(event.Info, c.Name, "creating component %q", c.Name)
	p := &packing{Resolved: r, index: index, component: c, folder: filepath.Join(r.options.Work, "components", fmt.Sprint(index))}
	if err := p.all(ctx); err != nil {
		return nil, err
	}
	if len(p.files) > 0 {
		content, err := r.packed(bundle.ComponentPath(c.Name), func(out io.Writer) error {
			return bundle.WriteComponent(ctx, out, c.Name, p.files)
		})
		if err != nil {
			return nil, err
		}
		out = append(out, content)
	}
	return out, run(ctx, "after", set.After)
}

// onDisk gives actions of what was imported from a registry the folders that it lies in.
func (r *Resolved) onDisk(actions []spec.Action) []spec.Action {
	out := slices.Clone(actions)
	for i, a := range out {
		if a.Dir == nil {
			continue
		}
		mount, inside, ok := r.sources.mounted(path.Clean(*a.Dir))
		if !ok {
			continue
		}
		// It is relative to the package's folder, as all of them are.
		if rel, err := filepath.Rel(r.sources.base, filepath.Join(mount, filepath.FromSlash(inside))); err == nil {
			out[i].Dir = &rel
		}
	}
	return out
}

// packed writes a file of the package into the folder for temporary files.
func (r *Resolved) packed(name string, write func(io.Writer) error) (bundle.Content, error) {
	file := filepath.Join(r.options.Work, "package", filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return bundle.Content{}, err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return bundle.Content{}, err
	}
	sum := sha256.New()
	err = write(io.MultiWriter(f, sum))
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return bundle.Content{}, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return bundle.Content{}, err
	}
	return bundle.Content{File: bundle.File{Path: name, Size: info.Size(), SHA256: hex.EncodeToString(sum.Sum(nil))}, Source: file}, nil
}

// valuesFiles are the package's values, merged, and their schema.
func (r *Resolved) valuesFiles(ctx context.Context) ([]bundle.Content, error) {
	var out []bundle.Content
	if len(r.values) > 0 {
		data, err := r.mergedValues(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, bundle.NewContent(bundle.ValuesYAMLPath, data))
	}
	if len(r.schemas) > 0 {
		data, err := r.mergedSchema(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, bundle.NewContent(bundle.ValuesSchemaPath, data))
	}
	return out, nil
}

func (r *Resolved) mergedValues(ctx context.Context) ([]byte, error) {
	merged, from := map[string]any{}, map[string]compose.Place{}
	for _, f := range r.values {
		data, err := r.small(ctx, f.path)
		if err != nil {
			return nil, r.sources.at(r.sources.place(f.place), err)
		}
		values, err := value.Parse(data)
		if err != nil {
			return nil, r.sources.at(r.sources.place(f.place), fmt.Errorf("reading %q: %w", f.path, err))
		}
		for leaf := range value.Leaves(values) {
			if before, ok := from[leaf]; ok && before.Source != f.place.Source {
				r.say(event.Warn, "", "value %s is set by %s and again by %s, which counts", leaf, r.sources.place(before), r.sources.place(f.place))
			}
			from[leaf] = f.place
		}
		merged = value.Merge(merged, values)
	}
	data, err := yaml.Marshal(value.Native(merged))
	if err != nil {
		return nil, fmt.Errorf("writing the package's values: %w", err)
	}
	return data, nil
}

func (r *Resolved) mergedSchema(ctx context.Context) ([]byte, error) {
	merged := map[string]any{}
	var data []byte
	for _, f := range r.schemas {
		place := r.sources.place(f.place)
		var err error
		if data, err = r.small(ctx, f.path); err != nil {
			return nil, r.sources.at(place, err)
		}
		if _, err := value.ParseSchema(data); err != nil {
			return nil, r.sources.at(place, fmt.Errorf("reading %q: %w", f.path, err))
		}
		schema := map[string]any{}
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.UseNumber()
		if err := decoder.Decode(&schema); err != nil {
			return nil, r.sources.at(place, fmt.Errorf("reading %q: %w", f.path, err))
		}
		merged = compose.MergeSchemas(merged, schema)
	}
	if len(r.schemas) == 1 {
		return data, nil // as its author wrote it
	}
	return json.MarshalIndent(merged, "", "  ")
}

// documentation is the tar of the files under the definition's documentation.
func (r *Resolved) documentation(ctx context.Context) ([]bundle.Content, error) {
	docs := r.Package.Documentation
	if len(docs) == 0 {
		return nil, nil
	}
	names := bundle.DocumentationNames(docs)
	var files []bundle.ComponentFile
	for key, file := range docs {
		place := r.sources.place(compose.Place{Source: definitionIn(r.options.Dir), Path: []any{"documentation", key}})
		if compose.IsURL(file) {
			return nil, &PlacedError{place, fmt.Errorf("%q is an address, want a file", file)}
		}
		where, err := r.sources.locate(file)
		if err == nil {
			err = plainFile(where.path)
		}
		if err != nil {
			return nil, r.sources.at(place, err)
		}
		files = append(files, bundle.ComponentFile{Path: path.Join(".", names[key]), Mode: 0o600, Source: where.path})
	}
	content, err := r.packed(bundle.DocumentationPath, func(out io.Writer) error { return bundle.WriteDocumentation(ctx, out, files) })
	if err != nil {
		return nil, err
	}
	return []bundle.Content{content}, nil
}
