package plugin

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/zarf-host/zarf-host/host/hook"
)

func metadata() hook.Metadata {
	return hook.Metadata{
		Name: "guard", Version: "0.1.0", ABI: []string{hook.ABI},
		Hooks: []hook.Use{{Name: hook.PrePrune}, {Name: hook.PreDeploy}}, Capabilities: []hook.Capability{hook.K8sList},
	}
}

// What is pushed is the CNCF's layout, and the same bytes every time.
func TestPack(t *testing.T) {
	a, err := Pack(metadata(), []byte("module"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := Pack(metadata(), []byte("module"))
	if err != nil {
		t.Fatal(err)
	}
	if a.Manifest.Digest != b.Manifest.Digest {
		t.Error("the same module has two digests")
	}
	const config = `{"created":"1970-01-01T00:00:00Z","architecture":"wasm","os":"wasip1","layerDigests":["sha256:` +
		`7f89bcdd86880aa14be8734ec40b8bb0e8bd0cdc3d2094d83a6b61c9e25d0d0a"]}`
	if got := strings.ReplaceAll(string(a.ConfigData), a.Module.Digest.String(), "sha256:7f89bcdd86880aa14be8734ec40b8bb0e8bd0cdc3d2094d83a6b61c9e25d0d0a"); got != config {
		t.Errorf("config %s, want %s", got, config)
	}
	var m ocispec.Manifest
	if err := json.Unmarshal(a.ManifestData, &m); err != nil {
		t.Fatal(err)
	}
	if m.Config.MediaType != "application/vnd.wasm.config.v0+json" || len(m.Layers) != 1 || m.Layers[0].MediaType != "application/wasm" {
		t.Errorf("manifest %s", a.ManifestData)
	}
	if m.Annotations[annotation+"hooks"] != "pre-prune,pre-deploy" || m.Annotations[annotation+"capabilities"] != "k8s:list" {
		t.Errorf("annotations %v", m.Annotations)
	}
	found, err := FindModule(a.ManifestData, 100)
	if err != nil || found.Digest != a.Module.Digest {
		t.Errorf("found %v (%v), want %v", found.Digest, err, a.Module.Digest)
	}
}

func layer(mediaType string, size int64) string {
	return fmt.Sprintf(`{"mediaType":%q,"digest":%q,"size":%d}`, mediaType, sum, size)
}

func TestFindModule(t *testing.T) {
	for name, test := range map[string]struct{ manifest, want string }{
		"the CNCF's":            {`{"layers":[` + layer("application/wasm", 9) + `]}`, ""},
		"wasm-to-oci's":         {`{"layers":[` + layer("application/vnd.wasm.content.layer.v1+wasm", 9) + `]}`, ""},
		"solo.io's, two layers": {`{"layers":[` + layer("application/vnd.module.wasm.config.v1+json", 2) + "," + layer("application/vnd.module.wasm.content.layer.v1+wasm", 9) + `]}`, ""},
		"as large as allowed":   {`{"layers":[` + layer("application/wasm", 100) + `]}`, ""},
		"a byte too large":      {`{"layers":[` + layer("application/wasm", 101) + `]}`, "has 101 bytes, at most 100"},
		"less than nothing":     {`{"layers":[` + layer("application/wasm", -1) + `]}`, "claims -1 bytes"},
		"two modules":           {`{"layers":[` + layer("application/wasm", 9) + "," + layer("application/wasm", 8) + `]}`, "2 WASM modules"},
		"an image":              {`{"layers":[` + layer("application/vnd.oci.image.layer.v1.tar+gzip", 9) + `]}`, "they are of type application/vnd.oci.image.layer.v1.tar+gzip"},
		"nothing":               {`{}`, "no layers"},
		"no manifest":           {`text`, "reading the manifest"},
		"another digest":        {`{"layers":[{"mediaType":"application/wasm","digest":"md5:00","size":1}]}`, `"md5:00" is not a sha256`},
	} {
		d, err := FindModule([]byte(test.manifest), 100)
		if test.want == "" && (err != nil || string(d.Digest) != sum) || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, %v, want %q", name, d.Digest, err, test.want)
		}
	}
}

func TestFindManifest(t *testing.T) {
	entry := func(arch string, size int64) string {
		return fmt.Sprintf(`{"mediaType":%q,"digest":%q,"size":%d,"platform":{"os":"wasip1","architecture":%q}}`, ocispec.MediaTypeImageManifest, sum, size, arch)
	}
	for name, test := range map[string]struct{ index, want string }{
		"one":                 {`{"manifests":[` + entry("wasm", 9) + `]}`, ""},
		"one beside an image": {`{"manifests":[` + entry("amd64", 9) + "," + entry("wasm", 9) + `]}`, ""},
		"without a platform":  {`{"manifests":[{"digest":"` + sum + `","size":1}]}`, ""},
		"two":                 {`{"manifests":[` + entry("wasm", 9) + "," + entry("wasm", 8) + `]}`, "2 of them of WASM modules"},
		"images only":         {`{"manifests":[` + entry("amd64", 9) + `]}`, "0 of them"},
		"too large":           {`{"manifests":[` + entry("wasm", MaxManifest+1) + `]}`, "at most"},
		"no index":            {`[]`, "reading an index"},
	} {
		_, err := FindManifest([]byte(test.index))
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

func FuzzFindModule(f *testing.F) {
	f.Add([]byte(`{"layers":[` + layer("application/wasm", 9) + `]}`))
	f.Add([]byte(`{"manifests":[{"digest":"` + sum + `","size":1}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if d, err := FindModule(data, 100); err == nil && (d.Size < 0 || d.Size > 100 || !digestForm.MatchString(string(d.Digest))) {
			t.Errorf("would fetch %d bytes of %q", d.Size, d.Digest)
		}
		if d, err := FindManifest(data); err == nil && (d.Size < 0 || d.Size > MaxManifest || !digestForm.MatchString(string(d.Digest))) {
			t.Errorf("would fetch %d bytes of %q", d.Size, d.Digest)
		}
	})
}
