package registry_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/zarf-host/zarf-host/host/internal/testregistry"
	"github.com/zarf-host/zarf-host/host/registry"
)

func blobOf(mediaType, data string) registry.Blob {
	return registry.Blob{
		Descriptor: ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromString(data), Size: int64(len(data))}, Data: []byte(data),
	}
}

// manifestOf is the manifest of blobs, the first of which is the configuration; subject is what it refers
// to, or nil.
func manifestOf(artifactType string, subject *ocispec.Descriptor, blobs ...registry.Blob) registry.Blob {
	m := ocispec.Manifest{MediaType: ocispec.MediaTypeImageManifest, ArtifactType: artifactType, Subject: subject, Config: blobs[0].Descriptor}
	m.SchemaVersion = 2
	for _, b := range blobs[1:] {
		m.Layers = append(m.Layers, b.Descriptor)
	}
	data, _ := json.Marshal(m) // of words and numbers
	return blobOf(ocispec.MediaTypeImageManifest, string(data))
}

// TestArtifacts pushes an artifact into a registry that wants a login and fetches it again; the login is
// that of the Docker configuration.
func TestArtifacts(t *testing.T) {
	for name, options := range map[string]testregistry.Options{
		"plain": {}, "login": {User: "u", Password: "p"}, "TLS": {TLS: true, User: "u", Password: "p"},
	} {
		t.Run(name, func(t *testing.T) {
			r := testregistry.Start(t, options)
			docker(t, fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, r.Address(), base64.StdEncoding.EncodeToString([]byte("u:p"))))
			opts := registry.Options{Address: r.Address(), Docker: true}
			if options.TLS {
				opts.TLS = r.TLS(t)
			}
			client := open(t, opts)
			config, layer := blobOf("a/config", "{}"), blobOf("a/layer", "content")
			manifest := manifestOf("", nil, config, layer)
			at := r.Address() + "/a/b"
			for range 2 { // the second time it is there
				if err := client.PushArtifact(t.Context(), at+":1", manifest, config, layer); err != nil {
					t.Fatal(err)
				}
			}
			for _, ref := range []string{at + ":1", at + "@" + manifest.Digest.String()} {
				got, err := client.FetchManifest(t.Context(), ref)
				if err != nil {
					t.Fatal(err)
				}
				if got.Digest != manifest.Digest || string(got.Data) != string(manifest.Data) || got.MediaType != manifest.MediaType {
					t.Errorf("%s is %s %s", ref, got.MediaType, got.Data)
				}
			}
			data, err := client.FetchBlob(t.Context(), at, layer.Descriptor)
			if err != nil || string(data) != "content" {
				t.Errorf("the blob is %q: %v", data, err)
			}

			// What refers to it is found by a tag, where the registry has no answer of its own.
			signature := manifestOf("a/signature", &manifest.Descriptor, config, layer)
			if found, err := client.Referrers(t.Context(), at+"@"+manifest.Digest.String(), "a/signature"); err != nil || len(found) != 0 {
				t.Errorf("before anything refers to it: %v, %v", found, err)
			}
			if err := client.PushArtifact(t.Context(), at+"@"+signature.Digest.String(), signature); err != nil {
				t.Fatal(err)
			}
			index := fmt.Sprintf(`{"schemaVersion":2,"mediaType":%q,"manifests":[{"mediaType":%q,"digest":%q,"size":%d,"artifactType":"a/signature"},{"mediaType":%[2]q,"digest":%[3]q,"size":%[4]d,"artifactType":"a/other"}]}`,
				ocispec.MediaTypeImageIndex, signature.MediaType, signature.Digest, signature.Size)
			if err := client.PushArtifact(t.Context(), at+":"+strings.Replace(manifest.Digest.String(), ":", "-", 1), blobOf(ocispec.MediaTypeImageIndex, index)); err != nil {
				t.Fatal(err)
			}
			found, err := client.Referrers(t.Context(), at+"@"+manifest.Digest.String(), "a/signature")
			if err != nil || len(found) != 1 || found[0].Digest != signature.Digest {
				t.Errorf("what refers to it: %v, %v", found, err)
			}

			if _, err := client.FetchManifest(t.Context(), at+":none"); !errors.Is(err, registry.ErrNotFound) || hint(err) == "" {
				t.Errorf("a tag that is not there: %v", err)
			}
			if _, err := client.FetchBlob(t.Context(), at, blobOf("a/layer", "other").Descriptor); !errors.Is(err, registry.ErrNotFound) {
				t.Errorf("a blob that is not there: %v", err)
			}
			if options.User == "" {
				return
			}
			docker(t, "{}")
			if _, err := open(t, opts).FetchManifest(t.Context(), at+":1"); err == nil || !strings.Contains(hint(err), "docker login") {
				t.Errorf("without a login: %v, hint %q", err, hint(err))
			}
		})
	}
}

