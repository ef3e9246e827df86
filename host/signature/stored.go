package signature

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Tag is the tag under which a registry keeps the signatures of the manifest with a digest, in the form
// of cosign 2, in the same repository.
func Tag(digest string) string { return strings.Replace(digest, ":", "-", 1) + ".sig" }

// Layers are the signatures that a manifest under such a tag names: each a payload, with its signature
// in the annotation. Those that are too large to be one are left out.
func Layers(manifest []byte) ([]ocispec.Descriptor, error) {
	m, err := parseStored(manifest)
	if err != nil {
		return nil, err
	}
	var out []ocispec.Descriptor
	for _, l := range m.Layers {
		if l.MediaType == PayloadMediaType && l.Size >= 0 && l.Size <= MaxPayload && l.Annotations[Annotation] != "" && l.Digest.Validate() == nil {
			out = append(out, l)
		}
	}
	return out, nil
}

// Bundles are the layers that hold a bundle in the manifest of an artifact of type BundleMediaType, the
// form of cosign 3.
func Bundles(manifest []byte) ([]ocispec.Descriptor, error) {
	m, err := parseStored(manifest)
	if err != nil {
		return nil, err
	}
	var out []ocispec.Descriptor
	for _, l := range m.Layers {
		if IsBundle(l.MediaType) && l.Size >= 0 && l.Size <= MaxPayload && l.Digest.Validate() == nil {
			out = append(out, l)
		}
	}
	return out, nil
}

func parseStored(manifest []byte) (ocispec.Manifest, error) {
	var m ocispec.Manifest
	if err := json.Unmarshal(manifest, &m); err != nil {
		return m, fmt.Errorf("reading the manifest of a signature: %w", err)
	}
	return m, nil
}

// Stored is what a registry has to hold for a signature: two blobs and the manifest that names them.
type Stored struct {
	Payload, Config, Manifest             ocispec.Descriptor
	PayloadData, ConfigData, ManifestData []byte
}

// Store adds a signature to those that a registry keeps already, whose manifest is existing, or nil.
func Store(existing []byte, s Signed) (Stored, error) {
	m := ocispec.Manifest{}
	if existing != nil {
		var err error
		if m, err = parseStored(existing); err != nil {
			return Stored{}, err
		}
	}
	out := Stored{PayloadData: s.Payload, Payload: describe(PayloadMediaType, s.Payload)}
	out.Payload.Annotations = map[string]string{Annotation: s.Signature}
	if !slices.ContainsFunc(m.Layers, func(l ocispec.Descriptor) bool {
		return l.Digest == out.Payload.Digest && l.Annotations[Annotation] == s.Signature
	}) {
		m.Layers = append(m.Layers, out.Payload)
	}
	image := ocispec.Image{RootFS: ocispec.RootFS{Type: "layers"}}
	for _, l := range m.Layers {
		image.RootFS.DiffIDs = append(image.RootFS.DiffIDs, l.Digest)
	}
	var err error
	if out.ConfigData, err = json.Marshal(image); err != nil {
		return Stored{}, fmt.Errorf("writing the manifest of a signature: %w", err)
	}
	out.Config = describe(ocispec.MediaTypeImageConfig, out.ConfigData)
	m.Versioned, m.MediaType, m.Config = specs.Versioned{SchemaVersion: 2}, ocispec.MediaTypeImageManifest, out.Config
	if out.ManifestData, err = json.Marshal(m); err != nil {
		return Stored{}, fmt.Errorf("writing the manifest of a signature: %w", err)
	}
	out.Manifest = describe(ocispec.MediaTypeImageManifest, out.ManifestData)
	return out, nil
}

func describe(mediaType string, data []byte) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}
}
