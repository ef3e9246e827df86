package faultproxy

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// upstream remembers what reached it.
type upstream struct {
	mu   sync.Mutex
	seen []string
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	u.mu.Lock()
	u.seen = append(u.seen, r.Method+" "+r.URL.Path)
	u.mu.Unlock()
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, "done")
}

func (u *upstream) count() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.seen)
}

func start(t *testing.T, handler http.Handler) *Proxy {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	target, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Start(Options{Upstream: target})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// send sends a request with a connection of its own.
func send(t *testing.T, ctx context.Context, p *Proxy, method, path string) (int, string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, p.URL()+path, strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

func TestFaults(t *testing.T) {
	tests := []struct {
		fault    Fault
		status   int
		reset    bool
		upstream int // how often the upstream sees the request
	}{
		{fault: Fault{}, status: 201, upstream: 1},
		{fault: Status(403), status: 403},
		{fault: Status(409), status: 409},
		{fault: Status(429), status: 429},
		{fault: Status(500), status: 500},
		{fault: Status(503), status: 503},
		{fault: Reset(), reset: true},
		{fault: Lost(), reset: true, upstream: 1},
		{fault: Hang(50 * time.Millisecond), reset: true},
		{fault: Slow(50 * time.Millisecond), status: 201, upstream: 1},
	}
	for _, tt := range tests {
		t.Run(tt.fault.String(), func(t *testing.T) {
			var u upstream
			p := start(t, &u)
			p.Inject(Rule{At: 2, Fault: tt.fault})
			if code, _, err := send(t, t.Context(), p, "POST", "/one"); err != nil || code != 201 {
				t.Fatalf("the request before the faulty one: %d, %v", code, err)
			}
			code, _, err := send(t, t.Context(), p, "POST", "/two")
			if tt.reset != errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("error %v, want a reset: %v", err, tt.reset)
			}
			if code != tt.status {
				t.Errorf("status %d, want %d", code, tt.status)
			}
			if got := u.count() - 1; got != tt.upstream {
				t.Errorf("the upstream saw the request %d times, want %d", got, tt.upstream)
			}
			if code, _, err := send(t, t.Context(), p, "POST", "/two"); err != nil || code != 201 {
				t.Errorf("the same request again: %d, %v", code, err)
			}
			requests := p.Requests()
			if len(requests) != 3 || requests[1].Fault != tt.fault || requests[1].Path != "/two" {
				t.Errorf("the log is %v", requests)
			}
		})
	}
}

func TestHangEndsWhenTheClientGivesUp(t *testing.T) {
	var u upstream
	p := start(t, &u)
	p.Inject(Rule{At: 1, Fault: Hang(time.Minute)})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, _, err := send(t, ctx, p, "PUT", "/x"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestStormHitsTheSameRequestAgain(t *testing.T) {
	var u upstream
	p := start(t, &u)
	p.Inject(Rule{At: 2, Times: 3, Fault: Status(409)})
	var got []int
	for _, path := range []string{"/a", "/b", "/c", "/b", "/b", "/b"} {
		code, _, err := send(t, t.Context(), p, "PUT", path)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, code)
	}
	want := []int{201, 409, 201, 409, 409, 201}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

func TestCountsOnlyWhatChanges(t *testing.T) {
	var u upstream
	p := start(t, &u)
	p.Inject(Rule{Match: func(r Request) bool { return r.Path == "/reads" }, Fault: Status(500)})
	p.Inject(Rule{Match: func(r Request) bool { return r.Path == "/forbidden" }, Reads: true, Times: -1, Fault: Status(403)})
	for _, step := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/reads", 201}, // a rule without Reads leaves reads alone
		{"GET", "/forbidden", 403},
		{"GET", "/forbidden", 403},
		{"POST", "/x", 201},
		{"PATCH", "/x", 201},
		{"DELETE", "/x", 201},
	} {
		if code, _, err := send(t, t.Context(), p, step.method, step.path); err != nil || code != step.status {
			t.Errorf("%s %s: %d, %v, want %d", step.method, step.path, code, err, step.status)
		}
	}
	requests := p.Requests()
	if len(requests) != 3 || p.Count() != 3 {
		t.Fatalf("counted %v", requests)
	}
	for i, r := range requests {
		if r.Number != i+1 || r.Status != 201 {
			t.Errorf("request %d is %+v", i+1, r)
		}
	}
}

func TestKill(t *testing.T) {
	tests := []struct {
		name string
		arm  func(p *Proxy, kill func())
		seen int
	}{
		{"before", func(p *Proxy, kill func()) { p.KillBefore(2, kill) }, 1},
		{"after", func(p *Proxy, kill func()) { p.KillAfter(2, kill) }, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var u upstream
			p := start(t, &u)
			var seenAtKill atomic.Int64
			tt.arm(p, func() {
				// Who notices that the client is being killed is not the client.
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer cancel()
				if _, _, err := send(t, ctx, p, "POST", "/meanwhile"); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("a request during the kill was not held back: %v", err)
				}
				seenAtKill.Store(int64(u.count()))
			})
			if _, _, err := send(t, t.Context(), p, "POST", "/one"); err != nil {
				t.Fatal(err)
			}
			if _, _, err := send(t, t.Context(), p, "POST", "/two"); err == nil {
				t.Error("a client that was killed got an answer")
			}
			if got := seenAtKill.Load(); got != int64(tt.seen) {
				t.Errorf("the upstream had seen %d requests at the kill, want %d", got, tt.seen)
			}
			if _, _, err := send(t, t.Context(), p, "GET", "/three"); err == nil {
				t.Error("a client that was killed could still read")
			}
			if got := u.count(); got != tt.seen {
				t.Errorf("the upstream saw %d requests, want %d", got, tt.seen)
			}
			p.Reset()
			if _, _, err := send(t, t.Context(), p, "POST", "/one"); err != nil {
				t.Errorf("after Reset: %v", err)
			}
			if requests := p.Requests(); len(requests) != 1 || requests[0].Number != 1 {
				t.Errorf("after Reset the log is %v", requests)
			}
		})
	}
}