func docker(t *testing.T, config string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("DOCKER_CONFIG", dir)
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
}

func hint(err error) string {
	var hinted interface{ Hint() string }
	if errors.As(err, &hinted) {
		return hinted.Hint()
	}
	return ""
}

// TestArtifactsOfAHostileRegistry asks registries that answer with something else than what they were
// asked for.
func TestArtifactsOfAHostileRegistry(t *testing.T) {
	good := manifestOf("", nil, blobOf("a/config", "{}"))
	other := manifestOf("x", nil, blobOf("a/config", "{}"))
	layer := blobOf("a/layer", "content")
	var failures atomic.Int32
	handler := http.NewServeMux()
	manifest := func(path, data, claimed string) {
		handler.HandleFunc("/v2/r/manifests/"+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", ocispec.MediaTypeImageManifest)
			if claimed != "" {
				w.Header().Set("Docker-Content-Digest", claimed)
			}
			_, _ = w.Write([]byte(data))
		})
	}
	manifest("good", string(good.Data), "")
	manifest("lies", string(other.Data), good.Digest.String())
	manifest(good.Digest.String(), string(other.Data), "")
	manifest("huge", strings.Repeat(" ", 5<<20), "")
	handler.HandleFunc("/v2/r/manifests/again", func(w http.ResponseWriter, _ *http.Request) {
		if failures.Add(1) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", ocispec.MediaTypeImageManifest)
		_, _ = w.Write(good.Data)
	})
	blob := func(repository, data string, chunked bool) {
		handler.HandleFunc("/v2/"+repository+"/blobs/"+layer.Digest.String(), func(w http.ResponseWriter, _ *http.Request) {
			if chunked {
				w.(http.Flusher).Flush()
			}
			_, _ = w.Write([]byte(data))
		})
	}
	blob("changed", "Content", false)
	blob("longer", "content and more", false)
	blob("chunked", "content and more", true)
	blob("shorter", "cont", true)
	handler.HandleFunc("/v2/silent/blobs/", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	handler.HandleFunc("/v2/away/blobs/", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/elsewhere?signature=sesame", http.StatusTemporaryRedirect)
	})
	handler.HandleFunc("/elsewhere", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	handler.HandleFunc("/v2/", func(w http.ResponseWriter, _ *http.Request) {})
	server := httptest.NewServer(handler)
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	client := open(t, registry.Options{Address: address, Backoff: time.Millisecond, StallLimit: time.Second})

	if _, err := client.FetchManifest(t.Context(), address+"/r:good"); err != nil {
		t.Errorf("what is right: %v", err)
	}
	if _, err := client.FetchManifest(t.Context(), address+"/r:again"); err != nil || failures.Load() != 3 {
		t.Errorf("what is refused for the moment: %v after %d attempts", err, failures.Load())
	}
	for _, ref := range []string{"/r:lies", "/r@" + good.Digest.String(), "/r:huge"} {
		if got, err := client.FetchManifest(t.Context(), address+ref); err == nil {
			t.Errorf("%s is believed: %d bytes", ref, len(got.Data))
		}
	}
	for _, repository := range []string{"changed", "longer", "chunked", "shorter", "silent", "away"} {
		got, err := client.FetchBlob(t.Context(), address+"/"+repository, layer.Descriptor)
		if err == nil {
			t.Errorf("%s is believed: %q", repository, got)
		}
		if err != nil && strings.Contains(err.Error(), "sesame") {
			t.Errorf("the error tells the signature of an address: %v", err)
		}
	}
	if _, err := client.FetchManifest(t.Context(), "elsewhere.test/r:good"); err == nil {
		t.Error("a reference in another registry is asked for here")
	}
}
