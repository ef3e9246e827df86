package faultproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"time"
)

// Options configure a proxy.
type Options struct {
	// Upstream is the server that the proxy stands in front of.
	Upstream *url.URL
	// Transport reaches the upstream, with the credentials that the client
	// does not have; nil is a plain transport.
	Transport http.RoundTripper
	// Bare reaches the upstream without credentials; requests that bring
	// their own Authorization go through it. Nil is Transport.
	Bare http.RoundTripper
	// Count chooses the requests that are numbered; nil is Mutating.
	Count func(*http.Request) bool
}

// Proxy is a running proxy on loopback. All methods may be called at any time
// from any goroutine, hooks included.
type Proxy struct {
	count   func(*http.Request) bool
	forward *httputil.ReverseProxy
	server  *http.Server
	url     string

	mu       sync.Mutex
	requests []Request
	rules    []*activeRule
	conns    map[net.Conn]struct{}
	cut      bool
	// killing is closed when the client is dead; nil if nobody kills it.
	killing chan struct{}
	// epoch tells requests of before a Reset from those after it.
	epoch int
}

// Start starts a proxy, which runs until Close.
func Start(opts Options) (*Proxy, error) {
	if opts.Upstream == nil {
		return nil, errors.New("starting the fault proxy: no upstream was given")
	}
	if opts.Count == nil {
		opts.Count = Mutating
	}
	if opts.Transport == nil {
		opts.Transport = &http.Transport{DisableCompression: true}
	}
	if opts.Bare == nil {
		opts.Bare = opts.Transport
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("starting the fault proxy: %w", err)
	}
	p := &Proxy{count: opts.Count, url: "http://" + listener.Addr().String(), conns: map[net.Conn]struct{}{}}
	quiet := log.New(io.Discard, "", 0) // broken connections are its trade
	p.forward = &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(opts.Upstream) },
		Transport:      chooser{full: opts.Transport, bare: opts.Bare},
		FlushInterval:  -1, // a watch delivers each event at once
		ModifyResponse: p.answered,
		// The upstream is gone, or the answer is to be lost: the client sees
		// what it would see without a proxy, not a "bad gateway".
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { drop(w) },
		ErrorLog:     quiet,
	}
	p.server = &http.Server{Handler: http.HandlerFunc(p.serve), ErrorLog: quiet, ConnState: p.track}
	go func() { _ = p.server.Serve(listener) }()
	return p, nil
}

// URL is where clients find the proxy.
func (p *Proxy) URL() string { return p.url }

// Close ends the proxy and every connection through it.
func (p *Proxy) Close() {
	p.Cut()
	_ = p.server.Close()
}

// Inject adds a rule.
func (p *Proxy) Inject(r Rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append(p.rules, &activeRule{Rule: r})
}

// KillBefore calls kill when request n arrives, which the upstream never sees,
// nor any later one: see Cut.
func (p *Proxy) KillBefore(n int, kill func()) {
	p.Inject(Rule{At: n, Fault: Reset(), Before: func(Request) { p.cutAround(kill) }})
}

// KillAfter calls kill when the upstream has answered request n. The answer is
// lost, and the upstream sees no later request: see Cut.
func (p *Proxy) KillAfter(n int, kill func()) {
	p.Inject(Rule{At: n, Fault: Lost(), After: func(Request) { p.cutAround(kill) }})
}

// cutAround calls kill while no request gets through, and only then ends the
// connections: a client must not have the time to act on losing them.
func (p *Proxy) cutAround(kill func()) {
	killed := make(chan struct{})
	p.mu.Lock()
	p.cut, p.killing = true, killed
	epoch := p.epoch
	p.mu.Unlock()
	kill()
	close(killed)
	p.mu.Lock()
	conns := p.conns
	if p.epoch != epoch { // whoever saw the client die has called Reset already, for the next one
		conns = nil
	} else {
		p.conns = map[net.Conn]struct{}{}
	}
	p.mu.Unlock()
	for conn := range conns {
		resetConn(conn)
	}
}

