package definition

import (
	"archive/tar"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/zarf-host/zarf-host/host/spec"
)

// The digest of a package covers the JSON of its parsed definition, so equal digests for packages
// that Zarf built prove that nothing is lost, added or reordered by reading. (The digest itself is
// package bundle's business; here it is the measure.)
func TestParsedDefinitionHasZarfsDigest(t *testing.T) {
	table, err := os.ReadFile(shared(t, "packages", "DIGESTS.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	tested := 0
	for _, line := range strings.Split(strings.TrimSpace(string(table)), "\n")[1:] {
		name, want, ok := strings.Cut(line, "\t")
		if !ok || !strings.HasSuffix(name, ".tar.zst") || strings.Contains(name, "/") {
			continue
		}
		tested++
		t.Run(name, func(t *testing.T) {
			files := unpack(t, shared(t, "packages", name))
			pkg, err := Parse(files["zarf.yaml"])
			if err != nil {
				t.Fatal(err)
			}
			if got := manifestDigest(t, pkg, files); got != strings.TrimSpace(want) {
				config, _ := json.Marshal(pkg)
				t.Errorf("digest is %s, want %s; config:\n%s", got, want, config)
			}
		})
	}
	if tested < 5 {
		t.Errorf("DIGESTS.tsv names %d archives, want at least 5", tested)
	}
}

func unpack(t *testing.T, path string) map[string][]byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zr, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer zr.Close()
	files := map[string][]byte{}
	tr := tar.NewReader(zr)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		data, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = data
	}
}

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

func describe(mediaType string, data []byte) descriptor {
	sum := sha256.Sum256(data)
	return descriptor{MediaType: mediaType, Digest: "sha256:" + hex.EncodeToString(sum[:]), Size: len(data)}
}

func manifestDigest(t *testing.T, pkg *spec.Package, files map[string][]byte) string {
	t.Helper()
	config, err := json.Marshal(pkg)
	if err != nil {
		t.Fatal(err)
	}
	created, err := time.Parse(time.RFC1123Z, pkg.Build.Timestamp)
	if err != nil {
		t.Fatal(err)
	}
	manifest := struct {
		SchemaVersion int               `json:"schemaVersion"`
		MediaType     string            `json:"mediaType"`
		Config        descriptor        `json:"config"`
		Layers        []descriptor      `json:"layers"`
		Annotations   map[string]string `json:"annotations"`
	}{
		SchemaVersion: 2,
		MediaType:     "application/vnd.oci.image.manifest.v1+json",
		Config:        describe("application/vnd.zarf.config.v1+json", config),
		Annotations: map[string]string{
			"org.opencontainers.image.title":       pkg.Metadata.Name,
			"org.opencontainers.image.description": pkg.Metadata.Description,
			"org.opencontainers.image.created":     created.UTC().Format(time.RFC3339),
		},
	}
	for key, value := range map[string]string{
		"url": pkg.Metadata.URL, "authors": pkg.Metadata.Authors, "documentation": pkg.Metadata.Documentation,
		"source": pkg.Metadata.Source, "vendor": pkg.Metadata.Vendor,
	} {
		if value != "" {
			manifest.Annotations["org.opencontainers.image."+key] = value
		}
	}
	for key, value := range pkg.Metadata.Annotations {
		manifest.Annotations[key] = value
	}
	for name, data := range files {
		layer := describe("application/vnd.zarf.layer.v1.blob", data)
		layer.Annotations = map[string]string{"org.opencontainers.image.title": name}
		manifest.Layers = append(manifest.Layers, layer)
	}
	slices.SortFunc(manifest.Layers, func(a, b descriptor) int { return cmp.Compare(a.Digest, b.Digest) })
	var out bytes.Buffer
	if err := json.NewEncoder(&out).Encode(manifest); err != nil {
		t.Fatal(err)
	}
	return describe("", bytes.TrimSuffix(out.Bytes(), []byte("\n"))).Digest
}

// shared returns a path in the folder of shared material, which lies beside the repository.
func shared(t testing.TB, parts ...string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	path := filepath.Join(append([]string{dir, "..", "shared"}, parts...)...)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("the shared material is missing: %v", err)
	}
	return path
}
