package source_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/internal/packagetest"
	"github.com/zarf-host/zarf-host/host/source"
)

// site is a web server with one archive, at /p.tar.zst.
type site struct {
	*httptest.Server
	mu     sync.Mutex
	data   []byte
	answer func(w http.ResponseWriter, r *http.Request) bool
	passes atomic.Int32
}

func newSite(t testing.TB, data []byte) *site {
	s := &site{data: data}
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ErrorLog = quietLog
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	data, answer := s.data, s.answer
	s.mu.Unlock()
	if answer != nil && answer(w, r) {
		return
	}
	if r.URL.Path != "/p.tar.zst" {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	s.passes.Add(1)
	w.Header().Set("ETag", `"`+sumOf(data)+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

func (s *site) set(data []byte, answer func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data, s.answer = data, answer
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// trusting are options for a site whose archive is data.
func trusting(data []byte) source.Options {
	o := quick
	o.Bundle.SHA256, o.InsecureSkipTLSVerify = sumOf(data), true
	return o
}

// incompressible is a package whose archive is some megabytes.
func incompressible(t testing.TB) (path string, data []byte) {
	t.Helper()
	noise := make([]byte, 0, 3<<20)
	for i := 0; len(noise) < cap(noise); i++ {
		sum := sha256.Sum256([]byte(strconv.Itoa(i)))
		noise = append(noise, sum[:]...)
	}
	path = writeForms(t, packagetest.Options{Content: func(entries []packagetest.Entry) []packagetest.Entry {
		return append(entries, packagetest.Entry{Name: "images/blobs/sha256/" + sumOf(noise), Mode: 0o600, Body: noise})
	}})
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, data
}

func TestWeb(t *testing.T) {
	path, data := incompressible(t)
	s := newSite(t, data)
	local := openLocal(t, path)
	o := trusting(data)
	o.Bundle.SHA256 = strings.ToUpper(o.Bundle.SHA256)
	same(t, local, open(t, s.URL+"/p.tar.zst", o))

	t.Run("one pass for what is small", func(t *testing.T) {
		before := s.passes.Load()
		b := open(t, s.URL+"/p.tar.zst", trusting(data))
		if _, err := b.ReadComponent(context.Background(), "first", func(string) bool { return true }); err != nil {
			t.Error(err)
		}
		if got := s.passes.Load() - before; got != 1 {
			t.Errorf("%d passes, want 1", got)
		}
	})
	t.Run("broken connections", func(t *testing.T) {
		var broken atomic.Int32
		s.set(data, func(w http.ResponseWriter, r *http.Request) bool {
			start := 0
			if text, ok := strings.CutPrefix(r.Header.Get("Range"), "bytes="); ok {
				start, _ = strconv.Atoi(strings.TrimSuffix(text, "-"))
				if r.Header.Get("If-Range") != `"tag"` {
					t.Error("the rest is asked for whatever it is by now")
				}
				w.Header().Set("Content-Range", "bytes "+strconv.Itoa(start)+"-"+strconv.Itoa(len(data)-1)+"/*")
			}
			broken.Add(1)
			end := min(start+900<<10, len(data))
			w.Header().Set("ETag", `"tag"`)
			w.Header().Set("Content-Length", strconv.Itoa(len(data)-start))
			if start > 0 {
				w.WriteHeader(http.StatusPartialContent)
			}
			_, _ = w.Write(data[start:end])
			if end < len(data) {
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}
			return true
		})
		defer s.set(data, nil)
		same(t, local, open(t, s.URL+"/p.tar.zst", trusting(data)))
		if broken.Load() < 4 {
			t.Errorf("%d connections for 3 MiB", broken.Load())
		}
	})
	t.Run("busy", func(t *testing.T) {
		var asked atomic.Int32
		s.set(data, func(w http.ResponseWriter, _ *http.Request) bool {
			if asked.Add(1) > 2 {
				return false
			}
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		})
		defer s.set(data, nil)
		open(t, s.URL+"/p.tar.zst", trusting(data))
	})
	t.Run("changed between passes", func(t *testing.T) {
		b := open(t, s.URL+"/p.tar.zst", trusting(data))
		other, err := os.ReadFile(writeForms(t, packagetest.Options{Version: "v0.83.0"}))
		if err != nil {
			t.Fatal(err)
		}
		s.set(other, nil)
		defer s.set(data, nil)
		_, err = b.ReadFile(context.Background(), "images/blobs/sha256/"+sumOf([]byte("a layer")))
		if err != nil {
			t.Errorf("what is the same in both: %v", err)
		}
		var refused *bundle.RefusedError
		err = b.Walk(context.Background(), func(p string) bool { return strings.HasPrefix(p, "images/") }, drop)
		if !errors.As(err, &refused) || !strings.Contains(refused.Reason, "gone since") {
			t.Errorf("error is %v, want a refusal", err)
		}
	})
}

func TestWebRefused(t *testing.T) {
	_, data := incompressible(t)
	s := newSite(t, data)
	user := strings.Replace(s.URL, "https://", "https://u:secret@", 1)
	at := user + "/p.tar.zst?signature=secret"
	o := trusting(data)
	wrong, short, none, untrusting := o, o, o, o
	wrong.Bundle.SHA256, short.Bundle.SHA256, none.Bundle.SHA256, untrusting.InsecureSkipTLSVerify = strings.Repeat("0", 64), "abc", "", false
	for _, c := range []struct {
		ref  string
		o    source.Options
		want string
	}{
		{at, wrong, "its sha256 is " + sumOf(data)},
		{at, short, "not a sha256"},
		{at, none, "needs the checksum"},
		{at, untrusting, "certificate"},
		{user + "/missing?signature=secret", o, "404"},
		{"http://u:secret@example.test/p.tar.zst", o, "plain HTTP"},
		{"https://u:secret@127.0.0.1:1/p.tar.zst?signature=secret", o, "connection refused"},
	} {
		_, err := source.Open(context.Background(), c.ref, c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("Open(%q) = %v, want %q and no secret", c.ref, err, c.want)
		}
	}
	t.Run("redirect to plain HTTP", func(t *testing.T) {
		s.set(data, func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, "http://127.0.0.1:1/p?signature=secret", http.StatusFound)
			return true
		})
		_, err := source.Open(context.Background(), s.URL+"/p.tar.zst", o)
		if err == nil || !strings.Contains(err.Error(), "from HTTPS to plain HTTP") || strings.Contains(err.Error(), "secret") {
			t.Errorf("error is %v", err)
		}
	})
	t.Run("redirects without end", func(t *testing.T) {
		s.set(data, func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, "/p.tar.zst", http.StatusFound)
			return true
		})
		if _, err := source.Open(context.Background(), s.URL+"/p.tar.zst", o); err == nil || !strings.Contains(err.Error(), "redirects") {
			t.Errorf("error is %v", err)
		}
	})
	t.Run("garbage for the rest", func(t *testing.T) {
		s.set(data, func(w http.ResponseWriter, r *http.Request) bool {
			if r.Header.Get("Range") == "" {
				w.Header().Set("Content-Length", strconv.Itoa(len(data)))
				_, _ = w.Write(data[:1000])
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}
			w.Header().Set("Content-Range", "bytes 0-9/10")
			w.WriteHeader(http.StatusPartialContent)
			return true
		})
		if _, err := source.Open(context.Background(), s.URL+"/p.tar.zst", o); err == nil || !strings.Contains(err.Error(), `the range "bytes 0-9/10"`) {
			t.Errorf("error is %v", err)
		}
	})
}

