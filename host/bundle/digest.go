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
	data, err := publishManifest(pkg, files)
	if err != nil {
		return "", err
	}
	return "sha256:" + hashOf(data), nil
}

func publishManifest(pkg *spec.Package, files []File) ([]byte, error) {
	created, err := time.Parse(time.RFC1123Z, pkg.Build.Timestamp)
	if err != nil {
		return nil, fmt.Errorf("reading build.timestamp: %w", err)
	}
	config, err := json.Marshal(pkg)
	if err != nil {
		return nil, fmt.Errorf("marshalling the definition: %w", err)
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
	data, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("marshalling the manifest: %w", err)
	}
	return data, nil
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