func TestResetWhileTheClientDies(t *testing.T) {
	var u upstream
	p := start(t, &u)
	done := make(chan struct{})
	p.KillAfter(1, func() {
		p.Reset() // by somebody who saw it die before kill returned
		go func() {
			defer close(done)
			if _, _, err := send(t, t.Context(), p, "POST", "/slow"); err != nil {
				t.Errorf("the next client was cut off: %v", err)
			}
		}()
		<-done
	})
	if _, _, err := send(t, t.Context(), p, "POST", "/one"); err == nil {
		t.Error("a client that was killed got an answer")
	}
	if _, _, err := send(t, t.Context(), p, "POST", "/two"); err != nil {
		t.Errorf("the next client was cut off: %v", err)
	}
}

func TestStatusReadsAsErrorOfKubernetesAndOfARegistry(t *testing.T) {
	var u upstream
	p := start(t, &u)
	p.Inject(Rule{At: 1, Fault: RetryAfter(429, 1500*time.Millisecond)})
	response, err := http.Post(p.URL()+"/x", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"kind":"Status"`, `"reason":"TooManyRequests"`, `"errors":[{"code":"TOO_MANY_REQUESTS"`} {
		if !strings.Contains(string(body), want) {
			t.Errorf("%s does not hold %s", body, want)
		}
	}
	if got := response.Header.Get("Retry-After"); got != "2" {
		t.Errorf("Retry-After %q", got)
	}
}

func TestLongStreamsAreDeliveredAtOnce(t *testing.T) {
	next := make(chan struct{})
	p := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for range 2 {
			_, _ = io.WriteString(w, "event\n")
			w.(http.Flusher).Flush()
			select {
			case <-next:
			case <-r.Context().Done():
			}
		}
	}))
	response, err := http.Get(p.URL() + "/watch")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewReader(response.Body)
	if _, err := lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	next <- struct{}{} // the first event came through before the second was written
	if _, err := lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	p.Cut()
	if _, err := lines.ReadString('\n'); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a watch that was cut ended with %v", err)
	}
}

func TestUpgradesFlowThrough(t *testing.T) {
	p := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		line, _ := buffered.ReadString('\n')
		_, _ = io.WriteString(conn, "echo "+line)
	}))
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "POST /portforward HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("status %d", response.StatusCode)
	}
	_, _ = io.WriteString(conn, "hello\n")
	if line, err := reader.ReadString('\n'); err != nil || line != "echo hello\n" {
		t.Errorf("got %q, %v", line, err)
	}
}

func TestUpstreamThatIsDownLooksDown(t *testing.T) {
	p, err := Start(Options{Upstream: &url.URL{Scheme: "http", Host: "127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, _, err := send(t, t.Context(), p, "GET", "/"); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v, want a reset and no answer", err)
	}
}
