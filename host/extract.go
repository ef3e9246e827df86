package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/archive"
	"github.com/zarf-host/zarf-host/host/bundle"
)

// ExtractOptions say what to take out of a package, and where to.
type ExtractOptions struct {
	// Source is the package. The record of a deployed one has no content.
	Source string
	// Open says how a package is opened that is not on this machine. Its Sink gets warnings.
	Open OpenOptions
	// Output is the folder in which one for the package is made; empty is the current one.
	Output string
	// Keys are the keys of the documentation to take; empty is all of it.
	Keys []string
}

// ErrNothingToExtract says that a package does not have what was asked for.
var ErrNothingToExtract = errors.New("there is nothing to extract")

// ExtractDocumentation writes the documentation of a package into NAME-documentation and returns the
// paths of the files. Nothing is left behind that could not be verified.
func ExtractDocumentation(ctx context.Context, o ExtractOptions) ([]string, error) {
	p, err := openToRead(ctx, o.Source, "documentation", o.Open)
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.Close() }() // only read from
	def := p.Definition()
	if len(def.Documentation) == 0 {
		return nil, fmt.Errorf("%w: package %q has no documentation", ErrNothingToExtract, def.Metadata.Name)
	}
	wanted := map[string]bool{}
	files := documentationFiles(def.Documentation)
	keys := o.Keys
	if len(keys) == 0 {
		keys = slices.Collect(maps.Keys(files))
	}
	for _, key := range keys {
		file, ok := files[key]
		if !ok {
			return nil, fmt.Errorf("the documentation of package %q has no key %q, only %s",
				def.Metadata.Name, key, strings.Join(slices.Sorted(maps.Keys(files)), ", "))
		}
		wanted[file] = true
	}
	return p.extract(ctx, bundle.DocumentationPath, o.Output, def.Metadata.Name+"-documentation",
		func(name string) bool { return wanted[name] })
}

// documentationFiles are the names that documents have in documentation.tar, by key: their own, with
// the key before it where two would have the same.
func documentationFiles(documentation map[string]string) map[string]string {
	count := map[string]int{}
	for _, file := range documentation {
		count[path.Base(file)]++
	}
	out := map[string]string{}
	for key, file := range documentation {
		out[key] = path.Base(file)
		if count[path.Base(file)] > 1 {
			out[key] = key + "-" + path.Base(file)
		}
	}
	return out
}

// ExtractSBOMs writes the software bills of materials of a package into a folder of its name and
// returns the paths of the files. Nothing is left behind that could not be verified.
func ExtractSBOMs(ctx context.Context, o ExtractOptions) ([]string, error) {
	p, err := openToRead(ctx, o.Source, "SBOMs", o.Open)
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.Close() }() // only read from
	name := p.Definition().Metadata.Name
	if !p.bundle.Has(bundle.SBOMPath) {
		return nil, fmt.Errorf("%w: package %q has no SBOMs: it was created without, or has neither images nor files", ErrNothingToExtract, name)
	}
	return p.extract(ctx, bundle.SBOMPath, o.Output, name, nil)
}

// extract unpacks what want asks for of a tar in the package into a folder below output. It is
// unpacked beside it and moved when all of it was verified. Files of the same names are replaced.
func (p *Package) extract(ctx context.Context, tarPath, output, folder string, want func(string) bool) (files []string, err error) {
	output = filepath.Join(output, ".")
	defer func() {
		if err != nil {
			err = fmt.Errorf("extracting %s into %q: %w", tarPath, filepath.Join(output, folder), err)
		}
	}()
	if err := os.MkdirAll(output, 0o755); err != nil {
		return nil, err
	}
	temporary, err := os.MkdirTemp(output, ".zarf-host-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(temporary) }() // what is left of it is only in the way
	root, err := os.OpenRoot(output)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // its files are closed
	unpacked, err := root.OpenRoot(filepath.Base(temporary))
	if err != nil {
		return nil, err
	}
	defer func() { _ = unpacked.Close() }() // its files are closed
	err = p.bundle.Walk(ctx, func(path string) bool { return path == tarPath }, func(_ bundle.File, r io.Reader) error {
		return archive.ExtractTar(ctx, r, unpacked, want)
	})
	if err != nil {
		return nil, err
	}
	return moveTree(root, unpacked.FS(), filepath.Base(temporary), folder, output)
}

// moveTree moves the files of a tree from one folder of a root to another, and returns where they are.
func moveTree(root *os.Root, tree fs.FS, from, to, output string) ([]string, error) {
	var files []string
	if err := root.MkdirAll(to, 0o755); err != nil {
		return nil, err
	}
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return root.MkdirAll(path.Join(to, name), 0o755)
		case !d.Type().IsRegular():
			return nil // documents are files; a link has nothing to lead to here
		}
		files = append(files, filepath.Join(output, to, name))
		return root.Rename(path.Join(from, name), path.Join(to, name))
	})
	return files, err
}
