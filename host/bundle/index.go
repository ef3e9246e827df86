package bundle

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// PutManifest returns the index of a tag with the manifest of a package for an architecture in it, in
// place of the one that was there. An empty index makes a new one. What else it has stays.
func PutManifest(index []byte, manifest string, size int64, architecture string) ([]byte, error) {
	parsed := ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: IndexMediaType}
	if len(index) > 0 {
		if err := json.Unmarshal(index, &parsed); err != nil {
			return nil, fmt.Errorf("reading the index of the tag: %w", err)
		}
	}
	sum, ok := strings.CutPrefix(manifest, "sha256:")
	if !ok || !isSHA256(sum) {
		return nil, fmt.Errorf("%q is no digest of a manifest", manifest)
	}
	entry := ocispec.Descriptor{
		MediaType: ManifestMediaType, Digest: digest.Digest(manifest), Size: size,
		Platform: &ocispec.Platform{OS: packageOS, Architecture: architecture},
	}
	kept := parsed.Manifests[:0:0]
	placed := false
	for _, d := range parsed.Manifests {
		if d.Platform == nil || d.Platform.OS != packageOS || d.Platform.Architecture != architecture {
			kept = append(kept, d)
			continue
		}
		if !placed {
			kept, placed = append(kept, entry), true
		}
	}
	if !placed {
		kept = append(kept, entry)
	}
	parsed.Manifests = kept
	return json.Marshal(parsed)
}

// HasManifest reports whether an index names a manifest for an architecture.
func HasManifest(index []byte, manifest, architecture string) bool {
	found, _, err := FindManifest(index, architecture)
	return err == nil && found == manifest
}
