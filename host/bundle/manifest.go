package bundle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The media types under which registries have packages.
const (
	// IndexMediaType is that of the index which a tag stands for: one manifest for each architecture.
	IndexMediaType = "application/vnd.oci.image.index.v1+json"
	// ManifestMediaType is that of the manifest of a package.
	ManifestMediaType = "application/vnd.oci.image.manifest.v1+json"

	configMediaType = "application/vnd.zarf.config.v1+json"
	layerMediaType  = "application/vnd.zarf.layer.v1.blob"
)

// packageOS is the operating system that the index entries of packages name.
const packageOS = "multi"

// SkeletonArchitecture is the one that index entries of packages without images name, which other
// packages import from.
const SkeletonArchitecture = "skeleton"

// What errors call what a registry has beside the files of a package.
const (
	manifestName = "manifest"
	indexName    = "index"
)

// parseManifest reads the files that a published package consists of, by the manifest that Zarf
// writes. They are sorted as it has them.
func parseManifest(data []byte, limits Limits) ([]File, error) {
	var m manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, &RefusedError{File: manifestName, Reason: "not an OCI manifest", Err: err}
	}
	if m.SchemaVersion != 2 || m.MediaType != ManifestMediaType {
		return nil, refuse(manifestName, "has the media type %q, not %q", m.MediaType, ManifestMediaType)
	}
	if m.Config.MediaType != configMediaType {
		return nil, refuse(manifestName, "its config has the media type %q, not %q: this is no Zarf package", m.Config.MediaType, configMediaType)
	}
	seen := newNames(limits, "")
	files := make([]File, 0, len(m.Layers))
	var total int64
	for i, layer := range m.Layers {
		f, reason := layerFile(layer, seen)
		if reason == "" {
			if total += f.Size; f.Size > limits.Bytes || total > limits.Bytes {
				reason = fmt.Sprintf("the package holds more than the allowed %d bytes", limits.Bytes)
			}
		}
		if reason != "" {
			name := layer.Annotations[annotation+"title"]
			if name == "" {
				name = fmt.Sprintf("%s: layer %d", manifestName, i)
			}
			return nil, &RefusedError{File: name, Reason: reason}
		}
		files = append(files, f)
	}
	return files, nil
}

// layerFile is the file that a layer is, or the reason to refuse it.
func layerFile(layer descriptor, seen *names) (f File, reason string) {
	title := layer.Annotations[annotation+"title"]
	if title == "" {
		return f, "layer without a title, which would be its path"
	}
	clean, reason := seen.add(title, false)
	if reason == "" {
		reason = plainName(title)
	}
	sum, isSHA := strings.CutPrefix(layer.Digest, "sha256:")
	switch {
	case reason != "":
		return f, reason
	case clean != title:
		return f, "path is not in its shortest form"
	case layer.MediaType != layerMediaType:
		return f, fmt.Sprintf("layer of the media type %q, not %q", layer.MediaType, layerMediaType)
	case !isSHA || !isSHA256(sum):
		return f, fmt.Sprintf("layer with the digest %q, not a sha256", layer.Digest)
	case layer.Size < 0:
		return f, fmt.Sprintf("layer of %d bytes", layer.Size)
	}
	return File{Path: title, Size: layer.Size, SHA256: sum}, ""
}

// ArchitectureError says that a reference has no package for an architecture.
type ArchitectureError struct {
	Wanted    string
	Available []string
}

// Error names both.
func (e *ArchitectureError) Error() string {
	if len(e.Available) == 0 {
		return "it has no Zarf package of any architecture"
	}
	return fmt.Sprintf("it has no package for architecture %q, only for %s", e.Wanted, strings.Join(e.Available, ", "))
}

// Hint says how another one is chosen.
func (e *ArchitectureError) Hint() string {
	if len(e.Available) == 0 {
		return "it may be a container image: packages are published with `zarf package publish`"
	}
	return "choose another one with --architecture " + e.Available[0]
}

// FindManifest reads an OCI index and returns digest and size of the manifest of the package for an
// architecture. It is an *ArchitectureError if there is none.
func FindManifest(index []byte, architecture string) (digest string, size int64, err error) {
	var parsed struct {
		SchemaVersion int    `json:"schemaVersion"`
		MediaType     string `json:"mediaType"`
		Manifests     []struct {
			descriptor
			Platform struct {
				OS           string `json:"os"`
				Architecture string `json:"architecture"`
			} `json:"platform"`
		} `json:"manifests"`
	}
	if err := json.Unmarshal(index, &parsed); err != nil {
		return "", 0, &RefusedError{File: indexName, Reason: "not an OCI index", Err: err}
	}
	if parsed.SchemaVersion != 2 || parsed.MediaType != "" && parsed.MediaType != IndexMediaType {
		return "", 0, refuse(indexName, "has the media type %q, not %q", parsed.MediaType, IndexMediaType)
	}
	missing := &ArchitectureError{Wanted: architecture}
	for _, m := range parsed.Manifests {
		if m.MediaType != ManifestMediaType || m.Platform.OS != packageOS {
			continue
		}
		if m.Platform.Architecture != architecture {
			missing.Available = append(missing.Available, m.Platform.Architecture)
			continue
		}
		sum, ok := strings.CutPrefix(m.Digest, "sha256:")
		switch {
		case !ok || !isSHA256(sum):
			return "", 0, refuse(indexName, "manifest for %q with the digest %q, not a sha256", architecture, m.Digest)
		case m.Size < 0:
			return "", 0, refuse(indexName, "manifest for %q of %d bytes", architecture, m.Size)
		case digest != "" && digest != m.Digest:
			return "", 0, refuse(indexName, "two packages for %q", architecture)
		}
		digest, size = m.Digest, m.Size
	}
	if digest == "" {
		slices.Sort(missing.Available)
		missing.Available = slices.Compact(missing.Available)
		return "", 0, missing
	}
	return digest, size, nil
}
