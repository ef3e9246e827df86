package create

import (
	"context"
	"fmt"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/zarf-host/zarf-host/host/image"
)

// Images pulls images from registries, and reads them from archives.
type Images interface {
	// Resolve asks what a reference stands for: the manifest of the image for an architecture, or,
	// pinned by the digest of an index, that index.
	Resolve(ctx context.Context, from image.Reference, architecture string) (ocispec.Descriptor, error)
	// Fetch brings everything that manifests consist of into a store, and leaves alone what it has.
	Fetch(ctx context.Context, images []Wanted, store Store) error
	// ReadArchive brings an image from an archive into a store, and returns its manifest.
	ReadArchive(ctx context.Context, file string, ref image.Reference, architecture string, store Store) (ocispec.Descriptor, error)
}

// Wanted is a manifest and where it is.
type Wanted struct {
	From     image.Reference
	Manifest ocispec.Descriptor
}

// Image is an image that a component names.
type Image struct {
	// Component and Index say where: the Index-th image of that component.
	Component string
	Index     int
	// Named is the reference as the component has it, and Reference what it means.
	Named     string
	Reference image.Reference
	// From is where it is pulled from.
	From image.Reference
	// Manifest is what the reference stands for now.
	Manifest ocispec.Descriptor
}

// resolveImages asks registries what the images of all components are.
func (r *Resolved) resolveImages(ctx context.Context) error {
	known := map[string]ocispec.Descriptor{}
	for i, c := range r.Components {
		for j, named := range c.Images {
			img, err := r.resolveImage(ctx, c.Name, j, named, known)
			if err != nil {
				return &PlacedError{At: r.At(i, "images", j), Err: err}
			}
			r.Images = append(r.Images, img)
		}
	}
	return nil
}

func (r *Resolved) resolveImage(ctx context.Context, component string, index int, named string, known map[string]ocispec.Descriptor) (Image, error) {
	ref, err := image.Parse(named)
	if err != nil {
		return Image{}, err
	}
	from, err := image.Parse(r.options.overridden(ref.String()))
	if err != nil {
		return Image{}, err
	}
	img := Image{Component: component, Index: index, Named: named, Reference: ref, From: from}
	if d, ok := known[from.String()]; ok {
		img.Manifest = d
		return img, nil
	}
	if img.Manifest, err = r.world.Images.Resolve(ctx, from, r.Package.Metadata.Architecture); err != nil {
		return Image{}, fmt.Errorf("resolving image %q: %w", named, err)
	}
	known[from.String()] = img.Manifest
	return img, nil
}

// overridden is where a reference is pulled from: the longest prefix counts.
func (o Options) overridden(ref string) string {
	best := Override{}
	for _, over := range o.RegistryOverrides {
		if strings.HasPrefix(ref, over.Source) && len(over.Source) > len(best.Source) {
			best = over
		}
	}
	return best.Override + strings.TrimPrefix(ref, best.Source)
}

// DropImages leaves out the images for which drop returns true, from the components that name them too.
func (r *Resolved) DropImages(drop func(Image) bool) {
	byComponent := map[string]map[int]bool{}
	kept := r.Images[:0:0]
	for _, img := range r.Images {
		if !drop(img) {
			kept = append(kept, img)
			continue
		}
		if byComponent[img.Component] == nil {
			byComponent[img.Component] = map[int]bool{}
		}
		byComponent[img.Component][img.Index] = true
	}
	for i, c := range r.Components {
		r.Components[i] = c.WithoutImages(func(j int, _ string) bool { return byComponent[c.Name][j] })
	}
	// The images that are left have moved up.
	at := map[string]int{}
	for i, img := range kept {
		kept[i].Index = at[img.Component]
		at[img.Component]++
	}
	r.Images = kept
}

// DropRepos leaves out the repositories for which drop returns true.
func (r *Resolved) DropRepos(drop func(component, repo string) bool) {
	for i, c := range r.Components {
		r.Components[i] = c.WithoutRepos(func(_ int, repo string) bool { return drop(c.Name, repo) })
	}
}

// DropComponents leaves out whole components, with their images.
func (r *Resolved) DropComponents(drop func(component string) bool) {
	components, images := r.Components[:0:0], r.Images[:0:0]
	for _, c := range r.Components {
		if !drop(c.Name) {
			components = append(components, c)
		}
	}
	for _, img := range r.Images {
		if !drop(img.Component) {
			images = append(images, img)
		}
	}
	r.Components, r.Images = components, images
}
