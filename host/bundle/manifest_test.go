package bundle

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/spec"
)

// The annotations are Zarf's, and the time is in UTC wherever the package was built.
func TestManifestAnnotations(t *testing.T) {
	pkg := &spec.Package{
		Metadata: spec.Metadata{Name: "x", Vendor: "v", Annotations: map[string]string{"own": "1", annotation + "vendor": "override"}},
		Build:    spec.Build{Timestamp: "Fri, 02 Jan 2026 03:04:05 +0200"},
	}
	data, _, err := publishManifest(pkg, []File{{Path: "b", SHA256: "2"}, {Path: "c", SHA256: "1"}, {Path: "a", SHA256: "2"}})
	if err != nil {
		t.Fatal(err)
	}
	var m manifest
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		annotation + "title": "x", annotation + "description": "", annotation + "vendor": "override", "own": "1",
		annotation + "created": "2026-01-02T01:04:05Z",
	}
	if diff := cmp.Diff(want, m.Annotations); diff != "" {
		t.Errorf("annotations differ (-want +got):\n%s", diff)
	}
	var order []string
	for _, l := range m.Layers {
		order = append(order, l.Annotations[annotation+"title"])
	}
	if diff := cmp.Diff([]string{"c", "a", "b"}, order); diff != "" {
		t.Errorf("order of layers differs (-want +got):\n%s", diff)
	}
}