// Cut ends all connections and refuses new ones until Reset: what the server
// sees of a client that was killed, even if the client still runs.
func (p *Proxy) Cut() {
	p.mu.Lock()
	p.cut = true
	conns := p.conns
	p.conns = map[net.Conn]struct{}{}
	p.mu.Unlock()
	for conn := range conns {
		resetConn(conn)
	}
}

// Reset forgets rules and requests, numbers from 1 again and lets connections
// through: everything is as after Start.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests, p.rules, p.cut, p.killing = nil, nil, false, nil
	p.epoch++
}

// Requests are the counted requests so far, in the order of their numbers.
func (p *Proxy) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// Count is how many requests were counted so far.
func (p *Proxy) Count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.requests)
}

// exchange is a request on its way through.
type exchange struct {
	request Request
	rule    Rule
	epoch   int
}

type exchangeKey struct{}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	x, ok := p.admit(r)
	if !ok {
		drop(w)
		return
	}
	if x.rule.Before != nil {
		x.rule.Before(x.request)
	}
	switch fault := x.rule.Fault; fault.kind {
	case status:
		_, _ = io.Copy(io.Discard, r.Body)
		fault.answer(w)
		return
	case reset:
		drop(w)
		return
	case hang:
		// Only when the body is read does the server notice that the client
		// has gone.
		_, _ = io.Copy(io.Discard, r.Body)
		pause(r.Context(), fault.delay)
		drop(w)
		return
	case slow:
		if !pause(r.Context(), fault.delay) {
			drop(w)
			return
		}
	}
	p.forward.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x)))
}

// admit numbers a request and finds the rule for it; it says no while the
// client is cut off.
func (p *Proxy) admit(r *http.Request) (*exchange, bool) {
	counted := p.count(r)
	p.mu.Lock()
	if p.cut {
		killing := p.killing
		p.mu.Unlock()
		if killing != nil {
			select {
			case <-killing:
			case <-r.Context().Done():
			}
		}
		return nil, false
	}
	defer p.mu.Unlock()
	x := &exchange{
		request: Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery},
		epoch:   p.epoch,
	}
	if counted {
		x.request.Number = len(p.requests) + 1
	}
	for _, rule := range p.rules {
		if rule.take(x.request) {
			x.rule = rule.Rule
			break
		}
	}
	x.request.Fault = x.rule.Fault
	if counted {
		p.requests = append(p.requests, x.request)
	}
	return x, true
}

var errLost = errors.New("the answer is to be lost")

// answered runs between the upstream's answer and the client.
func (p *Proxy) answered(response *http.Response) error {
	x, ok := response.Request.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		return nil
	}
	x.request.Status = response.StatusCode
	if n := x.request.Number; n > 0 {
		p.mu.Lock()
		if x.epoch == p.epoch {
			p.requests[n-1].Status = response.StatusCode
		}
		p.mu.Unlock()
	}
	if x.rule.After != nil {
		x.rule.After(x.request)
	}
	if x.rule.Fault.kind == lost {
		return errLost
	}
	return nil
}

// track knows the connections that Cut has to end. A hijacked one, which
// carries an upgraded stream, stays known until it is closed by Cut or Close.
func (p *Proxy) track(conn net.Conn, state http.ConnState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch state {
	case http.StateNew:
		p.conns[conn] = struct{}{}
	case http.StateClosed:
		delete(p.conns, conn)
	}
}

// chooser sends requests with credentials of their own through bare.
type chooser struct{ full, bare http.RoundTripper }

func (c chooser) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Authorization") != "" {
		return c.bare.RoundTrip(r)
	}
	return c.full.RoundTrip(r)
}

// pause waits for d and says no if ctx ended before.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// drop resets the connection instead of answering.
func drop(w http.ResponseWriter) {
	if hijacker, ok := w.(http.Hijacker); ok {
		if conn, _, err := hijacker.Hijack(); err == nil {
			resetConn(conn)
			return
		}
	}
	panic(http.ErrAbortHandler) // the server's own way to break off
}

// resetConn closes a connection so that the other side sees a reset and not
// an orderly end.
func resetConn(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
