package registry

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/zarf-host/zarf-host/host/bundle"
)

// PublishOptions say which package is published where.
type PublishOptions struct {
	// Reference is where: HOST/PATH:TAG.
	Reference string
	// Architecture is the one under which the tag's index names the package.
	Architecture string
	// Manifest and Config are the package's, and Source has its files.
	Manifest, Config []byte
	Source           BlobSource
	// Concurrency is how many requests are under way at once. Default 6.
	Concurrency int
}

// Published says what publishing a package came to.
type Published struct {
	// Digest is that of its manifest.
	Digest        string
	UploadedBlobs int
	UploadedBytes int64
}

// Publish makes a registry have a package under a tag, beside what the tag has for other architectures.
// Files that the repository has are not sent again. The tag is the last that changes.
func (c *Client) Publish(ctx context.Context, o PublishOptions) (Published, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ref, err := c.locate(o.Reference)
	if err == nil && ref.ValidateReferenceAsTag() != nil {
		err = errors.New("it names no tag")
	}
	if err != nil {
		return Published{}, fmt.Errorf("publishing as %q: %w", o.Reference, err)
	}
	o.Concurrency = cmp.Or(max(0, o.Concurrency), 6)
	p := &publishing{Client: c, opts: o, ref: ref, digest: digest.FromBytes(o.Manifest), there: map[digest.Digest]bool{}}
	ctx = auth.AppendRepositoryScope(ctx, ref, auth.ActionPull, auth.ActionPush)
	err = c.try(ctx, func() int { return int(p.steps.Load()) }, p.attempt)
	out := Published{Digest: p.digest.String(), UploadedBlobs: int(p.blobs.Load()), UploadedBytes: p.bytes.Load()}
	if err != nil {
		return out, fmt.Errorf("publishing as %q: %w", o.Reference, err)
	}
	return out, nil
}

// publishing is one call of Publish.
type publishing struct {
	*Client
	opts   PublishOptions
	ref    registry.Reference
	digest digest.Digest

	there               map[digest.Digest]bool // what the repository has confirmed, between attempts
	steps, blobs, bytes atomic.Int64
}

func (p *publishing) attempt(ctx context.Context, s *session) error {
	_, err := s.resolve(ctx, p.ref.Repository, p.digest.String())
	switch {
	case errors.Is(err, errdef.ErrNotFound):
		if err := p.all(ctx, s); err != nil {
			return err
		}
	case err != nil:
		return fmt.Errorf("asking for the package: %w", err)
	}
	return p.tag(ctx, s)
}

// all sends the files and then the manifest.
func (p *publishing) all(ctx context.Context, s *session) error {
	missing, err := p.missing(ctx, s)
	if err != nil {
		return err
	}
	if d := descriptor(p.opts.Config); missing[d.Digest] {
		if err := p.send(ctx, s, d, bytes.NewReader(p.opts.Config)); err != nil {
			return fmt.Errorf("uploading the configuration: %w", err)
		}
		delete(missing, d.Digest)
	}
	if err := p.files(ctx, s, missing); err != nil {
		return err
	}
	d := descriptor(p.opts.Manifest)
	d.MediaType = bundle.ManifestMediaType
	return p.manifest(ctx, s, d, p.opts.Manifest, d.Digest.String())
}

func descriptor(data []byte) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: "application/octet-stream", Digest: digest.FromBytes(data), Size: int64(len(data))}
}

func fileDescriptor(f bundle.File) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: "application/octet-stream", Digest: digest.NewDigestFromEncoded(digest.SHA256, f.SHA256), Size: f.Size}
}

