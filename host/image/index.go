package image

import (
	"encoding/json"
	"fmt"
	"maps"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Index is images/index.json of a package: which reference is which manifest.
type Index struct {
	byName map[string]ocispec.Descriptor
	// Manifests are the descriptors in the order of the file.
	Manifests []ocispec.Descriptor
}

// ParseIndex reads images/index.json. Every descriptor in it must be one of an image or of an index
// of images, but it need not have a name.
func ParseIndex(data []byte) (Index, error) {
	var file ocispec.Index
	if err := json.Unmarshal(data, &file); err != nil {
		return Index{}, fmt.Errorf("reading the index of images: %w", err)
	}
	index := Index{byName: map[string]ocispec.Descriptor{}, Manifests: file.Manifests}
	for i, d := range file.Manifests {
		if err := check(d); err != nil {
			return Index{}, fmt.Errorf("reading the index of images: manifest %d: %w", i, err)
		}
		if !isManifest(d.MediaType) && !isIndex(d.MediaType) {
			return Index{}, fmt.Errorf("reading the index of images: manifest %d is of type %q, which is neither an image nor an index", i, d.MediaType)
		}
		if d.Size > MaxManifest {
			return Index{}, fmt.Errorf("reading the index of images: manifest %d claims %d bytes, a manifest may have %d", i, d.Size, int64(MaxManifest))
		}
		// Older packages have only the first of the two.
		for _, key := range []string{ocispec.AnnotationBaseImageName, ocispec.AnnotationRefName} {
			if name := d.Annotations[key]; name != "" {
				index.add(name, d)
			}
		}
	}
	return index, nil
}

// add takes the first descriptor of a name: all those of one reference are alike in what Zarf writes.
func (x Index) add(name string, d ocispec.Descriptor) {
	if ref, err := Parse(name); err == nil {
		name = ref.String()
	}
	if _, ok := x.byName[name]; !ok {
		x.byName[name] = d
	}
}

// Names are the manifests of all images by their references in full.
func (x Index) Names() map[string]ocispec.Descriptor { return maps.Clone(x.byName) }

// Find returns the manifest of an image. An image by digest is found only if the manifest is the one
// of that digest: under another one a registry would refuse it.
func (x Index) Find(ref Reference) (ocispec.Descriptor, error) {
	d, ok := x.byName[ref.String()]
	if !ok {
		return ocispec.Descriptor{}, fmt.Errorf("the package does not have image %q", ref)
	}
	if ref.Digest != "" && ref.Digest != d.Digest.String() {
		return ocispec.Descriptor{}, fmt.Errorf("the package has %s as image %q: create it again, with the digest of the image for its architecture or with that of the index", d.Digest, ref)
	}
	return d, nil
}
