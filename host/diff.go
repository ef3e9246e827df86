package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/comparison"
	"github.com/zarf-host/zarf-host/host/differential"
	"github.com/zarf-host/zarf-host/host/registry"
	"github.com/zarf-host/zarf-host/host/spec"
)

// DiffOptions say which packages are compared.
type DiffOptions struct {
	// From and To are packages as Open takes them, or names of deployed ones: NAME, NAME/NAMESPACE or
	// cluster:NAME.
	From, To string
	Open     OpenOptions
	Cluster  cluster.Options
}

// Diff says in what two packages differ. Nothing is changed. What is in components is read only where
// their checksums differ, and of images the manifests alone.
func Diff(ctx context.Context, o DiffOptions) (comparison.Diff, error) {
	from, err := o.open(ctx, o.From)
	if err != nil {
		return comparison.Diff{}, err
	}
	defer from.close()
	to, err := o.open(ctx, o.To)
	if err != nil {
		return comparison.Diff{}, err
	}
	defer to.close()
	for _, p := range []struct{ side, other *comparedPackage }{{from, to}, {to, from}} {
		if err := p.side.read(ctx, p.other); err != nil {
			return comparison.Diff{}, fmt.Errorf("reading %s: %w", p.side.subject.Source, err)
		}
	}
	return comparison.Sides(from.side(), to.side()), nil
}

// comparedPackage is one of two packages.
type comparedPackage struct {
	subject    comparison.Subject
	definition spec.Package // of the whole package
	pkg        *Package     // nil for a deployed one
	images     map[string]comparison.Item
	contents   map[string]map[string]digested // by component and path
}

// digested is the content of a file, or of the files below a folder.
type digested struct {
	sum   string
	bytes int64
}

func (o DiffOptions) open(ctx context.Context, target string) (*comparedPackage, error) {
	name, scheme := strings.CutPrefix(target, clusterScheme)
	name, namespace, _ := strings.Cut(name, "/")
	if scheme || IsName(target) {
		found, err := inspectDeployed(ctx, InspectOptions{Target: name, Namespace: namespace, Cluster: o.Cluster, Open: o.Open})
		if err != nil {
			return nil, err
		}
		return newCompared(clusterScheme+strings.TrimPrefix(target, clusterScheme), found.Digest, found.Definition, true), nil
	}
	p, err := Open(ctx, target, o.Open)
	if err != nil {
		return nil, err
	}
	out := newCompared(p.Source(), p.Digest(), p.Definition(), false)
	out.pkg = p
	for _, f := range p.bundle.Files() {
		out.subject.Bytes += f.Size
	}
	return out, nil
}

func newCompared(source, digest string, def spec.Package, deployed bool) *comparedPackage {
	return &comparedPackage{
		subject: comparison.Subject{
			Source: source, Name: def.Metadata.Name, Version: def.Metadata.Version, Architecture: def.Build.Architecture,
			Flavor: def.Build.Flavor, Digest: digest, Partial: def.Build.Differential && !deployed && !def.Extension.IsWhole(),
		},
		definition: differential.Whole(def), images: map[string]comparison.Item{}, contents: map[string]map[string]digested{},
	}
}

func (p *comparedPackage) close() {
	if p.pkg != nil {
		_ = p.pkg.Close() // only read from
	}
}

// read reads what the definition does not say, as far as it may differ from the other package.
func (p *comparedPackage) read(ctx context.Context, other *comparedPackage) error {
	if p.pkg == nil {
		return nil
	}
	if err := p.readImages(ctx); err != nil {
		return err
	}
	if other.pkg == nil {
		return nil // there is nothing to hold it against
	}
	same := func(component string) bool {
		here, ok := p.tar(component)
		there, also := other.tar(component)
		return ok && also && here == there && p.alike(other, component)
	}
	return p.pkg.bundle.Components(ctx, func(c string) bool { return !same(c) }, func(c string, e bundle.Entry, r io.Reader) error {
		if p.contents[c] == nil {
			p.contents[c] = map[string]digested{}
		}
		if !e.Mode.IsRegular() {
			return nil
		}
		sum := sha256.New()
		n, err := io.Copy(sum, r)
		p.contents[c][e.Path] = digested{"sha256:" + hex.EncodeToString(sum.Sum(nil)), n}
		return err
	})
}

// tar is the checksum of a component's content.
func (p *comparedPackage) tar(component string) (string, bool) {
	for _, f := range p.pkg.bundle.Files() {
		if f.Path == bundle.ComponentPath(component) {
			return f.SHA256, true
		}
	}
	return "", false
}

// alike reports whether the definitions of a component name the same content in the same places.
func (p *comparedPackage) alike(other *comparedPackage, component string) bool {
	here, ok := p.definition.Component(component)
	there, also := other.definition.Component(component)
	return ok && also && opaque("", [][]any{{here.Charts, here.Manifests, here.Files, here.DataInjections}}) ==
		opaque("", [][]any{{there.Charts, there.Manifests, there.Files, there.DataInjections}})
}

// readImages reads what the references of images mean, and how large they are.
func (p *comparedPackage) readImages(ctx context.Context) error {
	content, err := registry.ReadContent(ctx, p.pkg.bundle)
	if err != nil {
		return err
	}
	parts, err := content.Parts(ctx)
	if err != nil {
		return err
	}
	sizes := map[string]int64{}
	for _, part := range parts {
		for _, name := range part.Images {
			sizes[name] += part.Size
		}
	}
	digests := map[string]string{}
	if e := p.definition.Extension; e != nil {
		for name, d := range e.Digests {
			digests[name] = d
		}
	}
	for name, d := range content.Digests() {
		digests[name] = d
	}
	for name, d := range digests {
		p.images[name] = comparison.Item{Digest: d, Bytes: sizes[name]}
	}
	return nil
}
