package create

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/compose"
	"github.com/zarf-host/zarf-host/host/definition"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/validate"
)

// component is what a component of a definition becomes with everything that it imports.
func (c *composing) component(ctx context.Context, at level, index int) (compose.Component, error) {
	authored := at.pkg.Components[index]
	own := compose.New(at.name, at.folder, index, c.templates.Component(authored))
	place := func(steps ...any) string { return c.sources.place(own.Place(steps...)) }
	switch in := own.Import; {
	case in.Path == "" && in.URL == "":
		if in.Name != "" {
			return own, &PlacedError{place("import", "name"), errors.New("it imports from nowhere: name a path or a url")}
		}
		return own, nil
	case in.Path != "" && in.URL != "":
		return own, &PlacedError{place("import", "url"), errors.New("it imports from both a path and a url, want exactly one")}
	case in.URL != "":
		imported, err := c.fromSkeleton(ctx, at, own)
		if err != nil {
			return own, c.sources.at(place("import", "url"), err)
		}
		return c.merged(imported, own, place("import"))
	default:
		imported, err := c.fromFolder(ctx, at, own)
		if err != nil {
			return own, c.sources.at(place("import", "path"), err)
		}
		return c.merged(imported, own, place("import"))
	}
}

func (c *composing) merged(imported, own compose.Component, place string) (compose.Component, error) {
	out, err := compose.Merge(imported, own)
	return out, c.sources.at(place, err)
}

// fromFolder composes the component that another one imports from a folder.
func (c *composing) fromFolder(ctx context.Context, at level, own compose.Component) (compose.Component, error) {
	if compose.IsURL(own.Import.Path) {
		return own, errors.New("it is an address, which belongs under url")
	}
	folder := compose.Rebase(at.folder, filepath.ToSlash(own.Import.Path))
	if !path.IsAbs(folder) {
		folder = path.Clean(folder)
	}
	if i := slices.Index(at.stack, folder); i >= 0 {
		return own, fmt.Errorf("imports lead around in a circle: %s", strings.Join(append(at.stack[i:len(at.stack):len(at.stack)], folder), " → "))
	}
	where, err := c.sources.locate(folder)
	if err != nil {
		return own, err
	}
	info, err := os.Stat(where.path)
	if err != nil {
		return own, err
	}
	if !info.IsDir() {
		return own, fmt.Errorf("%q is no folder, want the one that holds a zarf.yaml", own.Import.Path)
	}
	file := filepath.Join(c.sources.base, filepath.FromSlash(folder), "zarf.yaml")
	if path.IsAbs(folder) {
		file = filepath.Join(filepath.FromSlash(folder), "zarf.yaml")
	}
	data, err := c.sources.read(file)
	if err != nil {
		return own, err
	}
	if err := c.validator.File(file, data, validate.Options{SchemaOnly: true}).Err(); err != nil {
		return own, err
	}
	pkg, err := definition.Parse(data)
	if err != nil {
		return own, fmt.Errorf("%s: %w", file, err)
	}
	next := level{name: file, folder: folder, stack: append(slices.Clone(at.stack), folder), pkg: *pkg}
	return c.imported(ctx, next, own)
}

// imported finds the component that another one imports among those of a definition.
func (c *composing) imported(ctx context.Context, from level, own compose.Component) (compose.Component, error) {
	name := own.Import.Name
	if name == "" {
		name = own.Name
	}
	found := -1
	var others []string
	for i, candidate := range from.pkg.Components {
		switch {
		case candidate.Name != name:
			others = append(others, candidate.Name)
		case !c.fits(candidate):
		case found >= 0:
			return own, fmt.Errorf("%s has several components %q that fit architecture %q and flavor %q", from.name, name, c.Package.Metadata.Architecture, c.options.Flavor)
		default:
			found = i
		}
	}
	if found < 0 {
		return own, fmt.Errorf("%s has no component %q that fits architecture %q and flavor %q; it has %s",
			from.name, name, c.Package.Metadata.Architecture, c.options.Flavor, listed(others))
	}
	out, err := c.component(ctx, from, found)
	if err != nil {
		return own, err
	}
	if !c.seen[from.name] {
		c.seen[from.name] = true
		c.takeVariables(from)
		c.takeValues(from)
	}
	return out, nil
}

func listed(names []string) string {
	if len(names) == 0 {
		return "no others"
	}
	return strings.Join(names, ", ")
}

// takeVariables adds the variables and constants of a definition that the package does not declare
// itself.
func (c *composing) takeVariables(from level) {
	filled := c.templates.Package(spec.Package{Variables: from.pkg.Variables, Constants: from.pkg.Constants})
	for _, v := range filled.Variables {
		if !slices.ContainsFunc(c.Package.Variables, func(have spec.InteractiveVariable) bool { return have.Name == v.Name }) {
			c.Package.Variables = append(c.Package.Variables, v)
		}
	}
	for _, v := range filled.Constants {
		if !slices.ContainsFunc(c.Package.Constants, func(have spec.Constant) bool { return have.Name == v.Name }) {
			c.Package.Constants = append(c.Package.Constants, v)
		}
	}
}

// fromSkeleton composes the component that another one imports from a registry.
func (c *composing) fromSkeleton(ctx context.Context, at level, own compose.Component) (compose.Component, error) {
	url := own.Import.URL
	if !strings.HasPrefix(url, "oci://") {
		return own, fmt.Errorf("%q is no oci:// reference, and components are imported from registries or folders", url)
	}
	skeleton, err := c.world.Skeletons.Open(ctx, url)
	if err != nil {
		return own, err
	}
	defer func() { _ = skeleton.Close() }() // only read from
	pkg := skeleton.Definition()
	if pkg.Build.Differential {
		return own, errors.New("it is a differential package, which does not hold all that its components need")
	}
	if len(pkg.Values.Files) > 0 || pkg.Values.Schema != "" {
		return own, errors.New("it brings values, which cannot be imported from a registry")
	}
	if err := c.sources.know(url, skeleton.DefinitionBytes()); err != nil {
		return own, err
	}
	name := own.Import.Name
	if name == "" {
		name = own.Name
	}
	// The path by which the package names what was imported is the same wherever it is created.
	folder := path.Join(".zarf-imports", strings.TrimPrefix(skeleton.Digest(), "sha256:")[:12], name)
	where := filepath.Join(c.options.Work, filepath.FromSlash(folder))
	if err := os.MkdirAll(where, 0o700); err != nil {
		return own, err
	}
	if _, known := c.sources.mounts[folder]; !known {
		if err := skeleton.Extract(ctx, name, where); err != nil {
			return own, err
		}
		c.sources.mounts[folder] = where
	}
	out, err := c.imported(ctx, level{name: url, folder: folder, stack: append(slices.Clone(at.stack), url), pkg: pkg}, own)
	if err == nil && at.folder == "." {
		c.Imports[own.Name] = Import{URL: url, Digest: skeleton.Digest(), Plain: plain(own.Component)}
	}
	return out, err
}

// plain reports whether a component says no more than what it imports and how it is offered.
func plain(c spec.Component) bool {
	data, err := definition.Marshal(&spec.Package{Components: []spec.Component{{
		Name: c.Name, Description: c.Description, Required: c.Required, Default: c.Default, Import: c.Import,
	}}})
	if err != nil {
		return false
	}
	whole, err := definition.Marshal(&spec.Package{Components: []spec.Component{c}})
	return err == nil && string(whole) == string(data)
}
