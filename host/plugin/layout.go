package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/zarf-host/zarf-host/host/hook"
)

// The layout that is pushed: the one of the CNCF's WASM OCI artifact (TAG Runtime, 2024).
const (
	ConfigMediaType = "application/vnd.wasm.config.v0+json"
	LayerMediaType  = "application/wasm"
)

// The layers of older layouts, which are pulled too: wasm-to-oci's, which Kubewarden and
// `cosign upload wasm` have, and that of solo.io and Trivy.
const (
	wasmToOCILayer = "application/vnd.wasm.content.layer.v1+wasm"
	soloLayer      = "application/vnd.module.wasm.content.layer.v1+wasm"
)

// MaxManifest is how many bytes a manifest may have: what registries take at most.
const MaxManifest = 4 << 20

// annotation is the prefix of what a manifest repeats of a plugin's metadata, for people who look at a
// registry. Nothing here reads it: what counts is in the module.
const annotation = "dev.zarf-host.plugin."

// Artifact is a plugin as a registry keeps it.
type Artifact struct {
	Module, Config, Manifest ocispec.Descriptor
	// ConfigData and ManifestData are what two of the descriptors are about.
	ConfigData, ManifestData []byte
}

// config is the configuration of a WASM artifact.
type config struct {
	Created      string   `json:"created"`
	Architecture string   `json:"architecture"`
	OS           string   `json:"os"`
	LayerDigests []string `json:"layerDigests"`
}

// epoch is when every plugin was made. The layout wants a time; the same module has to have the same
// digest whoever pushes it when.
const epoch = "1970-01-01T00:00:00Z"

// Pack lays out a module whose metadata is m.
func Pack(m hook.Metadata, module []byte) (Artifact, error) {
	a := Artifact{Module: describe(LayerMediaType, module)}
	a.Module.Annotations = map[string]string{ocispec.AnnotationTitle: m.Name + ".wasm"}
	var err error
	if a.ConfigData, err = json.Marshal(config{
		Created: epoch, Architecture: "wasm", OS: "wasip1", LayerDigests: []string{a.Module.Digest.String()},
	}); err != nil {
		return Artifact{}, fmt.Errorf("packing plugin %q: %w", m.Name, err)
	}
	a.Config = describe(ConfigMediaType, a.ConfigData)
	if a.ManifestData, err = json.Marshal(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		Config: a.Config, Layers: []ocispec.Descriptor{a.Module}, Annotations: annotations(m),
	}); err != nil {
		return Artifact{}, fmt.Errorf("packing plugin %q: %w", m.Name, err)
	}
	a.Manifest = describe(ocispec.MediaTypeImageManifest, a.ManifestData)
	return a, nil
}

func annotations(m hook.Metadata) map[string]string {
	out := map[string]string{
		ocispec.AnnotationTitle: m.Name, ocispec.AnnotationVersion: m.Version,
		annotation + "abi": strings.Join(m.ABI, ","),
	}
	var hooks, asks []string
	for _, h := range m.Hooks {
		hooks = append(hooks, string(h.Name))
	}
	for _, c := range m.Capabilities {
		asks = append(asks, string(c))
	}
	out[annotation+"hooks"] = strings.Join(hooks, ",")
	if len(asks) > 0 {
		out[annotation+"capabilities"] = strings.Join(asks, ",")
	}
	return out
}

func describe(mediaType string, data []byte) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}
}

// IsIndex reports whether a media type is that of several manifests, one of which is to be chosen.
func IsIndex(mediaType string) bool {
	return mediaType == ocispec.MediaTypeImageIndex || mediaType == "application/vnd.docker.distribution.manifest.list.v2+json"
}

// FindManifest chooses the manifest of the one WASM module in an index.
func FindManifest(index []byte) (ocispec.Descriptor, error) {
	var file ocispec.Index
	if err := json.Unmarshal(index, &file); err != nil {
		return ocispec.Descriptor{}, fmt.Errorf("reading an index: %w", err)
	}
	var found []ocispec.Descriptor
	for _, d := range file.Manifests {
		if d.Platform == nil || d.Platform.Architecture == "wasm" {
			found = append(found, d)
		}
	}
	if len(found) != 1 {
		return ocispec.Descriptor{}, fmt.Errorf("the index names %d manifests, %d of them of WASM modules: one is wanted", len(file.Manifests), len(found))
	}
	if err := check(found[0], MaxManifest); err != nil {
		return ocispec.Descriptor{}, fmt.Errorf("reading an index: %w", err)
	}
	return found[0], nil
}

// FindModule finds the module in the manifest of a plugin, in any layout that has it as one layer. Most
// is how many bytes a module may have: a larger one is refused before it is fetched.
func FindModule(manifest []byte, most int64) (ocispec.Descriptor, error) {
	var file ocispec.Manifest
	if err := json.Unmarshal(manifest, &file); err != nil {
		return ocispec.Descriptor{}, fmt.Errorf("reading the manifest: %w", err)
	}
	var found []ocispec.Descriptor
	var types []string
	for _, l := range file.Layers {
		types = append(types, l.MediaType)
		if slices.Contains([]string{LayerMediaType, wasmToOCILayer, soloLayer}, l.MediaType) {
			found = append(found, l)
		}
	}
	switch {
	case len(file.Layers) == 0:
		return ocispec.Descriptor{}, errors.New("there is no plugin: the manifest has no layers")
	case len(found) == 0:
		return ocispec.Descriptor{}, fmt.Errorf("there is no plugin: none of the layers is a WASM module, they are of type %s", clip(strings.Join(types, ", ")))
	case len(found) > 1:
		return ocispec.Descriptor{}, fmt.Errorf("there are %d WASM modules under one manifest: a plugin is one", len(found))
	}
	if err := check(found[0], most); err != nil {
		return ocispec.Descriptor{}, fmt.Errorf("reading the manifest: %w", err)
	}
	return found[0], nil
}

func check(d ocispec.Descriptor, most int64) error {
	switch {
	case !digestForm.MatchString(string(d.Digest)):
		return fmt.Errorf("digest %q is not a sha256", clip(string(d.Digest)))
	case d.Size < 0:
		return fmt.Errorf("%s claims %d bytes", d.Digest, d.Size)
	case d.Size > most:
		return fmt.Errorf("%s has %d bytes, at most %d are fetched", d.Digest, d.Size, most)
	}
	return nil
}