// Credentials go to the server that they are for, and to no other that it leads to.
func TestWebCredentials(t *testing.T) {
	_, data := incompressible(t)
	var toldOther atomic.Value
	other := newSite(t, data)
	other.set(data, func(_ http.ResponseWriter, r *http.Request) bool {
		user, password, _ := r.BasicAuth()
		toldOther.Store(user + ":" + password + r.Header.Get("Referer"))
		return false
	})
	s := newSite(t, data)
	s.set(data, func(w http.ResponseWriter, r *http.Request) bool {
		user, password, _ := r.BasicAuth()
		switch {
		case user+":"+password != "me:secret":
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/elsewhere":
			http.Redirect(w, r, strings.Replace(other.URL, "127.0.0.1", "localhost", 1)+"/p.tar.zst", http.StatusFound)
		default:
			return false
		}
		return true
	})
	netrc := filepath.Join(t.TempDir(), "netrc")
	if err := os.WriteFile(netrc, []byte("machine 127.0.0.1 login me password secret\ndefault login nobody password other"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := source.Open(context.Background(), s.URL+"/p.tar.zst", trusting(data))
	var failed *source.FetchError
	if !errors.As(err, &failed) || !strings.Contains(failed.Hint(), ".netrc") {
		t.Errorf("without credentials: %v, want a hint", err)
	}
	open(t, strings.Replace(s.URL, "https://", "https://me:secret@", 1)+"/p.tar.zst", trusting(data))
	t.Setenv("NETRC", netrc)
	open(t, s.URL+"/p.tar.zst", trusting(data))
	open(t, s.URL+"/elsewhere?token=secret", trusting(data))
	if got := toldOther.Load(); got != ":" {
		t.Errorf("the other server is told %q", got)
	}
}