// missing are the blobs that the repository does not have.
func (p *publishing) missing(ctx context.Context, s *session) (map[digest.Digest]bool, error) {
	unknown := map[digest.Digest]ocispec.Descriptor{}
	add := func(d ocispec.Descriptor) {
		if !p.there[d.Digest] {
			unknown[d.Digest] = d
		}
	}
	add(descriptor(p.opts.Config))
	for _, f := range p.opts.Source.Files() {
		add(fileDescriptor(f))
	}
	type answer struct {
		ocispec.Descriptor
		has bool
	}
	var asked []*answer
	for _, d := range unknown {
		asked = append(asked, &answer{Descriptor: d})
	}
	err := each(ctx, p.opts.Concurrency, asked, func(ctx context.Context, a *answer) (err error) {
		a.has, err = s.hasBlob(ctx, p.ref.Repository, a.Descriptor)
		if errors.Is(err, errdef.ErrNotFound) {
			err = nil
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("asking for the files of the package: %w", err)
	}
	out := map[digest.Digest]bool{}
	for _, a := range asked {
		if a.has {
			p.there[a.Digest] = true
			continue
		}
		out[a.Digest] = true
	}
	return out, nil
}

// files walks through the package once and uploads what is missing: small files from memory, several at
// once, large ones as they come by.
func (p *publishing) files(ctx context.Context, s *session, missing map[digest.Digest]bool) error {
	if len(missing) == 0 {
		return nil
	}
	paths := map[string]bool{} // the first file of each content
	for _, f := range p.opts.Source.Files() {
		if d := fileDescriptor(f).Digest; missing[d] {
			paths[f.Path] = true
			delete(missing, d)
		}
	}
	work := newPool(ctx, p.opts.Concurrency)
	sent := make(chan digest.Digest, len(paths))
	upload := func(ctx context.Context, f bundle.File, content io.Reader) error {
		d := fileDescriptor(f)
		if err := p.send(ctx, s, d, content); err != nil {
			return fmt.Errorf("uploading %q: %w", f.Path, err)
		}
		sent <- d.Digest
		return nil
	}
	err := work.wait(work.eachFile(p.opts.Source, func(path string) bool { return paths[path] }, upload,
		func(ctx context.Context, f bundle.File, data []byte) error {
			return upload(ctx, f, bytes.NewReader(data))
		}))
	close(sent)
	for d := range sent {
		p.there[d] = true
	}
	return err
}

func (p *publishing) send(ctx context.Context, s *session, d ocispec.Descriptor, content io.Reader) error {
	if err := s.upload(ctx, p.ref.Repository, d, content); err != nil {
		return err
	}
	p.steps.Add(1)
	p.blobs.Add(1)
	p.bytes.Add(d.Size)
	return nil
}

func (p *publishing) manifest(ctx context.Context, s *session, d ocispec.Descriptor, data []byte, name string) error {
	ctx, cancel := s.client.limited(ctx)
	defer cancel()
	err := s.repository(p.ref.Repository).Manifests().PushReference(ctx, d, bytes.NewReader(data), name)
	if err != nil {
		return fmt.Errorf("pushing the manifest: %w", s.client.explain(ctx, err))
	}
	p.steps.Add(1)
	return nil
}

// tag makes the tag's index name the package. Registries cannot write on a condition, and somebody else
// may publish for another architecture between our reading and writing. So what was written is read
// again, at once and a moment later, when whoever read the same index as we did has written too.
func (p *publishing) tag(ctx context.Context, s *session) error {
	const tries = 20
	wrote, confirmed := false, 0
	for range tries {
		found, err := s.manifest(ctx, p.ref)
		if err != nil && !errors.Is(err, errdef.ErrNotFound) {
			return fmt.Errorf("asking for the tag: %w", err)
		}
		index := found.Data
		if found.MediaType != bundle.IndexMediaType {
			index = nil // nothing, or something that is no package
		}
		if bundle.HasManifest(index, p.digest.String(), p.opts.Architecture) {
			if confirmed++; !wrote || confirmed > 1 {
				return nil
			}
			if err := sleep(ctx, 100*time.Millisecond+rand.N(300*time.Millisecond)); err != nil {
				return err
			}
			continue
		}
		next, err := bundle.PutManifest(index, p.digest.String(), int64(len(p.opts.Manifest)), p.opts.Architecture)
		if err != nil {
			return err
		}
		d := descriptor(next)
		d.MediaType = bundle.IndexMediaType
		if err := p.manifest(ctx, s, d, next, p.ref.Reference); err != nil {
			return err
		}
		wrote, confirmed = true, 0
	}
	return errors.New("the tag is another one each time that it is read: somebody else publishes under it")
}
