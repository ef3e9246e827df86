package registry

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/image"
	"oras.land/oras-go/v2/registry"
)

const (
	// bufferable is the size up to which a blob is uploaded from memory, beside others. What is larger
	// streams from the package, one at a time.
	bufferable = 16 << 20
	// bufferBytes bounds the memory that uploads take.
	bufferBytes = 48 << 20
)

// wantedBlob is a blob and the repositories that lack it.
type wantedBlob struct {
	ocispec.Descriptor
	image        string // one that needs it, for people
	repositories []string
}

func (b *wantedBlob) fail(err error) error {
	return &PushError{Image: b.image, Blob: b.Digest.String(), Err: err}
}

// blobs makes the registry have all blobs of images.
func (p *push) blobs(ctx context.Context, s *session, jobs []*job) error {
	wanted := p.wanted(jobs)
	if err := p.find(ctx, s, wanted); err != nil {
		return err
	}
	if err := p.mountAll(ctx, s, p.wanted(jobs)); err != nil {
		return err
	}
	if err := p.copyAbsent(ctx, s, p.wanted(jobs)); err != nil {
		return err
	}
	for first := true; ; first = false {
		wanted := p.wanted(jobs)
		if len(wanted) == 0 {
			return nil
		}
		if first {
			p.expect(wanted)
		}
		// Each round brings every blob to one repository at least.
		if err := p.upload(ctx, s, wanted); err != nil {
			return err
		}
	}
}

// wanted are the blobs that the registry is not known to have where they belong.
func (p *push) wanted(jobs []*job) []*wantedBlob {
	var out []*wantedBlob
	byDigest := map[digest.Digest]*wantedBlob{}
	listed := map[string]bool{}
	for _, j := range jobs {
		if j.begun(&p.known) {
			continue
		}
		for _, d := range j.tree.blobs {
			place := d.Digest.String() + " " + j.repository
			if listed[place] || p.known.in(d.Digest, j.repository) {
				continue
			}
			listed[place] = true
			b := byDigest[d.Digest]
			if b == nil {
				b = &wantedBlob{Descriptor: d, image: j.ref.String()}
				byDigest[d.Digest] = b
				out = append(out, b)
			}
			b.repositories = append(b.repositories, j.repository)
		}
	}
	return out
}

// find asks the registry for blobs.
func (p *push) find(ctx context.Context, s *session, wanted []*wantedBlob) error {
	type question struct {
		*wantedBlob
		repository string
	}
	var questions []question
	for _, b := range wanted {
		for _, repository := range b.repositories {
			questions = append(questions, question{b, repository})
		}
	}
	err := each(ctx, p.opts.Concurrency, questions, func(ctx context.Context, q question) error {
		there, err := p.exists(ctx, s, q.repository, q.Descriptor)
		if err != nil {
			return q.fail(err)
		}
		if there {
			p.known.placed(q.Digest, q.repository)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return p.findElsewhere(ctx, s, wanted)
}

// mountAll mounts the blobs that other repositories have.
func (p *push) mountAll(ctx context.Context, s *session, wanted []*wantedBlob) error {
	return each(ctx, p.opts.Concurrency, wanted, func(ctx context.Context, b *wantedBlob) error {
		for _, repository := range b.repositories {
			if err := p.mount(ctx, s, b, repository); err != nil {
				return err
			}
		}
		return nil
	})
}

// errNotMounted says that a registry would rather have the blob uploaded.
var errNotMounted = errors.New("not mounted")

// mount makes a repository have a blob that another one has. It may do nothing: then the blob is still
// wanted.
func (p *push) mount(ctx context.Context, s *session, b *wantedBlob, repository string) error {
	from := p.known.elsewhere(b.Digest)
	if from == "" || p.noMount.Load() {
		return nil
	}
	ctx, cancel := p.limited(ctx)
	defer cancel()
	mounter, ok := s.repository(repository).Blobs().(registry.Mounter)
	if !ok {
		return nil
	}
	err := mounter.Mount(ctx, b.Descriptor, from, func() (io.ReadCloser, error) { return nil, errNotMounted })
	switch {
	case errors.Is(err, errNotMounted), err != nil && answered(err) && !transient(err):
		// A registry without mounts, or one that does not let us read the other repository.
		p.noMount.Store(true)
		return nil
	case err != nil:
		return b.fail(p.explain(ctx, err))
	}
	p.known.placed(b.Digest, repository)
	p.achieve(func() { p.result.MountedBlobs++ })
	return nil
}

// upload walks through the package once and uploads the blobs that come by.
func (p *push) upload(ctx context.Context, s *session, wanted []*wantedBlob) error {
	work := newPool(ctx, p.opts.Concurrency)
	byPath := map[string]*wantedBlob{}
	for _, b := range wanted {
		if data, ok := p.opts.Content.kept[b.Digest]; ok {
			if err := work.start(func(ctx context.Context) error { return p.fromMemory(ctx, s, b, data) }); err != nil {
				return work.wait(err)
			}
			continue
		}
		byPath[image.BlobPath(b.Descriptor)] = b
	}
	if len(byPath) == 0 {
		return work.wait(nil)
	}
	isWanted := func(path string) bool { return byPath[path] != nil }
	return work.wait(work.eachFile(p.opts.Content.source, isWanted,
		func(ctx context.Context, f bundle.File, r io.Reader) error {
			return p.fromPackage(ctx, s, byPath[f.Path], r)
		},
		func(ctx context.Context, f bundle.File, data []byte) error {
			return p.fromMemory(ctx, s, byPath[f.Path], data)
		}))
}

// readAll fills data and reads on to the end, where the package says whether the bytes are right.
func readAll(r io.Reader, data []byte) error {
	if _, err := io.ReadFull(r, data); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, r)
	return err
}

// fromMemory uploads a blob to the first repository that lacks it, and brings it to the others.
func (p *push) fromMemory(ctx context.Context, s *session, b *wantedBlob, data []byte) error {
	for _, repository := range b.repositories {
		if err := p.mount(ctx, s, b, repository); err != nil {
			return err
		}
		if p.known.in(b.Digest, repository) {
			continue
		}
		if err := p.send(ctx, s, b, repository, bytes.NewReader(data)); err != nil {
			return err
		}
	}
	return nil
}

// fromPackage uploads a blob, as it comes out of the package, to the first repository that lacks it.
// Where it cannot be mounted from there, it has to come by again.
func (p *push) fromPackage(ctx context.Context, s *session, b *wantedBlob, r io.Reader) error {
	if err := p.send(ctx, s, b, b.repositories[0], r); err != nil {
		return err
	}
	for _, repository := range b.repositories[1:] {
		if err := p.mount(ctx, s, b, repository); err != nil {
			return err
		}
	}
	return nil
}

func (p *push) send(ctx context.Context, s *session, b *wantedBlob, repository string, r io.Reader) error {
	if err := s.upload(ctx, repository, b.Descriptor, r); err != nil {
		return b.fail(err)
	}
	p.known.placed(b.Digest, repository)
	p.achieve(func() {
		p.result.UploadedBlobs++
		p.result.UploadedBytes += b.Size
	})
	p.committed(b.Size)
	return nil
}
