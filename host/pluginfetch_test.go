package host

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/internal/packagetest"
	"github.com/zarf-host/zarf-host/host/plugin"
	"github.com/zarf-host/zarf-host/host/wasm"
)

// A module that is too large is refused by what is known of its size, wherever it is: nothing of it is
// read into memory.
func TestLargePluginsAreNotFetched(t *testing.T) {
	var blobs atomic.Int32
	const sum = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.URL.Path, "/blobs/"):
			blobs.Add(1)
			w.WriteHeader(http.StatusNotFound)
		case strings.Contains(r.URL.Path, "/manifests/"):
			w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
			_, _ = fmt.Fprintf(w, `{"schemaVersion":2,"layers":[{"mediaType":"application/wasm","digest":%q,"size":%d}]}`, sum, wasm.DefaultLimits().Module+1)
		}
	}))
	defer server.Close()
	registry := "oci://" + strings.TrimPrefix(server.URL, "http://") + "/guard:1"

	dir := t.TempDir()
	path := packagetest.Build(t, dir, "kind: ZarfPackageConfig\nmetadata: {name: p, version: 1.0.0}\ncomponents: [{name: a}]\n",
		map[string]string{bundle.PluginPath("guard"): strings.Repeat("a", 5000)})
	pkg, err := Open(t.Context(), path, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pkg.Close() }() // only read from
	file := filepath.Join(dir, "large.wasm")
	if err := os.WriteFile(file, make([]byte, 5000), 0o600); err != nil {
		t.Fatal(err)
	}

	small := PluginSource{Limits: wasm.Limits{Module: 4999}}
	for text, source := range map[string]PluginSource{registry: {}, "package:guard": small, file: small} {
		ref, err := plugin.ParseReference(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := FetchPlugin(t.Context(), ref, pkg, source); err == nil || !strings.Contains(err.Error(), "bytes") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if blobs.Load() > 0 {
		t.Errorf("the registry was asked for the module %d times", blobs.Load())
	}
}
