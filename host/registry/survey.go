package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/zarf-host/zarf-host/host/image"
	"oras.land/oras-go/v2/errdef"
)

// Survey is what a repository has, as far as a registry tells: one lists tags, but no manifest that
// has none.
type Survey struct {
	// Tags are the digests of all tags.
	Tags map[string]string
	// Indexes are the digests of all manifests below an index, by its own digest.
	Indexes map[string][]string
}

// Survey looks at all tags of a repository, which is named as in a reference, with the registry, and at
// the manifests of the digests given. What it does not have is left out.
func (c *Client) Survey(ctx context.Context, repository string, digests ...string) (Survey, error) {
	tags, err := c.Tags(ctx, repository)
	if err != nil {
		return Survey{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	ref, err := c.locate(repository)
	if err != nil {
		return Survey{}, err
	}
	out := Survey{Tags: map[string]string{}, Indexes: map[string][]string{}}
	seen := map[string]bool{}
	err = c.try(ctx, func() int { return len(seen) }, func(ctx context.Context, s *session) error {
		for _, name := range slices.Concat(tags, digests) {
			if seen[name] {
				continue
			}
			d, err := s.descriptor(ctx, ref.Repository, name)
			switch {
			case errors.Is(err, errdef.ErrNotFound):
			case err != nil:
				return fmt.Errorf("asking for %q: %w", name, err)
			default:
				if slices.Contains(tags, name) {
					out.Tags[name] = d.Digest.String()
				}
				if err := s.index(ctx, ref.Repository, d, out.Indexes); err != nil {
					return err
				}
			}
			seen[name] = true
		}
		return nil
	})
	if err != nil {
		return Survey{}, fmt.Errorf("looking at what is in %q: %w", repository, err)
	}
	return out, nil
}

// Size is how many bytes an image in the registry has, with all that it consists of; 0 where the
// registry does not have it. Manifests that an index names and the registry lacks do not count.
func (c *Client) Size(ctx context.Context, reference string) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ref, err := c.locate(reference)
	if err != nil {
		return 0, err
	}
	sizes := map[digest.Digest]int64{}
	err = c.try(ctx, func() int { return 0 }, func(ctx context.Context, s *session) error {
		clear(sizes)
		d, err := s.descriptor(ctx, ref.Repository, ref.Reference)
		if errors.Is(err, errdef.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return s.walk(ctx, ref.Repository, d, func(d ocispec.Descriptor, m image.Manifest) {
			sizes[d.Digest] = d.Size
			for _, blob := range m.Blobs {
				if !image.Foreign(blob) {
					sizes[blob.Digest] = blob.Size
				}
			}
		})
	})
	if err != nil {
		return 0, fmt.Errorf("asking how large %q is: %w", reference, err)
	}
	var sum int64
	for _, n := range sizes {
		sum += n
	}
	return sum, nil
}

// index adds the manifests below d if it is an index that was not looked at yet.
func (s *session) index(ctx context.Context, repository string, d ocispec.Descriptor, indexes map[string][]string) error {
	if _, known := indexes[d.Digest.String()]; known || !image.IsIndex(d) {
		return nil
	}
	below := []string{}
	err := s.walk(ctx, repository, d, func(child ocispec.Descriptor, m image.Manifest) {
		for _, c := range m.Children {
			below = append(below, c.Digest.String())
		}
	})
	if err != nil {
		return err
	}
	slices.Sort(below)
	indexes[d.Digest.String()] = slices.Compact(below)
	return nil
}

// walk reads a manifest and those below it, each once. One that an index names and the registry lacks
// is left out.
func (s *session) walk(ctx context.Context, repository string, root ocispec.Descriptor, visit func(ocispec.Descriptor, image.Manifest)) error {
	seen := map[digest.Digest]bool{}
	var down func(d ocispec.Descriptor, depth int) error
	down = func(d ocispec.Descriptor, depth int) error {
		if seen[d.Digest] {
			return nil
		}
		seen[d.Digest] = true
		if depth > maxDepth {
			return fmt.Errorf("index %s names indexes more than %d deep", root.Digest, maxDepth)
		}
		data, err := s.fetch(ctx, repository, d)
		if errors.Is(err, errdef.ErrNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading manifest %s: %w", d.Digest, err)
		}
		m, err := image.ParseManifest(d.MediaType, data)
		if err != nil {
			m = image.Manifest{} // something else than an image has nothing below it
		}
		visit(d, m)
		for _, child := range m.Children {
			if err := down(child, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	return down(root, 0)
}

func (s *session) descriptor(ctx context.Context, repository, name string) (ocispec.Descriptor, error) {
	ctx, cancel := s.client.limited(ctx)
	defer cancel()
	d, err := s.repository(repository).Manifests().Resolve(ctx, name)
	return d, s.client.explain(ctx, err)
}

// fetch reads a manifest, which is held against its digest.
func (s *session) fetch(ctx context.Context, repository string, d ocispec.Descriptor) ([]byte, error) {
	ctx, cancel := s.client.limited(ctx)
	defer cancel()
	r, err := s.repository(repository).Manifests().Fetch(ctx, d)
	if err != nil {
		return nil, s.client.explain(ctx, err)
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, image.MaxManifest+1))
	if err != nil {
		return nil, s.client.explain(ctx, err)
	}
	if len(data) > image.MaxManifest {
		return nil, fmt.Errorf("it has more than the %d bytes that a manifest may have", int64(image.MaxManifest))
	}
	if found := d.Digest.Algorithm().FromBytes(data); found != d.Digest {
		return nil, fmt.Errorf("the registry answers with something else, %s", found)
	}
	return data, nil
}
