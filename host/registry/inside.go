package registry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/zarf-host/zarf-host/host/image"
	"oras.land/oras-go/v2/errdef"
)

// Digests are those of the images that the package has, by their references in full.
func (c *Content) Digests() map[string]string {
	out := map[string]string{}
	for name, d := range c.index.Names() {
		out[name] = d.Digest.String()
	}
	return out
}

// Part is a layer or a configuration of images.
type Part struct {
	Digest string
	Size   int64
	// Images are those that consist of it, in full, sorted.
	Images []string
	// Carried is whether the package has it.
	Carried bool
}

// Parts are the layers and configurations of the images that the package has, sorted by digest. It
// reads the manifests alone.
func (c *Content) Parts(ctx context.Context) ([]Part, error) {
	names := c.index.Names()
	var roots []ocispec.Descriptor
	for _, name := range slices.Sorted(maps.Keys(names)) {
		roots = append(roots, names[name])
	}
	if err := c.load(ctx, roots...); err != nil {
		return nil, fmt.Errorf("reading what images consist of: %w", err)
	}
	byDigest := map[string]*Part{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		for _, d := range c.trees[names[name].Digest].blobs {
			key := d.Digest.String()
			p := byDigest[key]
			if p == nil {
				_, carried := c.file(d)
				p = &Part{Digest: key, Size: d.Size, Carried: carried}
				byDigest[key] = p
			}
			if !slices.Contains(p.Images, name) {
				p.Images = append(p.Images, name)
			}
		}
	}
	var out []Part
	for _, key := range slices.Sorted(maps.Keys(byDigest)) {
		out = append(out, *byDigest[key])
	}
	return out, nil
}

// Held is what a registry has of a repository.
type Held struct {
	Tags map[string]string // tag → digest
	// Manifests are those of the tags, and of the digests that were asked for, by digest: of which
	// blobs an image consists, an index with those of its images.
	Manifests map[string][]HeldBlob
}

// HeldBlob is a layer or configuration in a registry.
type HeldBlob struct {
	Digest string
	Size   int64
}

// Hold reads what a repository has, which is named as in a reference, with the registry: its tags, and
// of which blobs they and the images of the digests given consist. What it lacks is left out.
func (c *Client) Hold(ctx context.Context, repository string, digests ...string) (Held, error) {
	found, err := c.Survey(ctx, repository, digests...)
	if err != nil {
		return Held{}, err
	}
	out := Held{Tags: found.Tags, Manifests: map[string][]HeldBlob{}}
	c.mu.Lock()
	defer c.mu.Unlock()
	ref, err := c.locate(repository)
	if err != nil {
		return Held{}, err
	}
	names := slices.Concat(slices.Sorted(maps.Values(found.Tags)), digests)
	err = c.try(ctx, func() int { return len(out.Manifests) }, func(ctx context.Context, s *session) error {
		for _, name := range names {
			if _, known := out.Manifests[name]; known {
				continue
			}
			d, err := s.descriptor(ctx, ref.Repository, name)
			if errors.Is(err, errdef.ErrNotFound) {
				continue
			}
			if err != nil {
				return fmt.Errorf("asking for %q: %w", name, err)
			}
			sizes := map[string]int64{}
			err = s.walk(ctx, ref.Repository, d, func(_ ocispec.Descriptor, m image.Manifest) {
				for _, b := range m.Blobs {
					if !image.Foreign(b) {
						sizes[b.Digest.String()] = b.Size
					}
				}
			})
			if err != nil {
				return err
			}
			blobs := []HeldBlob{}
			for _, digest := range slices.Sorted(maps.Keys(sizes)) {
				blobs = append(blobs, HeldBlob{Digest: digest, Size: sizes[digest]})
			}
			out.Manifests[name] = blobs
		}
		return nil
	})
	if err != nil {
		return Held{}, fmt.Errorf("looking at what is in %q: %w", repository, err)
	}
	return out, nil
}
