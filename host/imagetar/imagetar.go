// Package imagetar reads images from the archives that docker save, podman save and their like write:
// tars of an OCI layout, or of Docker's older form, compressed or not. It is an effect: it
// knows a file on disk, and trusts nothing in it: what a blob is, its digest says.
package imagetar

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/zarf-host/zarf-host/host/image"
)

// Store keeps blobs by their digest.
type Store interface {
	// Put adds a blob, or fails if it is not what its digest and size say.
	Put(ctx context.Context, d digest.Digest, size int64, content io.Reader) error
}

const (
	indexFile  = "index.json"
	dockerFile = "manifest.json"
	// containerdName is where Docker and containerd write an image's full name.
	containerdName = "io.containerd.image.name"
)

// MissingError says that an archive does not have an image.
type MissingError struct {
	Image string
	Has   []string
}

func (e *MissingError) Error() string {
	if len(e.Has) == 0 {
		return fmt.Sprintf("the archive does not have image %q, nor any with a name", e.Image)
	}
	return fmt.Sprintf("the archive does not have image %q; it has %s", e.Image, strings.Join(e.Has, ", "))
}

// Read brings an image, and all that it consists of, from an archive into a store, and returns its
// manifest. Of an index of images it is that of the image for an architecture.
func Read(ctx context.Context, file string, ref image.Reference, architecture string, store Store) (ocispec.Descriptor, error) {
	a := archive{ctx: ctx, file: file}
	tops, err := a.read(indexFile, dockerFile)
	if err != nil {
		return ocispec.Descriptor{}, fmt.Errorf("reading image archive %q: %w", file, err)
	}
	var d ocispec.Descriptor
	switch {
	case tops[indexFile] != nil:
		d, err = a.fromLayout(tops[indexFile], ref, architecture, store)
	case tops[dockerFile] != nil:
		d, err = a.fromDocker(ref, store)
	default:
		err = errors.New("it has neither an index.json nor a manifest.json")
	}
	if err != nil {
		return d, fmt.Errorf("reading image archive %q: %w", file, err)
	}
	return d, nil
}

// archive is a tar on disk, which is read from its beginning each time.
type archive struct {
	ctx  context.Context // of one call of Read
	file string
}

// open opens the tar, whatever it is compressed with.
func (a archive) open() (io.ReadCloser, error) {
	f, err := os.Open(a.file)
	if err != nil {
		return nil, err
	}
	in := bufio.NewReaderSize(f, 1<<20)
	head, _ := in.Peek(4) // what is shorter is no archive, as reading it shows
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return closing{z, f.Close}, nil
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(in, zstd.WithDecoderMaxWindow(128<<20))
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return closing{z, func() error { z.Close(); return f.Close() }}, nil
	}
	return closing{in, f.Close}, nil
}

type closing struct {
	io.Reader
	close func() error
}

func (c closing) Close() error { return c.close() }

// each hands the wanted files to fn as they come by.
func (a archive) each(wanted func(name string) bool, fn func(name string, size int64, r io.Reader) error) error {
	in, err := a.open()
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read from
	for t := tar.NewReader(in); ; {
		if err := a.ctx.Err(); err != nil {
			return context.Cause(a.ctx)
		}
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if name := path.Clean(h.Name); h.Typeflag == tar.TypeReg && wanted(name) {
			if err := fn(name, h.Size, t); err != nil {
				return err
			}
		}
	}
}

// read returns small files.
func (a archive) read(names ...string) (map[string][]byte, error) {
	out := map[string][]byte{}
	err := a.each(func(name string) bool { return slices.Contains(names, name) }, func(name string, size int64, r io.Reader) error {
		if size > image.MaxManifest {
			return fmt.Errorf("%s has %d bytes, allowed are %d", name, size, int64(image.MaxManifest))
		}
		data, err := io.ReadAll(r)
		out[name] = data
		return err
	})
	return out, err
}

// fromLayout reads an image of an OCI layout.
func (a archive) fromLayout(index []byte, ref image.Reference, architecture string, store Store) (ocispec.Descriptor, error) {
	top, err := image.ParseIndex(index)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	d, err := find(top.Manifests, ref)
	if err != nil {
		return d, err
	}
	for image.IsIndex(d) && ref.Digest == "" {
		m, err := a.manifest(d, store, false)
		if err != nil {
			return d, err
		}
		i := slices.IndexFunc(m.Children, func(c ocispec.Descriptor) bool {
			return image.IsIndex(c) || c.Platform != nil && c.Platform.OS == "linux" && c.Platform.Architecture == architecture
		})
		if i < 0 {
			return d, fmt.Errorf("image %q is not there for linux/%s", ref, architecture)
		}
		d = m.Children[i]
	}
	return ocispec.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size, Platform: d.Platform}, a.bring(d, store)
}

// find finds the manifest of an image by the names that tools write beside it. A tag alone is enough
// where only one image has it.
func find(manifests []ocispec.Descriptor, ref image.Reference) (ocispec.Descriptor, error) {
	var tagged []ocispec.Descriptor
	missing := &MissingError{Image: ref.String()}
	for _, d := range manifests {
		if ref.Digest != "" && d.Digest.String() == ref.Digest {
			return d, nil
		}
		for _, key := range []string{containerdName, ocispec.AnnotationBaseImageName, ocispec.AnnotationRefName} {
			name := d.Annotations[key]
			if name == "" {
				continue
			}
			missing.Has = append(missing.Has, name)
			if parsed, err := image.Parse(name); err == nil && parsed == ref {
				return d, nil
			}
			if key == ocispec.AnnotationRefName && name == ref.Tag {
				tagged = append(tagged, d)
			}
		}
	}
	if len(tagged) == 1 && len(manifests) == 1 {
		return tagged[0], nil
	}
	return ocispec.Descriptor{}, missing
}

func blobFile(d ocispec.Descriptor) string {
	return path.Join("blobs", d.Digest.Algorithm().String(), d.Digest.Encoded())
}

// manifest reads a manifest, and keeps it if it is wanted.
func (a archive) manifest(d ocispec.Descriptor, store Store, keep bool) (image.Manifest, error) {
	files, err := a.read(blobFile(d))
	if err != nil {
		return image.Manifest{}, err
	}
	data := files[blobFile(d)]
	if data == nil {
		return image.Manifest{}, fmt.Errorf("manifest %s is not in it", d.Digest)
	}
	if digest.FromBytes(data) != d.Digest {
		return image.Manifest{}, fmt.Errorf("manifest %s is something else", d.Digest)
	}
	m, err := image.ParseManifest(d.MediaType, data)
	if err == nil && keep {
		err = store.Put(a.ctx, d.Digest, d.Size, bytes.NewReader(data))
	}
	return m, err
}

// bring puts everything that a manifest consists of into the store.
func (a archive) bring(d ocispec.Descriptor, store Store) error {
	m, err := a.manifest(d, store, true)
	if err != nil {
		return err
	}
	wanted := map[string]ocispec.Descriptor{}
	for _, blob := range m.Blobs {
		if !image.Foreign(blob) {
			wanted[blobFile(blob)] = blob
		}
	}
	err = a.each(func(name string) bool { _, ok := wanted[name]; return ok }, func(name string, _ int64, r io.Reader) error {
		blob := wanted[name]
		delete(wanted, name)
		return store.Put(a.ctx, blob.Digest, blob.Size, r)
	})
	if err != nil {
		return err
	}
	for _, missing := range wanted {
		return fmt.Errorf("blob %s of the image is not in it", missing.Digest)
	}
	for _, child := range m.Children {
		if err := a.bring(child, store); err != nil {
			return err
		}
	}
	return nil
}
