package bundle

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/zarf-host/zarf-host/host/spec"
)

const annotation = "org.opencontainers.image."

// manifest is an OCI image manifest with the fields, in the order, that Zarf's has.
type manifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	Config        descriptor        `json:"config"`
	Layers        []descriptor      `json:"layers"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// packageDigest is the digest that Zarf gives a package: that of the OCI manifest which publishing
// it would write. It depends on every file, the definition and the time it was built.
func packageDigest(pkg *spec.Package, files []File) (string, error) {
	data, _, err := publishManifest(pkg, files)
	if err != nil {
		return "", err
	}
	return "sha256:" + hashOf(data), nil
}

// Manifest returns the OCI manifest with which the package is published, and the config that it
// names. Its layers are the package's files. The digest of the manifest is Digest.
func (b *Bundle) Manifest() (manifest, config []byte, err error) {
	return publishManifest(b.definition, b.files)
}

func publishManifest(pkg *spec.Package, files []File) (data, config []byte, err error) {
	created, err := time.Parse(time.RFC1123Z, pkg.Build.Timestamp)
	if err != nil {
		return nil, nil, fmt.Errorf("reading build.timestamp: %w", err)
	}
	if config, err = json.Marshal(pkg); err != nil {
		return nil, nil, fmt.Errorf("marshalling the definition: %w", err)
	}
	m := manifest{
		SchemaVersion: 2,
		MediaType:     ManifestMediaType,
		Config:        descriptor{MediaType: configMediaType, Digest: "sha256:" + hashOf(config), Size: int64(len(config))},
		Annotations:   annotations(pkg.Metadata),
	}
	m.Annotations[annotation+"created"] = created.UTC().Format(time.RFC3339)
	for _, f := range files {
		m.Layers = append(m.Layers, descriptor{
			MediaType: layerMediaType, Digest: "sha256:" + f.SHA256, Size: f.Size,
			Annotations: map[string]string{annotation + "title": f.Path},
		})
	}
	slices.SortFunc(m.Layers, func(a, b descriptor) int {
		return cmp.Or(cmp.Compare(a.Digest, b.Digest), cmp.Compare(a.Annotations[annotation+"title"], b.Annotations[annotation+"title"]))
	})
	if data, err = json.Marshal(m); err != nil {
		return nil, nil, fmt.Errorf("marshalling the manifest: %w", err)
	}
	return data, config, nil
}

// annotations are those of the manifest without the time: the description even if it is empty, the
// others where they are set, and over them what the author chose.
func annotations(m spec.Metadata) map[string]string {
	out := map[string]string{
		annotation + "title":       m.Name,
		annotation + "description": m.Description,
	}
	for key, value := range map[string]string{
		"url": m.URL, "authors": m.Authors, "documentation": m.Documentation, "source": m.Source, "vendor": m.Vendor,
	} {
		if value != "" {
			out[annotation+key] = value
		}
	}
	maps.Copy(out, m.Annotations)
	return out
}
