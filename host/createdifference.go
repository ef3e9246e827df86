package host

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/compose"
	"github.com/zarf-host/zarf-host/host/create"
	"github.com/zarf-host/zarf-host/host/differential"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/image"
	"github.com/zarf-host/zarf-host/host/registry"
	"github.com/zarf-host/zarf-host/host/spec"
)

// difference is what a package that is created says beyond its definition and, where it has a base,
// what it leaves out.
type difference struct {
	// definition is the package's, with its build as far as it is about the base.
	definition spec.Package
	base       differential.Base
	omitted    differential.Omission
	blobs      []string // that are left out, by digest
}

// difference decides what a package leaves out, and leaves it out of what is about to be gathered.
func (o CreateOptions) difference(ctx context.Context, r *create.Resolved) (*difference, error) {
	full := r.Definition()
	full.Build.Flavor = o.Flavor
	n := differential.New{Definition: full, Imports: map[string]differential.Import{}, Digests: map[string]string{}}
	for name, i := range r.Imports {
		component, _ := full.Component(name)
		origin := spec.ImportOrigin{URL: i.URL, Digest: i.Digest}
		if component != nil && component.Import.Name != "" {
			origin.Name = component.Import.Name
		}
		n.Imports[name] = differential.Import{ImportOrigin: origin, Overrides: !i.Plain}
	}
	var refs []image.Reference
	for _, img := range r.Images {
		n.Digests[img.Reference.String()] = img.Manifest.Digest.String()
		refs = append(refs, img.Reference)
	}
	d := &difference{definition: full}
	d.definition.Extension = n.Extension()
	if o.Differential == "" {
		return d, nil
	}
	reader := baseReader{open: o.openOptions(), cluster: o.Cluster, level: o.Level, name: full.Metadata.Name, images: refs}
	reader.open.Architecture = full.Metadata.Architecture
	var err error
	if d.base, err = reader.read(ctx, o.Differential); err != nil {
		return nil, err
	}
	if d.definition, d.omitted, err = differential.Omit(n, d.base); err != nil {
		return nil, fmt.Errorf("creating a differential package: %w", err)
	}
	d.leaveOut(r)
	o.say(event.Info, "create", fmt.Sprintf("%s has already: %d components, %d images and %d repositories are left out",
		d.base.What, len(d.omitted.Components), len(d.omitted.Images), len(d.omitted.Repos)))
	return d, nil
}

// leaveOut takes what the base has out of what is gathered.
func (d *difference) leaveOut(r *create.Resolved) {
	gone := func(ref image.Reference) bool { return slices.Contains(d.omitted.Images, ref.String()) }
	whole := func(component string) bool { return slices.Contains(d.omitted.Components, component) }
	r.Components = slices.DeleteFunc(r.Components, func(c compose.Component) bool { return whole(c.Name) })
	for i, c := range r.Components {
		c = c.WithoutImages(func(_ int, text string) bool {
			ref, err := image.Parse(text)
			return err == nil && gone(ref)
		})
		r.Components[i] = c.WithoutRepos(func(_ int, text string) bool {
			return slices.Contains(d.omitted.Repos, differential.ParseRepo(text).String())
		})
	}
	r.Images = slices.DeleteFunc(r.Images, func(img create.Image) bool { return whole(img.Component) || gone(img.Reference) })
	next := map[string]int{}
	for i, img := range r.Images {
		r.Images[i].Index = next[img.Component]
		next[img.Component]++
	}
}

// withoutBlobs leaves out of the files of a package the blobs that the base has.
func (d *difference) withoutBlobs(ctx context.Context, files []bundle.Content, level Level) ([]bundle.Content, error) {
	if level != LevelBlob {
		return files, nil
	}
	content, err := registry.ReadContent(ctx, gathered(files))
	if err != nil {
		return nil, err
	}
	parts, err := content.Parts(ctx)
	if err != nil {
		return nil, err
	}
	var blobs []differential.Blob
	for _, part := range parts {
		blobs = append(blobs, differential.Blob{Digest: part.Digest, Size: part.Size})
	}
	d.definition, d.blobs = differential.OmitBlobs(d.definition, blobs, d.base)
	gone := map[string]bool{}
	for _, digest := range d.blobs {
		gone[digest] = true
	}
	return slices.DeleteFunc(slices.Clone(files), func(f bundle.Content) bool {
		return gone["sha256:"+f.SHA256] && f.Path == "images/blobs/sha256/"+f.SHA256
	}), nil
}

// edit completes the definition of the package before it is written.
func (d *difference) edit(pkg *spec.Package) {
	pkg.Build.Differential = d.definition.Build.Differential
	pkg.Build.DifferentialPackageVersion = d.definition.Build.DifferentialPackageVersion
	pkg.Build.DifferentialMissing = d.definition.Build.DifferentialMissing
	pkg.Build.VersionRequirements = append(pkg.Build.VersionRequirements, d.definition.Build.VersionRequirements...)
	pkg.Extension = d.definition.Extension
}

// gathered are the files of a package that is not written yet.
type gathered []bundle.Content

// Files are all of them.
func (g gathered) Files() []bundle.File {
	out := make([]bundle.File, len(g))
	for i, c := range g {
		out[i] = c.File
	}
	return out
}

// Walk hands over the files that are wanted.
func (g gathered) Walk(ctx context.Context, want func(string) bool, fn func(bundle.File, io.Reader) error) error {
	for _, c := range g {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if !want(c.Path) {
			continue
		}
		if err := hand(c, fn); err != nil {
			return err
		}
	}
	return nil
}

func hand(c bundle.Content, fn func(bundle.File, io.Reader) error) error {
	if c.Data != nil {
		return fn(c.File, bytes.NewReader(c.Data))
	}
	f, err := os.Open(c.Source)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read from
	return fn(c.File, f)
}
