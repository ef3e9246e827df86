package registry_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/image"
	"github.com/zarf-host/zarf-host/host/internal/faultproxy"
	"github.com/zarf-host/zarf-host/host/internal/testregistry"
	"github.com/zarf-host/zarf-host/host/registry"
)

func asPushError(err error, target **registry.PushError) bool { return errors.As(err, target) }

// way opens tunnels to an address, and checks that there is never more than one.
type way struct {
	address string
	broken  int // how many tunnels from the first on break at the first write

	mu      sync.Mutex
	opened  int
	current int
	worst   int
}

func (w *way) open(context.Context) (registry.Tunnel, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.opened++
	w.current++
	w.worst = max(w.worst, w.current)
	return &tunnel{way: w, broken: w.opened <= w.broken}, nil
}

type tunnel struct {
	way    *way
	broken bool
	mu     sync.Mutex
	conns  []net.Conn
}

func (t *tunnel) Dial(ctx context.Context) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", t.way.address)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.conns = append(t.conns, conn)
	if t.broken {
		return brokenConn{conn}, nil
	}
	return conn, nil
}

// Close takes a moment: whoever does not wait for it opens the next one too early.
func (t *tunnel) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, conn := range t.conns {
		conn.Close()
	}
	time.Sleep(20 * time.Millisecond)
	t.way.mu.Lock()
	defer t.way.mu.Unlock()
	t.way.current--
	return nil
}

type brokenConn struct{ net.Conn }

func (brokenConn) Write([]byte) (int, error) { return 0, errors.New("the tunnel broke") }

// TestD4EachAttemptOpensItsTunnel: tunnels die on the first write; each attempt opens one of its own,
// when the one of before is closed.
func TestD4EachAttemptOpensItsTunnel(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSource()
	ref := s.image(t, "a.test/x:1", s.layer(t, 1, 100_000))
	way := &way{address: r.Address(), broken: 2}
	client := open(t, registry.Options{Address: "127.0.0.1:31999", Tunnel: way.open})
	push(t, client, s.content(t), ref)
	if way.opened != 3 || way.worst != 1 {
		t.Errorf("opened %d tunnels, %d at once", way.opened, way.worst)
	}
	if err := client.Close(); err != nil || way.current != 0 {
		t.Errorf("%d tunnels are open after Close: %v", way.current, err)
	}
	if r.Digest(t, "x", "1") == "" {
		t.Error("the image is not there")
	}
}

// TestTunnelBreaksMidway: the port-forward breaks in the middle of an upload.
func TestTunnelBreaksMidway(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	wire := r.Wire(t)
	s := newSource()
	ref := s.image(t, "a.test/x:1", s.layer(t, 1, 4<<20), s.layer(t, 2, 20<<20))
	way := &way{address: wire.Address()}
	wire.After(10<<20, wire.Cut)
	client := open(t, registry.Options{Address: "127.0.0.1:31999", Tunnel: way.open})
	// One blob at a time, so that no more than one answer is under way when the wire is cut.
	result, err := client.Push(t.Context(), registry.PushOptions{Images: []image.Reference{ref}, Content: s.content(t), Concurrency: 1})
	if err != nil {
		t.Fatal(err)
	}
	if way.opened != 2 || way.worst != 1 {
		t.Errorf("opened %d tunnels, %d at once", way.opened, way.worst)
	}
	// One may have been confirmed in an answer that was cut off; it is found, not sent again.
	if n := result.UploadedBlobs; n < 2 || n > 3 {
		t.Errorf("%d blobs were uploaded", n)
	}
	if r.Digest(t, "x", "1") == "" {
		t.Error("the image is not there")
	}
}

