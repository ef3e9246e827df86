package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"
	"oras.land/oras-go/v2/registry"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/image"
)

// imageTypes are the manifests that are asked for where an image is wanted.
const imageTypes = "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, " +
	"application/vnd.docker.distribution.manifest.list.v2+json, application/vnd.docker.distribution.manifest.v2+json"

// BlobStore keeps blobs by their digest.
type BlobStore interface {
	// Has reports whether the store has a blob, whole and unspoilt.
	Has(ctx context.Context, d digest.Digest, size int64) (bool, error)
	// Put adds a blob, or fails if it is not what its digest and size say.
	Put(ctx context.Context, d digest.Digest, size int64, content io.Reader) error
}

// Images pulls images from registries. It may be used by several goroutines at once. Close it.
type Images struct {
	opts Options

	mu    sync.Mutex
	known map[string]*repository // by host and path
}

// NewImages returns what pulls images. It connects to nothing yet.
func NewImages(o Options) *Images {
	return &Images{opts: o.withDefaults(), known: map[string]*repository{}}
}

// Close ends the connections that are idle.
func (i *Images) Close() error {
	for _, r := range i.known {
		_ = r.Close() // it never fails
	}
	return nil
}

// repository is the one that a reference is in.
func (i *Images) repository(ctx context.Context, ref image.Reference) (*repository, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if r := i.known[ref.Name()]; r != nil {
		return r, nil
	}
	r, err := dialRepository(ctx, registry.Reference{Registry: ref.Host, Repository: ref.Path}, nil, i.opts)
	if err != nil {
		return nil, err
	}
	r.accept = imageTypes
	i.known[ref.Name()] = r
	return r, nil
}

// PlatformError says that an image is there, but not for an architecture.
type PlatformError struct {
	Image     string
	Wanted    string
	Available []string
}

func (e *PlatformError) Error() string {
	return fmt.Sprintf("image %q is not there for linux/%s, only for %s", e.Image, e.Wanted, strings.Join(e.Available, ", "))
}

// Hint says what to do about it.
func (e *PlatformError) Hint() string {
	return "build for another architecture with --architecture, or let only.cluster.architecture leave the component out"
}

// Resolve asks what a reference stands for: a manifest. Of an index of images it is that of the image
// for an architecture, unless the index itself is what the reference pins by its digest.
func (i *Images) Resolve(ctx context.Context, ref image.Reference, architecture string) (ocispec.Descriptor, error) {
	r, err := i.repository(ctx, ref)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	name := ref.Tag
	if ref.Digest != "" {
		name = ref.Digest
	}
	mediaType, data, err := r.fetchManifest(ctx, name)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	d := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}
	m, err := image.ParseManifest(mediaType, data)
	if err != nil || !image.IsIndex(d) || ref.Digest != "" {
		return d, err
	}
	return choose(ref, architecture, m.Children)
}

// choose finds the image for an architecture among those of an index.
func choose(ref image.Reference, architecture string, children []ocispec.Descriptor) (ocispec.Descriptor, error) {
	var found []ocispec.Descriptor
	missing := &PlatformError{Image: ref.String(), Wanted: architecture}
	for _, d := range children {
		switch {
		case d.Platform == nil || d.Platform.OS == "unknown": // an attestation, or something else that does not run
		case d.Platform.OS == "linux" && d.Platform.Architecture == architecture:
			found = append(found, d)
		default:
			missing.Available = append(missing.Available, strings.TrimSuffix(d.Platform.OS+"/"+d.Platform.Architecture+"/"+d.Platform.Variant, "/"))
		}
	}
	if len(found) == 0 {
		return ocispec.Descriptor{}, missing
	}
	// The oldest variant runs everywhere.
	slices.SortStableFunc(found, func(a, b ocispec.Descriptor) int { return strings.Compare(a.Platform.Variant, b.Platform.Variant) })
	d := found[0]
	return ocispec.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size, Platform: d.Platform}, nil
}

// PullError says which image could not be pulled.
type PullError struct {
	Image image.Reference
	Err   error
}

func (e *PullError) Error() string { return fmt.Sprintf("pulling image %q: %v", e.Image, e.Err) }

// Unwrap returns the cause.
func (e *PullError) Unwrap() error { return e.Err }

// Pulled is a manifest and a reference in whose repository it is.
type Pulled struct {
	From     image.Reference
	Manifest ocispec.Descriptor
}

// Pull brings everything that manifests consist of into a store, each blob once; layers that a registry
// need not have are left out. It is a *PullError if an image is not to be had.
func (i *Images) Pull(ctx context.Context, images []Pulled, store BlobStore, concurrency int) error {
	if concurrency <= 0 {
		concurrency = 6
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrency)
	p := &pull{images: i, store: store, group: group, seen: map[digest.Digest]bool{}}
	for _, img := range images {
		if err := p.manifest(ctx, img.From, img.Manifest); err != nil {
			failed := group.Wait() // what began has to end
			if ctx.Err() != nil && failed != nil {
				return failed // it was this that ended the rest
			}
			return &PullError{img.From, err}
		}
	}
	return group.Wait()
}

type pull struct {
	images *Images
	store  BlobStore
	group  *errgroup.Group
	seen   map[digest.Digest]bool
}

// manifest fetches a manifest and has what it names fetched.
func (p *pull) manifest(ctx context.Context, from image.Reference, d ocispec.Descriptor) error {
	if p.seen[d.Digest] {
		return nil
	}
	p.seen[d.Digest] = true
	if d.Size > image.MaxManifest {
		return fmt.Errorf("its manifest claims %d bytes, a manifest may have %d", d.Size, int64(image.MaxManifest))
	}
	r, err := p.images.repository(ctx, from)
	if err != nil {
		return err
	}
	_, data, err := r.fetchManifest(ctx, d.Digest.String())
	if err != nil {
		return err
	}
	m, err := image.ParseManifest(d.MediaType, data)
	if err != nil {
		return err
	}
	if err := p.store.Put(ctx, d.Digest, d.Size, strings.NewReader(string(data))); err != nil {
		return err
	}
	for _, blob := range m.Blobs {
		if p.seen[blob.Digest] || image.Foreign(blob) {
			continue
		}
		p.seen[blob.Digest] = true
		p.group.Go(func() error {
			if err := p.blob(ctx, r, blob); err != nil {
				return &PullError{from, err}
			}
			return nil
		})
	}
	for _, child := range m.Children {
		if err := p.manifest(ctx, from, child); err != nil {
			return err
		}
	}
	return nil
}

func (p *pull) blob(ctx context.Context, r *repository, d ocispec.Descriptor) error {
	if has, err := p.store.Has(ctx, d.Digest, d.Size); has || err != nil {
		return err
	}
	in := r.download(ctx, "blobs", d.Digest.String())
	in.file, in.size = "blob "+d.Digest.String(), d.Size
	defer func() { _ = in.Close() }() // only read from
	err := p.store.Put(ctx, d.Digest, d.Size, in)
	var refused *bundle.RefusedError
	if errors.As(err, &refused) { // it speaks of packages
		return errors.New(refused.Reason)
	}
	return err
}
