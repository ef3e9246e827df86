package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote/auth"
)

// maxArtifactManifest bounds a manifest: what registries take at most.
const maxArtifactManifest = 4 << 20

// Blob is something to push: data with the descriptor that a manifest has of it.
type Blob struct {
	ocispec.Descriptor
	Data []byte
}

// FetchManifest fetches the manifest under a reference, HOST/PATH:TAG or HOST/PATH@sha256:…. What comes
// back has the digest in the descriptor, which is the one that the reference names. Where there is
// nothing the error is ErrNotFound.
func (c *Client) FetchManifest(ctx context.Context, reference string) (manifest Blob, err error) {
	err = c.locked(ctx, reference, auth.ActionPull, func(ctx context.Context, s *session, ref registry.Reference) error {
		manifest, err = s.manifest(ctx, ref)
		return err
	})
	if err != nil {
		return Blob{}, artifactError("fetching the manifest of", reference, err)
	}
	return manifest, nil
}

func (s *session) manifest(ctx context.Context, ref registry.Reference) (Blob, error) {
	ctx, cancel := s.client.limited(ctx)
	defer cancel()
	d, body, err := s.repository(ref.Repository).Manifests().FetchReference(ctx, ref.Reference)
	if err != nil {
		return Blob{}, s.client.explain(ctx, err)
	}
	defer body.Close()
	data, err := io.ReadAll(io.LimitReader(body, maxArtifactManifest+1))
	if err != nil {
		return Blob{}, s.client.explain(ctx, err)
	}
	if len(data) > maxArtifactManifest {
		return Blob{}, &AnswerError{fmt.Sprintf("the manifest has more than %d bytes", maxArtifactManifest)}
	}
	want := d.Digest
	if pinned, err := digest.Parse(ref.Reference); err == nil {
		want = pinned // whatever the registry says it has
	}
	if got := digest.FromBytes(data); got != want {
		return Blob{}, &AnswerError{fmt.Sprintf("the manifest has the digest %s, wanted is %s", got, want)}
	}
	return Blob{Descriptor: ocispec.Descriptor{MediaType: d.MediaType, Digest: want, Size: int64(len(data))}, Data: data}, nil
}

// FetchBlob fetches a blob of a repository, HOST/PATH, and checks its size and digest. The caller says
// by the descriptor how much is read into memory.
func (c *Client) FetchBlob(ctx context.Context, repository string, d ocispec.Descriptor) (data []byte, err error) {
	err = c.locked(ctx, repository, auth.ActionPull, func(ctx context.Context, s *session, ref registry.Reference) error {
		data, err = s.blob(ctx, ref.Repository, d)
		return err
	})
	if err != nil {
		return nil, artifactError("fetching", repository+"@"+d.Digest.String(), err)
	}
	return data, nil
}

func (s *session) blob(ctx context.Context, repository string, d ocispec.Descriptor) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := s.client.opts.StallLimit
	watchdog := time.AfterFunc(limit, func() {
		cancel(&StallError{Waiting: "no byte of the download moved", Limit: limit})
	})
	defer watchdog.Stop()
	body, err := s.repository(repository).Blobs().Fetch(ctx, d)
	if err != nil {
		return nil, s.client.explain(ctx, err)
	}
	defer body.Close()
	data, err := content.ReadAll(&moving{body, watchdog, limit}, d)
	if errors.Is(err, content.ErrMismatchedDigest) || errors.Is(err, content.ErrTrailingData) {
		return nil, &AnswerError{err.Error()}
	}
	return data, s.client.explain(ctx, err)
}

// moving puts a watchdog off with every read.
type moving struct {
	r        io.Reader
	watchdog *time.Timer
	limit    time.Duration
}

func (m *moving) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.watchdog.Reset(m.limit)
	return n, err
}

// PushArtifact pushes blobs and then the manifest that names them, under a reference. What the registry
// has already is not sent again.
func (c *Client) PushArtifact(ctx context.Context, reference string, manifest Blob, blobs ...Blob) error {
	err := c.locked(ctx, reference, auth.ActionPush, func(ctx context.Context, s *session, ref registry.Reference) error {
		for _, b := range blobs {
			if err := s.place(ctx, ref.Repository, b); err != nil {
				return fmt.Errorf("blob %s: %w", b.Digest, err)
			}
		}
		ctx, cancel := s.client.limited(ctx)
		defer cancel()
		err := s.repository(ref.Repository).Manifests().PushReference(ctx, manifest.Descriptor, bytes.NewReader(manifest.Data), ref.Reference)
		return s.client.explain(ctx, err)
	})
	if err != nil {
		return artifactError("pushing", reference, err)
	}
	return nil
}

// place uploads a blob that a repository lacks.
func (s *session) place(ctx context.Context, repository string, b Blob) error {
	there, err := s.hasBlob(ctx, repository, b.Descriptor)
	if err != nil || there {
		return err
	}
	return s.upload(ctx, repository, b.Descriptor, bytes.NewReader(b.Data))
}

func (s *session) hasBlob(ctx context.Context, repository string, d ocispec.Descriptor) (bool, error) {
	ctx, cancel := s.client.limited(ctx)
	defer cancel()
	there, err := s.repository(repository).Blobs().Exists(ctx, d)
	return there, s.client.explain(ctx, err)
}

// maxReferrers is how many manifests that refer to another are looked at.
const maxReferrers = 100

// Referrers are the manifests of a type that refer to the one under a reference, HOST/PATH@sha256:…, as
// the registry lists them, at most a hundred.
func (c *Client) Referrers(ctx context.Context, reference, artifactType string) (found []ocispec.Descriptor, err error) {
	err = c.locked(ctx, reference, auth.ActionPull, func(ctx context.Context, s *session, ref registry.Reference) error {
		ctx, cancel := s.client.limited(ctx)
		defer cancel()
		found = nil
		d := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: digest.Digest(ref.Reference)}
		err := s.referring(ref.Repository).Referrers(ctx, d, artifactType, func(page []ocispec.Descriptor) error {
			if found = append(found, page...); len(found) > maxReferrers {
				return &AnswerError{fmt.Sprintf("more than %d manifests refer to it", maxReferrers)}
			}
			return nil
		})
		return s.client.explain(ctx, err)
	})
	if err != nil && !errors.Is(err, errdef.ErrNotFound) {
		return nil, artifactError("listing what refers to", reference, err)
	}
	return found, nil
}

// locked does something about a reference in a session, again where that may help.
func (c *Client) locked(ctx context.Context, reference, action string, do func(context.Context, *session, registry.Reference) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	ref, err := c.locate(reference)
	if err != nil {
		return err
	}
	actions := []string{auth.ActionPull}
	if action != auth.ActionPull {
		actions = append(actions, action)
	}
	ctx = auth.AppendRepositoryScope(ctx, ref, actions...)
	return c.try(ctx, func() int { return 0 }, func(ctx context.Context, s *session) error { return do(ctx, s, ref) })
}