// TestRegistryDiesInABlob: it is killed in the middle of a large blob and comes back, with what it had
// or without.
func TestRegistryDiesInABlob(t *testing.T) {
	for name, erase := range map[string]bool{"with its data": false, "empty": true} {
		t.Run(name, func(t *testing.T) {
			r := testregistry.Start(t, testregistry.Options{})
			wire := r.Wire(t)
			s := newSource()
			small := s.image(t, "a.test/small:1", s.layer(t, 1, 1000))
			ref := s.image(t, "a.test/x:1", s.layer(t, 1, 1<<20), s.layer(t, 2, 20<<20))
			content := s.content(t)
			var said []string
			client := open(t, registry.Options{Address: wire.Address(), Backoff: 200 * time.Millisecond, Retries: 8, Sink: messages(&said)})
			push(t, client, content, small)
			restarted := make(chan struct{})
			wire.After(12<<20, func() {
				r.Kill()
				wire.Cut()
				go func() {
					defer close(restarted)
					if erase {
						r.Erase(t)
					}
					r.Restart(t)
				}()
			})
			push(t, client, content, small, ref)
			<-restarted
			if r.Digest(t, "x", "1") == "" {
				t.Error("the image is not there")
			}
			// The small layer may have been confirmed before.
			done := regexp.MustCompile(`pushed (20|21)\.0 MiB of (20|21)\.0 MiB`)
			if all := strings.Join(said, "\n"); !strings.Contains(all, "trying again") || !done.MatchString(all) {
				t.Errorf("said:\n%s", all)
			}
		})
	}
}

// TestRegistryStaysDead: the failure is clear, comes within the limits, and keeps what was achieved.
func TestRegistryStaysDead(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	wire := r.Wire(t)
	s := newSource()
	ref := s.image(t, "a.test/x:1", s.layer(t, 2, 20<<20))
	wire.After(5<<20, func() { r.Kill(); wire.Close() })
	client := open(t, registry.Options{Address: wire.Address(), Retries: 2})
	began := time.Now()
	_, err := client.Push(t.Context(), registry.PushOptions{Images: []image.Reference{ref}, Content: s.content(t)})
	for _, want := range []string{"pushing images to the registry at " + wire.Address(), "gave up after 3 attempts without progress", "connection refused"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v; want an error with %q", err, want)
		}
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}

// TestStalledUpload: the wire stands still in the middle of a blob, once, or for good.
func TestStalledUpload(t *testing.T) {
	for name, once := range map[string]bool{"once": true, "for good": false} {
		t.Run(name, func(t *testing.T) {
			r := testregistry.Start(t, testregistry.Options{})
			wire := r.Wire(t)
			s := newSource()
			layer := s.layer(t, 2, 20<<20)
			ref := s.image(t, "a.test/x:1", layer)
			const limit = 2 * time.Second
			retries := 1
			if once {
				retries = 5
			}
			client := open(t, registry.Options{Address: wire.Address(), StallLimit: limit, Retries: retries})
			wire.After(5<<20, func() {
				wire.Stall()
				if once {
					time.AfterFunc(limit+300*time.Millisecond, wire.Flow)
				}
			})
			_, err := client.Push(t.Context(), registry.PushOptions{Images: []image.Reference{ref}, Content: s.content(t)})
			if once {
				if err != nil || r.Digest(t, "x", "1") == "" {
					t.Errorf("got %v", err)
				}
				return
			}
			var stall *registry.StallError
			if !errors.As(err, &stall) || stall.Limit != limit {
				t.Errorf("got %v; want a stall", err)
			}
		})
	}
}

// TestSlowSourceIsNoStall: a package that is read slowly is not the registry's fault.
func TestSlowSourceIsNoStall(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSource()
	layer := s.layer(t, 2, 20<<20)
	ref := s.image(t, "a.test/x:1", layer)
	reader := s.open[image.BlobPath(layer)]
	s.open[image.BlobPath(layer)] = func() io.Reader {
		return io.MultiReader(io.LimitReader(reader(), 0), slow{3 * time.Second}, reader())
	}
	push(t, open(t, registry.Options{Address: r.Address(), StallLimit: 2 * time.Second, Retries: -1}), s.content(t), ref)
}

type slow struct{ d time.Duration }

func (s slow) Read([]byte) (int, error) { time.Sleep(s.d); return 0, io.EOF }

