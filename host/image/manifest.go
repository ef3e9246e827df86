package image

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// MaxManifest is how many bytes a manifest may have: what registries take at most.
const MaxManifest = 4 << 20

// BlobPath is where a package keeps a blob.
func BlobPath(d ocispec.Descriptor) string {
	return path.Join("images", "blobs", d.Digest.Algorithm().String(), d.Digest.Encoded())
}

// Manifest is what an image, or an index of images, consists of.
type Manifest struct {
	// Children are the manifests that an index names.
	Children []ocispec.Descriptor
	// Blobs are the configuration and the layers of an image, each once.
	Blobs []ocispec.Descriptor
}

// ParseManifest reads a manifest , the media type being that of its descriptor.
func ParseManifest(mediaType string, data []byte) (Manifest, error) {
	var file struct {
		Config    *ocispec.Descriptor  `json:"config"`
		Layers    []ocispec.Descriptor `json:"layers"`
		Manifests []ocispec.Descriptor `json:"manifests"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return Manifest{}, fmt.Errorf("reading a manifest: %w", err)
	}
	var m Manifest
	switch {
	case isIndex(mediaType):
		for _, d := range file.Manifests {
			if !isIndex(d.MediaType) && !isManifest(d.MediaType) {
				return Manifest{}, fmt.Errorf("reading an index: %s is of type %q, which is neither an image nor an index", d.Digest, d.MediaType)
			}
			if d.Size > MaxManifest {
				return Manifest{}, fmt.Errorf("reading an index: manifest %s claims %d bytes, a manifest may have %d", d.Digest, d.Size, int64(MaxManifest))
			}
		}
		m.Children = unique(file.Manifests)
	case isManifest(mediaType):
		if file.Config == nil {
			return Manifest{}, errors.New("reading a manifest: it has no configuration")
		}
		m.Blobs = unique(slices.Concat([]ocispec.Descriptor{*file.Config}, file.Layers))
	default:
		return Manifest{}, fmt.Errorf("reading a manifest: type %q is neither an image nor an index", mediaType)
	}
	for _, d := range slices.Concat(m.Children, m.Blobs) {
		if err := check(d); err != nil {
			return Manifest{}, fmt.Errorf("reading a manifest: %w", err)
		}
	}
	return m, nil
}

func unique(in []ocispec.Descriptor) []ocispec.Descriptor {
	var out []ocispec.Descriptor
	seen := map[string]bool{}
	for _, d := range in {
		if key := d.Digest.String(); !seen[key] {
			seen[key] = true
			out = append(out, d)
		}
	}
	return out
}

// check refuses a descriptor that could name something else than a blob.
func check(d ocispec.Descriptor) error {
	if err := d.Digest.Validate(); err != nil {
		return fmt.Errorf("digest %q: %w", d.Digest, err)
	}
	if d.Size < 0 {
		return fmt.Errorf("%s claims %d bytes", d.Digest, d.Size)
	}
	return nil
}

const (
	dockerManifest = "application/vnd.docker.distribution.manifest.v2+json"
	dockerIndex    = "application/vnd.docker.distribution.manifest.list.v2+json"
)

func isManifest(mediaType string) bool {
	return mediaType == ocispec.MediaTypeImageManifest || mediaType == dockerManifest
}

// IsIndex reports whether a descriptor is that of an index of images.
func IsIndex(d ocispec.Descriptor) bool { return isIndex(d.MediaType) }

func isIndex(mediaType string) bool {
	return mediaType == ocispec.MediaTypeImageIndex || mediaType == dockerIndex
}

// Foreign tells the layers that neither a package nor a registry needs to have: their manifest says
// where they are.
func Foreign(d ocispec.Descriptor) bool {
	return strings.HasPrefix(d.MediaType, "application/vnd.docker.image.rootfs.foreign.") ||
		strings.HasPrefix(d.MediaType, "application/vnd.oci.image.layer.nondistributable.")
}
