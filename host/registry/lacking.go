package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/zarf-host/zarf-host/host/image"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry"
)

// Lacking is a blob that an image needs and that neither the package nor the registry has.
type Lacking struct {
	Image image.Reference
	Blob  string // sha256:…
}

// Lacking asks for the blobs that images would need to be pushed and that their content does not have.
// It is what a Push would fail with, all at once and before anything is sent. Only HEAD requests.
func (c *Client) Lacking(ctx context.Context, opts PushOptions) ([]Lacking, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	opts.Concurrency = cmp.Or(max(0, opts.Concurrency), 6)
	p := &push{Client: c, opts: opts}
	var roots []ocispec.Descriptor
	for _, ref := range opts.Images {
		j, err := p.job(ref)
		if err != nil {
			return nil, &PushError{Image: ref.String(), Err: err}
		}
		p.jobs = append(p.jobs, j)
		roots = append(roots, j.root)
	}
	if err := opts.Content.load(ctx, roots...); err != nil {
		return nil, nameImage(err, p.jobs)
	}
	for _, j := range p.jobs {
		j.tree = opts.Content.trees[j.root.Digest]
	}
	var absent []*wantedBlob
	for _, b := range p.wanted(p.jobs) {
		if _, ok := opts.Content.file(b.Descriptor); !ok {
			absent = append(absent, b)
		}
	}
	if len(absent) == 0 {
		return nil, nil
	}
	err := c.try(ctx, func() int { return 0 }, func(ctx context.Context, s *session) error { return p.find(ctx, s, absent) })
	if err != nil {
		return nil, err
	}
	lacks := map[digest.Digest]bool{}
	for _, b := range absent {
		lacks[b.Digest] = c.known.elsewhere(b.Digest) == ""
	}
	var out []Lacking
	for _, j := range p.jobs {
		for _, d := range j.tree.blobs {
			if lacks[d.Digest] && !j.begun(&c.known) {
				out = append(out, Lacking{Image: j.ref, Blob: d.Digest.String()})
			}
		}
	}
	return out, nil
}

// findElsewhere asks the repositories that are said to have a blob which the package has not, until
// one has it: it can be had from there.
func (p *push) findElsewhere(ctx context.Context, s *session, wanted []*wantedBlob) error {
	var absent []*wantedBlob
	for _, b := range wanted {
		if _, ok := p.opts.Content.file(b.Descriptor); !ok && p.known.elsewhere(b.Digest) == "" {
			absent = append(absent, b)
		}
	}
	return each(ctx, p.opts.Concurrency, absent, func(ctx context.Context, b *wantedBlob) error {
		for _, repository := range p.places(p.opts.Elsewhere[b.Digest.String()]) {
			there, err := p.exists(ctx, s, repository, b.Descriptor)
			if err != nil {
				return b.fail(err)
			}
			if there {
				p.known.placed(b.Digest, repository)
				return nil
			}
		}
		return nil
	})
}

// places are the repositories of paths below the address, and below the host alone: that is where an
// image is that has the registry's own host.
func (p *push) places(paths []string) []string {
	_, below, _ := strings.Cut(p.Client.opts.Address, "/")
	var out []string
	for _, at := range paths {
		for _, repository := range []string{path.Join(below, at), at} {
			ref := registry.Reference{Registry: p.host, Repository: repository}
			if ref.ValidateRepository() == nil && !slices.Contains(out, repository) {
				out = append(out, repository)
			}
		}
	}
	return out
}

func (p *push) exists(ctx context.Context, s *session, repository string, d ocispec.Descriptor) (bool, error) {
	ctx, cancel := p.limited(ctx)
	defer cancel()
	there, err := s.repository(repository).Blobs().Exists(ctx, d)
	if errors.Is(err, errdef.ErrNotFound) {
		return false, nil
	}
	return there, p.explain(ctx, err)
}

// copyAbsent brings blobs that the package does not have from the repositories that have them, where
// they could not be mounted.
func (p *push) copyAbsent(ctx context.Context, s *session, wanted []*wantedBlob) error {
	for _, b := range wanted {
		if _, ok := p.opts.Content.file(b.Descriptor); ok {
			continue
		}
		from := p.known.elsewhere(b.Digest)
		if from == "" {
			return b.fail(errMissingBlob)
		}
		for _, repository := range b.repositories {
			if p.known.in(b.Digest, repository) {
				continue
			}
			if err := p.copyBlob(ctx, s, b, from, repository); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *push) copyBlob(ctx context.Context, s *session, b *wantedBlob, from, to string) error {
	r, err := s.repository(from).Blobs().Fetch(ctx, b.Descriptor)
	if err != nil {
		return b.fail(fmt.Errorf("reading it from repository %q: %w", from, p.explain(ctx, err)))
	}
	defer r.Close()
	// The registry that receives it holds it against its digest.
	err = p.send(ctx, s, b, to, r)
	var source *sourceError
	if errors.As(err, &source) { // here it is the registry that is read from, not the package
		return b.fail(fmt.Errorf("reading it from repository %q: %w", from, p.explain(ctx, source.err)))
	}
	return err
}
