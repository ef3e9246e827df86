package packagetest

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"path"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Image is an image that nobody built. What is in its layers is noise, which no compression makes
// smaller: nothing runs in it.
type Image struct {
	// Reference is the name by which the definition names it, with its host.
	Reference string
	Layers    []Layer
	// Index makes it an index that names one image, as an image that is pinned by the digest of an
	// index is kept. The digests of both do not depend on a digest in the reference: see Digests.
	Index bool
}

// Digests are those of what the reference names and of the image in it, which differ if it is an index.
func (i Image) Digests() (root, image string, err error) {
	l := &imageLayout{seen: map[digest.Digest]bool{}}
	d, err := l.image(i)
	if err != nil {
		return "", "", err
	}
	alone := i
	alone.Index = false
	below, err := l.image(alone)
	return d.Digest.String(), below.Digest.String(), err
}

// Layer is Size bytes of noise. Layers with the same seed and size are the same.
type Layer struct {
	Seed byte
	Size int64
}

func (l Layer) open() io.Reader {
	return io.LimitReader(rand.NewChaCha8([32]byte{l.Seed, byte(l.Size), byte(l.Size >> 8), byte(l.Size >> 16)}), l.Size)
}

// ImageEntries are the files by which a package has images, for Options.Content. Layers are made as
// they are written, however large they are. Options.OmitImages goes with it: the definition names
// images that the builder does not know.
func ImageEntries(images ...Image) ([]Entry, error) {
	l := &imageLayout{seen: map[digest.Digest]bool{}}
	index := ocispec.Index{MediaType: ocispec.MediaTypeImageIndex}
	index.SchemaVersion = 2
	for _, img := range images {
		d, err := l.image(img)
		if err != nil {
			return nil, fmt.Errorf("making image %q: %w", img.Reference, err)
		}
		d.Annotations = map[string]string{ocispec.AnnotationBaseImageName: img.Reference, ocispec.AnnotationRefName: img.Reference}
		index.Manifests = append(index.Manifests, d)
	}
	data, err := json.Marshal(index)
	if err != nil {
		return nil, err
	}
	return append(l.entries,
		Entry{Name: "images/index.json", Mode: 0o600, Body: data},
		Entry{Name: "images/oci-layout", Mode: 0o600, Body: []byte(`{"imageLayoutVersion":"1.0.0"}`)},
	), nil
}

// imageLayout collects blobs, each once.
type imageLayout struct {
	entries []Entry
	seen    map[digest.Digest]bool
}

func (l *imageLayout) image(img Image) (ocispec.Descriptor, error) {
	name, _, _ := strings.Cut(img.Reference, "@")
	m := ocispec.Manifest{MediaType: ocispec.MediaTypeImageManifest}
	m.SchemaVersion = 2
	var err error
	if m.Config, err = l.json(ocispec.MediaTypeImageConfig, map[string]any{
		"architecture": "amd64", "os": "linux", "comment": name,
	}); err != nil {
		return ocispec.Descriptor{}, err
	}
	for _, layer := range img.Layers {
		d, err := l.layer(layer)
		if err != nil {
			return ocispec.Descriptor{}, err
		}
		m.Layers = append(m.Layers, d)
	}
	d, err := l.json(ocispec.MediaTypeImageManifest, m)
	if err != nil || !img.Index {
		return d, err
	}
	d.Platform = &ocispec.Platform{Architecture: "amd64", OS: "linux"}
	index := ocispec.Index{MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{d}}
	index.SchemaVersion = 2
	return l.json(ocispec.MediaTypeImageIndex, index)
}

func (l *imageLayout) layer(layer Layer) (ocispec.Descriptor, error) {
	sum, err := digest.FromReader(layer.open())
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	l.add(sum, Entry{Open: layer.open, Size: layer.Size, Sum: sum.Encoded()})
	return ocispec.Descriptor{MediaType: ocispec.MediaTypeImageLayerGzip, Digest: sum, Size: layer.Size}, nil
}

func (l *imageLayout) json(mediaType string, v any) (ocispec.Descriptor, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	sum := digest.FromBytes(data)
	l.add(sum, Entry{Body: data})
	return ocispec.Descriptor{MediaType: mediaType, Digest: sum, Size: int64(len(data))}, nil
}

func (l *imageLayout) add(sum digest.Digest, e Entry) {
	if l.seen[sum] {
		return
	}
	l.seen[sum] = true
	e.Name, e.Mode = path.Join("images/blobs/sha256", sum.Encoded()), 0o600
	l.entries = append(l.entries, e)
}
