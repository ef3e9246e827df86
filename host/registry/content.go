package registry

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/image"
)

const (
	indexPath = "images/index.json"
	// maxIndex bounds images/index.json, which has some 500 bytes for each image.
	maxIndex = 32 << 20
	// keepable is the size up to which a blob is kept when manifests are read: manifests of an index
	// and configurations are below it, and would each take another walk.
	keepable = 256 << 10
	// keptBytes bounds all that is kept, manifests apart.
	keptBytes = 8 << 20
	// maxDepth bounds how deep indexes may name indexes.
	maxDepth = 4
)

// BlobSource is what content is read from. A *bundle.Bundle is one.
type BlobSource interface {
	// Files are all the files there are.
	Files() []bundle.File
	// Walk hands the files that want asks for to fn, in an order of its own. A reader ends with an
	// error in place of io.EOF if its bytes are not those that Files vouches for.
	Walk(ctx context.Context, want func(path string) bool, fn func(f bundle.File, r io.Reader) error) error
}

// Content is what a package has of images. It may be used by several pushes, but by one at a time.
type Content struct {
	source BlobSource
	files  map[string]bundle.File
	index  image.Index

	mu    sync.Mutex
	kept  map[digest.Digest][]byte // manifests, and other small blobs
	trees map[digest.Digest]*tree
}

// tree is everything that an image, or an index of images, consists of.
type tree struct {
	manifests []ocispec.Descriptor // children before those that name them: the root is the last
	blobs     []ocispec.Descriptor
}

// ReadContent reads the index of the images in a package. A package without images has none of them.
func ReadContent(ctx context.Context, source BlobSource) (*Content, error) {
	c := &Content{source: source, files: map[string]bundle.File{}, kept: map[digest.Digest][]byte{}, trees: map[digest.Digest]*tree{}}
	for _, f := range source.Files() {
		c.files[f.Path] = f
	}
	f, ok := c.files[indexPath]
	if !ok {
		return c, nil
	}
	if f.Size > maxIndex {
		return nil, fmt.Errorf("reading %s: it has %d bytes, allowed are %d", indexPath, f.Size, int64(maxIndex))
	}
	var data []byte
	err := source.Walk(ctx, func(path string) bool { return path == indexPath }, func(_ bundle.File, r io.Reader) (err error) {
		data, err = io.ReadAll(r)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", indexPath, err)
	}
	c.index, err = image.ParseIndex(data)
	return c, err
}

// Find returns the manifest of an image; it is an error if the package does not have the image.
func (c *Content) Find(ref image.Reference) (ocispec.Descriptor, error) { return c.index.Find(ref) }

// Size is how many bytes an image has, with all that it consists of. The first call may have to walk
// through the package.
func (c *Content) Size(ctx context.Context, ref image.Reference) (int64, error) {
	root, err := c.index.Find(ref)
	if err != nil {
		return 0, err
	}
	if err := c.load(ctx, root); err != nil {
		return 0, err
	}
	return c.trees[root.Digest].size(), nil
}

func (t *tree) size() (sum int64) {
	for _, d := range slices.Concat(t.manifests, t.blobs) {
		sum += d.Size
	}
	return sum
}

// load makes the trees of manifests that it does not know yet. It walks through the package as often
// as indexes are deep, and not at all where the source has the manifests at hand.
func (c *Content) load(ctx context.Context, roots ...ocispec.Descriptor) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for range maxDepth + 1 {
		missing := map[string]ocispec.Descriptor{}
		for _, root := range roots {
			if err := c.grow(root, missing); err != nil {
				return &contentError{root: root.Digest, err: err}
			}
		}
		if len(missing) == 0 {
			return nil
		}
		if err := c.keep(ctx, missing); err != nil {
			return fmt.Errorf("reading the manifests of images: %w", err)
		}
	}
	return fmt.Errorf("reading the manifests of images: indexes name indexes more than %d deep", maxDepth)
}

