package source_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/internal/packagetest"
	"github.com/zarf-host/zarf-host/host/source"
)

// quick are options with which a failure is one soon.
var quick = source.Options{Architecture: "amd64", Backoff: time.Millisecond, Retries: 3, StallLimit: 10 * time.Second}

// fake is a registry of one repository that a test may turn against its clients.
type fake struct {
	*httptest.Server
	mu        sync.Mutex
	manifests map[string][]byte // by tag and digest
	blobs     map[string][]byte // by digest
	asked     []string
	// answer may answer a request in place of the registry; it tells whether it did.
	answer func(w http.ResponseWriter, r *http.Request) bool
}

const repositoryPath = "group/forms"

func newFake(t testing.TB) *fake {
	f := &fake{manifests: map[string][]byte{}, blobs: map[string][]byte{}}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	name := strings.TrimPrefix(r.URL.Path, "/v2/"+repositoryPath+"/")
	f.asked = append(f.asked, r.Method+" "+name)
	answer := f.answer
	kind, reference, _ := strings.Cut(name, "/")
	data, ok := f.blobs[reference]
	if kind == "manifests" {
		data, ok = f.manifests[reference]
	}
	f.mu.Unlock()
	if answer != nil && answer(w, r) {
		return
	}
	switch {
	case r.URL.Path == "/v2/":
	case !ok:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"errors":[{"code":"UNKNOWN","message":"%s unknown"}]}`, kind)
	default:
		if kind == "manifests" {
			var m struct{ MediaType string }
			_ = json.Unmarshal(data, &m) // what is no manifest has no type
			w.Header().Set("Content-Type", m.MediaType)
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
	}
}

// host is where the registry is, ref what it has under the tag 1.0.0.
func (f *fake) host() string { return f.Listener.Addr().String() }
func (f *fake) ref() string  { return "oci://" + f.host() + "/" + repositoryPath + ":1.0.0" }

// requests are those since the last call.
func (f *fake) requests() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	asked := f.asked
	f.asked = nil
	return asked
}

func (f *fake) set(answer func(w http.ResponseWriter, r *http.Request) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = answer
}

func (f *fake) putBlob(data []byte) (digest string) {
	digest = digestOf(data)
	f.blobs[digest] = data
	return digest
}

// putManifest puts a manifest under its digest and, in an index for amd64, under the tag.
func (f *fake) putManifest(data []byte) (digest string) {
	digest = digestOf(data)
	f.manifests[digest] = data
	f.manifests["1.0.0"] = index(digest, len(data))
	return digest
}

func index(digest string, size int) []byte {
	return fmt.Appendf(nil, `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":%q,"size":%d,"platform":{"architecture":"amd64","os":"multi"}}]}`, digest, size)
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// publish puts a package that lies on disk into the registry, as Zarf does.
func (f *fake) publish(t testing.TB, path string) (digest string) {
	t.Helper()
	b := openLocal(t, path)
	err := b.Walk(context.Background(), func(string) bool { return true }, func(file bundle.File, r io.Reader) error {
		data, err := io.ReadAll(r)
		if got := f.putBlob(data); got != "sha256:"+file.SHA256 {
			t.Errorf("%s has the digest %s", file.Path, got)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	manifest, config, err := b.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	f.putBlob(config)
	if digest = f.putManifest(manifest); digest != b.Digest() {
		t.Fatalf("the manifest has the digest %s, the package %s", digest, b.Digest())
	}
	return digest
}

func openLocal(t testing.TB, path string) *bundle.Bundle {
	t.Helper()
	b, err := bundle.Open(context.Background(), path, bundle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func open(t testing.TB, ref string, o source.Options) *bundle.Bundle {
	t.Helper()
	b, err := source.Open(context.Background(), ref, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

const forms = `kind: ZarfPackageConfig
metadata:
  name: forms
  version: 1.0.0
components:
- name: first
  required: true
  manifests:
  - name: maps
    namespace: forms
    files: [map.yaml]
- name: second
  files:
  - source: big.txt
    target: big.txt
- name: third
`

// bigText is more than is fetched ahead.
var bigText = strings.Repeat("0123456789abcde\n", 3<<16)

// writeForms writes the package that most tests are about, with two components and an image blob.
func writeForms(t testing.TB, o packagetest.Options) string {
	t.Helper()
	content := o.Content
	o.Content = func(entries []packagetest.Entry) []packagetest.Entry {
		for _, blob := range []string{"a layer", "another"} {
			entries = append(entries, packagetest.Entry{
				Name: "images/blobs/sha256/" + strings.TrimPrefix(digestOf([]byte(blob)), "sha256:"), Mode: 0o600, Body: []byte(blob),
			})
		}
		if content != nil {
			entries = content(entries)
		}
		return entries
	}
	return packagetest.BuildWith(t, t.TempDir(), forms, map[string]string{
		"map.yaml": "kind: ConfigMap\n", "big.txt": bigText,
	}, o)
}

// same checks that two bundles have the same content.
func same(t testing.TB, want, got *bundle.Bundle) {
	t.Helper()
	if want.Digest() != got.Digest() || !bytes.Equal(want.DefinitionBytes(), got.DefinitionBytes()) {
		t.Errorf("digest is %s, want %s", got.Digest(), want.Digest())
	}
	if !got.Verified() || got.Integrity().Files != want.Integrity().Files {
		t.Errorf("integrity is %+v, want %+v", got.Integrity(), want.Integrity())
	}
	sums := func(b *bundle.Bundle) []string {
		var out []string
		err := b.Walk(context.Background(), func(string) bool { return true }, func(f bundle.File, r io.Reader) error {
			sum := sha256.New()
			_, err := io.Copy(sum, r)
			out = append(out, f.Path+" "+hex.EncodeToString(sum.Sum(nil)))
			return err
		})
		if err != nil {
			t.Error(err)
		}
		slices.Sort(out)
		return out
	}
	if w, g := sums(want), sums(got); !slices.Equal(w, g) {
		t.Errorf("files are %q, want %q", g, w)
	}
	for _, c := range want.Definition().Components {
		all := func(string) bool { return true }
		w, err := want.ReadComponent(context.Background(), c.Name, all)
		if err != nil {
			t.Fatal(err)
		}
		g, err := got.ReadComponent(context.Background(), c.Name, all)
		if err != nil || len(g) != len(w) {
			t.Errorf("component %q has %d files, %v; want %d", c.Name, len(g), err, len(w))
		}
		for path := range w {
			if !bytes.Equal(w[path], g[path]) {
				t.Errorf("component %q: %q differs", c.Name, path)
			}
		}
	}
}

// drop reads a file for nothing.
func drop(_ bundle.File, r io.Reader) error {
	_, err := io.Copy(io.Discard, r)
	return err
}
