package source_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/internal/packagetest"
	"github.com/zarf-host/zarf-host/host/internal/testregistry"
	"github.com/zarf-host/zarf-host/host/source"
)

// shared is the path of what lies in the folder beside the repository.
func shared(t testing.TB, elem ...string) string {
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
			t.Fatal("there is no go.mod above the tests")
		}
		dir = filepath.Dir(dir)
	}
	path := filepath.Join(append([]string{dir, "..", "shared"}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// Packages that Zarf built come out of a real registry as they went in, with the digest that Zarf
// reports, and the manifest is Zarf's to the byte.
func TestOCIRealRegistry(t *testing.T) {
	const user, password = "reader", "p@ss:w/rd"
	r := testregistry.Start(t, testregistry.Options{User: user, Password: password})
	table, err := os.ReadFile(shared(t, "packages", "DIGESTS.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	docker := t.TempDir()
	t.Setenv("DOCKER_CONFIG", docker)
	config, err := json.Marshal(map[string]any{"auths": map[string]any{
		r.Address(): map[string][]byte{"auth": []byte(user + ":" + password)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(docker, "config.json"), config, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"zarf-package-demo-amd64-0.1.0.tar.zst", "zarf-package-beta-demo-amd64-0.1.0.tar.zst",
		"signed-yolo-demo.tar.zst", "zarf-package-drop-demo-amd64-0.2.0.tar.zst",
	} {
		t.Run(name, func(t *testing.T) {
			path := shared(t, "packages", name)
			local := openLocal(t, path)
			ref, pushed := r.Publish(t, path), local.Digest()
			if !strings.Contains(string(table), name+"\t"+pushed) {
				t.Errorf("pushed as %s, which is not what DIGESTS.tsv says", pushed)
			}
			pkg := local.Definition().Metadata
			repository := "pkg/" + pkg.Name
			if got := r.Digest(t, repository, pushed); got != pushed {
				t.Errorf("the registry has %q in place of %s", got, pushed)
			}
			remote := open(t, "oci://"+ref, quick)
			same(t, local, remote)
			if !remote.Integrity().OnDemand || local.Signed() != remote.Signed() {
				t.Errorf("integrity is %+v, signed is %v", remote.Integrity(), remote.Signed())
			}
			if name == "zarf-package-demo-amd64-0.1.0.tar.zst" {
				want, err := os.ReadFile(shared(t, "samples", "oci-demo-0.1.0.manifest.json"))
				if got, _, _ := remote.Manifest(); err != nil || !bytes.Equal(want, got) {
					t.Errorf("the manifest is not the sample's, %v", err)
				}
				index, err := os.ReadFile(shared(t, "samples", "oci-demo-0.1.0.index.json"))
				if got := r.Digest(t, repository, pkg.Version); err != nil || got != digestOf(index) {
					t.Errorf("the index is %s, not the sample's, %v", got, err)
				}
			}
			for _, by := range []string{ref + "@" + pushed, r.Address() + "/" + repository + "@" + pushed, user + ":p%40ss%3Aw%2Frd@" + ref} {
				if got := open(t, "oci://"+by, quick).Digest(); got != pushed {
					t.Errorf("%s is %s, want %s", by, got, pushed)
				}
			}
		})
	}
	t.Run("no credentials", func(t *testing.T) {
		t.Setenv("DOCKER_CONFIG", t.TempDir())
		for _, login := range []string{"", "reader:wrong-one@"} {
			_, err := source.Open(context.Background(), "oci://"+login+r.Address()+"/pkg/demo:0.1.0", quick)
			var failed *source.FetchError
			if !errors.As(err, &failed) || !strings.Contains(failed.Hint(), "docker login") || strings.Contains(err.Error(), "wrong-one") {
				t.Errorf("with %q: %v, want a hint how to log in", login, err)
			}
		}
	})
	t.Run("restart", func(t *testing.T) {
		b := open(t, "oci://"+r.Address()+"/pkg/demo:0.1.0", source.Options{Architecture: "amd64", Backoff: 50 * time.Millisecond, Retries: 20})
		r.Kill()
		restarted := make(chan struct{})
		time.AfterFunc(200*time.Millisecond, func() {
			defer close(restarted)
			r.Restart(t)
		})
		files, err := b.ReadComponent(context.Background(), "web", func(string) bool { return true })
		<-restarted
		if err != nil || len(files) == 0 {
			t.Errorf("reading while the registry restarts: %d files, %v", len(files), err)
		}
	})
}

// Nothing is fetched that is not asked for, and small files once.
func TestOCIFetchesOnDemand(t *testing.T) {
	f := newFake(t)
	digest := f.publish(t, writeForms(t, packagetest.Options{}))
	b := open(t, f.ref(), quick)
	blob := map[string]string{}
	for _, file := range b.Files() {
		blob[file.Path] = "GET blobs/sha256:" + file.SHA256
	}
	opening := f.requests()
	slices.Sort(opening)
	want := []string{"GET manifests/1.0.0", "GET manifests/" + digest, blob["zarf.yaml"], blob["checksums.txt"], "HEAD /v2/"}
	slices.Sort(want)
	// The first HEAD tried HTTPS, and was no request to an HTTP server.
	if !slices.Equal(opening, want) {
		t.Errorf("opening asks for %q, want %q", opening, want)
	}
	for range 2 {
		if _, err := b.ReadComponent(context.Background(), "first", func(string) bool { return true }); err != nil {
			t.Fatal(err)
		}
	}
	if got := f.requests(); !slices.Equal(got, []string{blob["components/first.tar"]}) {
		t.Errorf("reading a component twice asks for %q", got)
	}
	if _, err := b.ReadComponent(context.Background(), "third", nil); err != nil {
		t.Error(err)
	}
	if !b.Has("components/second.tar") || b.Has("components/third.tar") {
		t.Error("what the package has is not what its manifest says")
	}
	if got := f.requests(); len(got) > 0 {
		t.Errorf("asking what there is asks for %q", got)
	}
}

// Several files are fetched at once, as many as wanted.
func TestOCIConcurrency(t *testing.T) {
	f := newFake(t)
	f.publish(t, writeForms(t, packagetest.Options{Content: func(entries []packagetest.Entry) []packagetest.Entry {
		for i := range 20 {
			name := "images/blobs/sha256/" + strings.TrimPrefix(digestOf([]byte{byte(i)}), "sha256:")
			entries = append(entries, packagetest.Entry{Name: name, Mode: 0o600, Body: []byte{byte(i)}})
		}
		return entries
	}}))
	o := quick
	o.Bundle.Concurrency = 4
	b := open(t, f.ref(), o)
	var now, most atomic.Int32
	f.set(func(w http.ResponseWriter, r *http.Request) bool {
		for n := now.Add(1); ; {
			if old := most.Load(); n <= old || most.CompareAndSwap(old, n) {
				break
			}
		}
		time.Sleep(20 * time.Millisecond)
		now.Add(-1)
		return false
	})
	isBlob := func(path string) bool { return strings.HasPrefix(path, "images/blobs/") }
	read := 0
	err := b.Walk(context.Background(), isBlob, func(bundle.File, io.Reader) error {
		read++
		return nil
	})
	if err != nil || read != 22 {
		t.Errorf("read %d blobs, %v", read, err)
	}
	if got := most.Load(); got != 4 {
		t.Errorf("%d requests at once, want 4", got)
	}
	stop := errors.New("enough")
	if err := b.Walk(context.Background(), isBlob, func(bundle.File, io.Reader) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("error is %v, want that of the callback", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	err = b.Walk(ctx, isBlob, func(bundle.File, io.Reader) error {
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want that of the context", err)
	}
}

// breakAfter serves a blob in pieces: each connection breaks after n bytes, or falls silent.
func breakAfter(f *fake, n int, ranges, silent bool, broken *atomic.Int32) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		_, reference, _ := strings.Cut(r.URL.Path, "/blobs/")
		data := f.blobs[reference]
		if len(data) <= n {
			return false
		}
		start := 0
		if text, ok := strings.CutPrefix(r.Header.Get("Range"), "bytes="); ok && ranges {
			start, _ = strconv.Atoi(strings.TrimSuffix(text, "-"))
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", start, len(data)-1, len(data)))
		}
		count := int(broken.Add(1))
		end := min(start+n, len(data))
		if !ranges {
			end = min(n*count, len(data))
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(data)-start))
		if start > 0 {
			w.WriteHeader(http.StatusPartialContent)
		}
		_, _ = w.Write(data[start:end])
		_ = http.NewResponseController(w).Flush()
		if end == len(data) {
			return true
		}
		if silent {
			<-r.Context().Done()
		}
		panic(http.ErrAbortHandler)
	}
}

// A broken or silent connection is gone on from, with and without a server that knows ranges.
func TestOCIBrokenConnections(t *testing.T) {
	f := newFake(t)
	path := writeForms(t, packagetest.Options{})
	f.publish(t, path)
	local := openLocal(t, path)
	for name, c := range map[string]struct{ ranges, silent bool }{
		"ranges": {true, false}, "no ranges": {false, false}, "silence": {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			var broken atomic.Int32
			f.set(breakAfter(f, 900<<10, c.ranges, c.silent, &broken))
			o := quick
			if c.silent {
				o.StallLimit = 300 * time.Millisecond
			}
			var warnings atomic.Int32
			o.Sink = event.Func(func(event.Event) { warnings.Add(1) })
			same(t, local, open(t, f.ref(), o))
			if broken.Load() < 3 || warnings.Load() == 0 {
				t.Errorf("%d connections for 3 MiB, %d warnings", broken.Load(), warnings.Load())
			}
		})
	}
	t.Run("without end", func(t *testing.T) {
		var broken atomic.Int32
		f.set(breakAfter(f, 1000, true, false, &broken))
		_, err := open(t, f.ref(), quick).ReadComponent(context.Background(), "second", func(string) bool { return true })
		if err == nil || !strings.Contains(err.Error(), `fetching "components/second.tar"`) || !strings.Contains(err.Error(), "gave up after 4 attempts") {
			t.Errorf("error is %v, want that it gave up, and on what", err)
		}
	})
}

func TestOCINotThere(t *testing.T) {
	f := newFake(t)
	f.publish(t, writeForms(t, packagetest.Options{}))
	arm := quick
	arm.Architecture = "arm64"
	pinned := quick
	pinned.Bundle.SHA256 = strings.Repeat("a", 64)
	for _, c := range []struct {
		ref    string
		o      source.Options
		errors []string
	}{
		{f.ref(), arm, []string{`"arm64"`, "only for amd64"}},
		{strings.Replace(f.ref(), ":1.0.0", ":2.0.0", 1), quick, []string{"404", "manifests unknown"}},
		{f.ref(), pinned, []string{"404"}},
		{f.ref() + "@sha256:" + strings.Repeat("b", 64), pinned, []string{"pinned to another digest"}},
		{strings.TrimSuffix(f.ref(), ":1.0.0"), quick, []string{"neither a tag nor a digest"}},
		{"oci://user:secret@" + f.host() + "/UPPER:1", quick, []string{"not a reference"}},
		{"oci://127.0.0.1:1/x:1", quick, []string{"fetching https://127.0.0.1:1/v2/"}},
	} {
		_, err := source.Open(context.Background(), c.ref, c.o)
		for _, want := range c.errors {
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("Open(%q) = %v, want %q", c.ref, err, want)
			}
		}
	}
}

func TestOCICertificates(t *testing.T) {
	f := newFake(t)
	f.publish(t, writeForms(t, packagetest.Options{}))
	secure := httptest.NewUnstartedServer(f)
	secure.Config.ErrorLog = quietLog
	secure.StartTLS()
	defer secure.Close()
	ref := "oci://" + secure.Listener.Addr().String() + "/" + repositoryPath + ":1.0.0"
	_, err := source.Open(context.Background(), ref, quick)
	var failed *source.FetchError
	if !errors.As(err, &failed) || !strings.Contains(failed.Hint(), "--insecure-skip-tls-verify") {
		t.Errorf("error is %v, want one about the certificate", err)
	}
	o := quick
	o.InsecureSkipTLSVerify = true
	open(t, ref, o)
}

// A signed address that a registry redirects to is in no error, nor handed on.
func TestOCIRedirects(t *testing.T) {
	f := newFake(t)
	f.publish(t, writeForms(t, packagetest.Options{}))
	gone := atomic.Bool{}
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || r.Header.Get("Referer") != "" {
			t.Errorf("the store is told %v", r.Header)
		}
		if gone.Load() {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.blobs[r.URL.Query().Get("digest")]))
	}))
	defer store.Close()
	f.set(func(w http.ResponseWriter, r *http.Request) bool {
		if user, _, _ := r.BasicAuth(); user != "u" {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
		_, reference, ok := strings.Cut(r.URL.Path, "/blobs/")
		if ok {
			http.Redirect(w, r, store.URL+"/?digest="+reference+"&signature=secret", http.StatusTemporaryRedirect)
		}
		return ok
	})
	b := open(t, strings.Replace(f.ref(), "oci://", "oci://u:p@", 1), quick)
	gone.Store(true)
	_, err := b.ReadComponent(context.Background(), "first", func(string) bool { return true })
	if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "403") {
		t.Errorf("error is %v, want the status and no signature", err)
	}
}