// TestFaults answers one request of each kind with each fault. Afterwards all is as if nothing had
// happened.
func TestFaults(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	proxy := r.Proxy(t)
	kinds := []struct {
		name  string
		match func(faultproxy.Request) bool
	}{
		{"ping", func(q faultproxy.Request) bool { return q.Path == "/v2/" }},
		{"ask for a manifest", func(q faultproxy.Request) bool { return q.Method == "HEAD" && strings.Contains(q.Path, "/manifests/") }},
		{"ask for a blob", func(q faultproxy.Request) bool { return q.Method == "HEAD" && strings.Contains(q.Path, "/blobs/") }},
		{"begin an upload", func(q faultproxy.Request) bool { return q.Method == "POST" && q.Query == "" }},
		{"mount", func(q faultproxy.Request) bool { return q.Method == "POST" && q.Query != "" }},
		{"upload", func(q faultproxy.Request) bool { return q.Method == "PUT" && strings.Contains(q.Path, "/uploads/") }},
		{"push a manifest", func(q faultproxy.Request) bool { return q.Method == "PUT" && strings.Contains(q.Path, "/manifests/") }},
	}
	faults := []faultproxy.Fault{
		faultproxy.Status(http.StatusTooManyRequests), faultproxy.Status(http.StatusInternalServerError),
		faultproxy.Status(http.StatusServiceUnavailable), faultproxy.Reset(), faultproxy.Lost(),
		faultproxy.Slow(50 * time.Millisecond),
	}
	n := byte(0)
	for _, kind := range kinds {
		for _, fault := range faults {
			t.Run(kind.name+"/"+fault.String(), func(t *testing.T) {
				n++
				s := newSource()
				common := s.layer(t, n, 70_000)
				path := strings.ReplaceAll(kind.name, " ", "-") + "/" + strings.ReplaceAll(fault.String(), " ", "-")
				a, b := s.image(t, "a.test/"+path+"/a:1", common), s.image(t, "a.test/"+path+"/b:1", common)
				proxy.Reset()
				proxy.Inject(faultproxy.Rule{Match: kind.match, Fault: fault, Times: 1})
				push(t, open(t, registry.Options{Address: host(proxy.URL())}), s.content(t), a, b)
				for _, ref := range []image.Reference{a, b} {
					for _, target := range image.Transform("x", ref).All() {
						_, tag, _ := strings.Cut(target, ":")
						if r.Digest(t, ref.Path, tag) == "" {
							t.Errorf("%s:%s is not there", ref.Path, tag)
						}
					}
				}
			})
		}
	}
}

// TestRefusals are failures for good: they come at once, and name image and cause.
func TestRefusals(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	proxy := r.Proxy(t)
	blobs := func(q faultproxy.Request) bool { return q.Method == "PUT" && strings.Contains(q.Path, "/uploads/") }
	manifests := func(q faultproxy.Request) bool { return q.Method == "PUT" && strings.Contains(q.Path, "/manifests/") }
	tests := map[string]struct {
		match func(faultproxy.Request) bool
		code  int
		times int
		want  string
		hint  string
	}{
		"forbidden":       {blobs, http.StatusForbidden, 1, "403", "credentials"},
		"too large":       {blobs, http.StatusRequestEntityTooLarge, 1, "413", "limits the size"},
		"manifest":        {manifests, http.StatusBadRequest, 1, "400", "goes on from there"},
		"broken for good": {blobs, http.StatusInternalServerError, -1, "gave up after 2 attempts", "goes on from there"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSource()
			ref := s.image(t, "a.test/"+strings.ReplaceAll(name, " ", "-")+":1", s.layer(t, 1, 100))
			proxy.Reset()
			proxy.Inject(faultproxy.Rule{Match: tt.match, Fault: faultproxy.Status(tt.code), Times: tt.times})
			_, err := open(t, registry.Options{Address: host(proxy.URL()), Retries: 1}).Push(t.Context(), registry.PushOptions{Images: []image.Reference{ref}, Content: s.content(t)})
			var failed *registry.PushError
			if !asPushError(err, &failed) || failed.Image != ref.String() || !strings.Contains(err.Error(), tt.want) || !strings.Contains(failed.Hint(), tt.hint) {
				t.Errorf("got %v", err)
			}
			if r.Digest(t, ref.Path, "1") != "" {
				t.Error("the image is there all the same")
			}
		})
	}
}

