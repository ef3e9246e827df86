package create

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/image"
)

// images are the images of all components as an OCI layout. Their blobs stay in the store.
func (r *Resolved) images(ctx context.Context) ([]bundle.Content, error) {
	store := r.store()
	entries := map[string]ocispec.Descriptor{}
	var wanted []Wanted
	for _, img := range r.Images {
		entries[img.Reference.String()] = img.Manifest
		wanted = append(wanted, Wanted{From: img.From, Manifest: img.Manifest})
	}
	if len(wanted) > 0 {
		r.say(event.Info, "", "fetching %d images", len(entries))
		if err := r.world.Images.Fetch(ctx, wanted, store); err != nil {
			return nil, r.imageFault(err)
		}
	}
	if err := r.imageArchives(ctx, store, entries); err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return nil, nil
	}
	blobs := map[digest.Digest]ocispec.Descriptor{}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		if err := reach(store, entries[name], blobs); err != nil {
			return nil, fmt.Errorf("reading image %q: %w", name, err)
		}
	}
	index, err := imageIndex(entries)
	if err != nil {
		return nil, err
	}
	out := []bundle.Content{
		bundle.NewContent(bundle.ImagesDir+"/index.json", index),
		bundle.NewContent(bundle.ImagesDir+"/oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)),
	}
	for _, d := range blobs {
		out = append(out, bundle.Content{
			File: bundle.File{Path: image.BlobPath(d), Size: d.Size, SHA256: d.Digest.Encoded()}, Source: store.Path(d.Digest),
		})
	}
	return out, nil
}

// imageFault gives an error about an image the place where it is named.
func (r *Resolved) imageFault(err error) error {
	var fault *ImageError
	if !errors.As(err, &fault) {
		return err
	}
	for i, c := range r.Components {
		for _, img := range r.Images {
			if img.Component == c.Name && img.From == fault.From {
				return r.sources.at(r.At(i, "images", img.Index), err)
			}
		}
	}
	return err
}

// ImageError says that an image could not be fetched.
type ImageError struct {
	From image.Reference
	Err  error
}

func (e *ImageError) Error() string { return fmt.Sprintf("fetching image %q: %v", e.From, e.Err) }

// Unwrap returns the cause.
func (e *ImageError) Unwrap() error { return e.Err }

func (r *Resolved) store() Store {
	return Store{Dir: cmp.Or(r.options.Store, filepath.Join(r.options.Work, "blobs"))}
}

func (r *Resolved) imageArchives(ctx context.Context, store Store, entries map[string]ocispec.Descriptor) error {
	for i, c := range r.Components {
		for j, a := range c.ImageArchives {
			where, err := r.sources.locate(a.Path)
			if err == nil {
				err = plainFile(where.path)
			}
			if err != nil {
				return r.sources.at(r.At(i, "imageArchives", j, "path"), err)
			}
			for k, named := range a.Images {
				ref, err := image.Parse(named)
				if err == nil {
					entries[ref.String()], err = r.world.Images.ReadArchive(ctx, where.path, ref, r.Package.Metadata.Architecture, store)
				}
				if err != nil {
					return r.sources.at(r.At(i, "imageArchives", j, "images", k), err)
				}
			}
		}
	}
	return nil
}

// reach collects everything that a manifest consists of.
func reach(store Store, d ocispec.Descriptor, blobs map[digest.Digest]ocispec.Descriptor) error {
	if _, seen := blobs[d.Digest]; seen {
		return nil
	}
	blobs[d.Digest] = d
	data, err := os.ReadFile(store.Path(d.Digest))
	if err != nil {
		return err
	}
	m, err := image.ParseManifest(d.MediaType, data)
	if err != nil {
		return err
	}
	for _, blob := range m.Blobs {
		if !image.Foreign(blob) {
			blobs[blob.Digest] = blob
		}
	}
	for _, child := range m.Children {
		if err := reach(store, child, blobs); err != nil {
			return err
		}
	}
	return nil
}

// imageIndex is images/index.json: a descriptor for each reference.
func imageIndex(entries map[string]ocispec.Descriptor) ([]byte, error) {
	index := ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		d := entries[name]
		d.Annotations = map[string]string{ocispec.AnnotationBaseImageName: name, ocispec.AnnotationRefName: name}
		d.Data, d.URLs = nil, nil
		index.Manifests = append(index.Manifests, d)
	}
	slices.SortStableFunc(index.Manifests, func(a, b ocispec.Descriptor) int { return cmp.Compare(a.Digest, b.Digest) })
	return json.Marshal(index)
}