// grow makes the tree of a root if all its manifests are there; those that are not it adds to missing.
func (c *Content) grow(root ocispec.Descriptor, missing map[string]ocispec.Descriptor) error {
	if c.trees[root.Digest] != nil {
		return nil
	}
	t, seen, complete := &tree{}, map[digest.Digest]bool{}, true
	var visit func(d ocispec.Descriptor, depth int) error
	visit = func(d ocispec.Descriptor, depth int) error {
		if seen[d.Digest] {
			return nil
		}
		seen[d.Digest] = true
		if depth > maxDepth {
			return fmt.Errorf("index %s names indexes more than %d deep", root.Digest, maxDepth)
		}
		f, ok := c.file(d)
		if !ok {
			return fmt.Errorf("the package lacks manifest %s", d.Digest)
		}
		if f.Size != d.Size {
			return fmt.Errorf("manifest %s has %d bytes in the package, and not the %d that its index says", d.Digest, f.Size, d.Size)
		}
		data, ok := c.kept[d.Digest]
		if !ok {
			missing[f.Path], complete = d, false
			return nil
		}
		m, err := image.ParseManifest(d.MediaType, data)
		if err != nil {
			return fmt.Errorf("manifest %s: %w", d.Digest, err)
		}
		for _, child := range m.Children {
			if err := visit(child, depth+1); err != nil {
				return err
			}
		}
		for _, blob := range m.Blobs {
			if seen[blob.Digest] {
				continue
			}
			seen[blob.Digest] = true
			f, ok := c.file(blob)
			if ok && f.Size != blob.Size {
				return fmt.Errorf("blob %s has %d bytes in the package, and not the %d that its manifest says", blob.Digest, f.Size, blob.Size)
			}
			if ok || !image.Foreign(blob) {
				t.blobs = append(t.blobs, blob)
			}
		}
		t.manifests = append(t.manifests, d)
		return nil
	}
	if err := visit(root, 0); err != nil {
		return err
	}
	if complete {
		c.trees[root.Digest] = t
	}
	return nil
}

// keep reads the missing manifests, and whatever else is small and comes by.
func (c *Content) keep(ctx context.Context, missing map[string]ocispec.Descriptor) error {
	wanted := map[string]digest.Digest{}
	for path, d := range missing {
		wanted[path] = d.Digest
	}
	left := int64(keptBytes)
	for _, data := range c.kept {
		left -= int64(len(data))
	}
	want := func(f bundle.File) {
		d := digest.NewDigestFromEncoded(digest.SHA256, f.SHA256)
		_, kept := c.kept[d]
		_, listed := wanted[f.Path]
		if kept || listed || f.Path != image.BlobPath(ocispec.Descriptor{Digest: d}) || f.Size > keepable || f.Size > left {
			return
		}
		wanted[f.Path] = d
		left -= f.Size
	}
	// Those of other images come first: the next component asks for them.
	for _, d := range c.index.Manifests {
		if f, ok := c.file(d); ok {
			want(f)
		}
	}
	for _, f := range c.files {
		want(f)
	}
	return c.source.Walk(ctx, func(path string) bool { _, ok := wanted[path]; return ok }, func(f bundle.File, r io.Reader) error {
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		c.kept[wanted[f.Path]] = data
		return nil
	})
}

// file is where the package has a blob. The name of the file is only believed where its checksum,
// which the package vouches for, agrees.
func (c *Content) file(d ocispec.Descriptor) (bundle.File, bool) {
	if d.Digest.Algorithm() != digest.SHA256 {
		return bundle.File{}, false
	}
	f, ok := c.files[image.BlobPath(d)]
	return f, ok && f.SHA256 == d.Digest.Encoded()
}

// contentError says which image of a package cannot be used, by its manifest.
type contentError struct {
	root digest.Digest
	err  error
}

func (e *contentError) Error() string { return e.err.Error() }
func (e *contentError) Unwrap() error { return e.err }

// sourceError says that the package, not the registry, is what failed: trying again is no use.
type sourceError struct{ err error }

func (e *sourceError) Error() string { return e.err.Error() }
func (e *sourceError) Unwrap() error { return e.err }