// TestRegistryForgetsABlob: the registry loses a blob that it had confirmed, before the manifest.
func TestRegistryForgetsABlob(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	proxy := r.Proxy(t)
	s := newSource()
	ref := s.image(t, "a.test/x:1", s.layer(t, 1, 100_000))
	proxy.Inject(faultproxy.Rule{
		Match:  func(q faultproxy.Request) bool { return q.Method == "PUT" && strings.Contains(q.Path, "/manifests/") },
		Before: func(faultproxy.Request) { r.Kill(); r.Erase(t); r.Restart(t) },
	})
	push(t, open(t, registry.Options{Address: host(proxy.URL())}), s.content(t), ref)
	if r.Digest(t, "x", "1") == "" {
		t.Error("the image is not there")
	}
}

// TestMountRefused: a registry that does not mount gets the blob for each repository: small ones
// without reading the package again.
func TestMountRefused(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	proxy := r.Proxy(t)
	s := newSource()
	common, large := s.layer(t, 1, 1<<20), s.layer(t, 2, 17<<20)
	a, b := s.image(t, "a.test/a:1", common, large), s.image(t, "a.test/b:1", common, large)
	proxy.Inject(faultproxy.Rule{
		Match: func(q faultproxy.Request) bool { return strings.Contains(q.Query, "mount=") },
		Fault: faultproxy.Status(http.StatusMethodNotAllowed), Times: -1,
	})
	result := push(t, open(t, registry.Options{Address: host(proxy.URL()), Retries: -1}), s.content(t), a, b)
	if result.UploadedBlobs != 4+2 || result.MountedBlobs != 0 {
		t.Errorf("%+v", result)
	}
	if r.Digest(t, "a", "1") == "" || r.Digest(t, "b", "1") == "" {
		t.Error("an image is not there")
	}
}

// TestChangedPackage: what is read is not what was verified. Nobody tries again, and nothing is tagged.
func TestChangedPackage(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	for name, size := range map[string]int64{"small": 1 << 20, "large": 20 << 20} {
		t.Run(name, func(t *testing.T) {
			s := newSource()
			layer := s.layer(t, 1, size)
			ref := s.image(t, "a.test/"+name+":1", layer)
			path := image.BlobPath(layer)
			changed := &bundle.RefusedError{File: path, Reason: "changed since the package was verified"}
			s.open[path] = func() io.Reader { return io.MultiReader(noise(9, size), failing{changed}) }
			content := s.content(t)
			s.walks = 0
			_, err := open(t, registry.Options{Address: r.Address()}).Push(t.Context(), registry.PushOptions{Images: []image.Reference{ref}, Content: content})
			var refused *bundle.RefusedError
			if !errors.As(err, &refused) || s.walks > 2 {
				t.Errorf("after %d walks: %v", s.walks, err)
			}
			if r.Digest(t, name, "1") != "" || r.Blob(t, name, layer.Digest.String()) {
				t.Error("something of it is there")
			}
		})
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// TestCancel ends a push in the middle of an upload at once.
func TestCancel(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	wire := r.Wire(t)
	s := newSource()
	ref := s.image(t, "a.test/x:1", s.layer(t, 2, 20<<20))
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("enough")
	wire.After(5<<20, func() { wire.Stall(); cancel(reason) })
	client := open(t, registry.Options{Address: wire.Address()})
	_, err := client.Push(ctx, registry.PushOptions{Images: []image.Reference{ref}, Content: s.content(t)})
	if !errors.Is(err, reason) {
		t.Errorf("got %v", err)
	}
	wire.Flow()
	// The same client goes on.
	push(t, client, s.content(t), ref)
}
