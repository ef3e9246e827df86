package testregistry

import (
	"net"
	"sync"
	"testing"
)

// Wire relays connections to a registry, byte by byte, until it is told to break. A new one works.
type Wire struct {
	listener net.Listener
	upstream string

	mu     sync.Mutex
	flows  *sync.Cond // bytes may move again, or a connection is cut
	conns  map[net.Conn]bool
	sent   int64 // towards the registry
	at     int64
	action func()
	still  bool
	ended  bool
}

// Wire lays a wire to the registry that ends with the test.
func (r *Registry) Wire(t testing.TB) *Wire {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &Wire{listener: listener, upstream: r.url.Host, conns: map[net.Conn]bool{}}
	w.flows = sync.NewCond(&w.mu)
	go w.accept()
	t.Cleanup(w.Close)
	return w
}

// Address is where clients find the wire.
func (w *Wire) Address() string { return w.listener.Addr().String() }

// After calls action once when n more bytes went towards the registry, before the next one does.
func (w *Wire) After(n int64, action func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at, w.action = w.sent+n, action
}

// Cut resets all connections. New ones work.
func (w *Wire) Cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for conn := range w.conns {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = conn.Close()
	}
	w.conns = map[net.Conn]bool{}
	w.flows.Broadcast()
}

// Stall keeps every byte from moving until Flow.
func (w *Wire) Stall() { w.setStill(true) }

// Flow ends a stall.
func (w *Wire) Flow() { w.setStill(false) }

// Close cuts everything and takes no more connections.
func (w *Wire) Close() {
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	_ = w.listener.Close()
	w.Cut()
}

func (w *Wire) setStill(still bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.still = still
	w.flows.Broadcast()
}

func (w *Wire) accept() {
	for {
		near, err := w.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", w.upstream)
		if err != nil {
			_ = near.Close() // the registry is down, and so is the wire
			continue
		}
		w.mu.Lock()
		if w.ended {
			w.mu.Unlock()
			_, _ = near.Close(), far.Close()
			return
		}
		w.conns[near], w.conns[far] = true, true
		w.mu.Unlock()
		go w.relay(near, far, true)
		go w.relay(far, near, false)
	}
}

// relay moves bytes one way until either end is closed, then closes both.
func (w *Wire) relay(from, to net.Conn, out bool) {
	defer w.hangUp(from, to)
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		for part := buf[:n]; len(part) > 0; {
			allowed, ok := w.admit(from, len(part), out)
			if !ok {
				return
			}
			if _, err := to.Write(part[:allowed]); err != nil {
				return
			}
			part = part[allowed:]
		}
		if err != nil {
			return
		}
	}
}

// admit says how many of n bytes may move now, and waits while none may.
func (w *Wire) admit(conn net.Conn, n int, out bool) (int, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if out && w.action != nil && w.sent == w.at {
		action := w.action
		w.action = nil
		w.mu.Unlock()
		action()
		w.mu.Lock()
	}
	for w.still && w.conns[conn] {
		w.flows.Wait()
	}
	if !w.conns[conn] {
		return 0, false
	}
	if !out {
		return n, true
	}
	if w.action != nil {
		n = int(min(int64(n), w.at-w.sent))
	}
	w.sent += int64(n)
	return n, true
}

func (w *Wire) hangUp(conns ...net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, conn := range conns {
		_ = conn.Close()
		delete(w.conns, conn)
	}
	w.flows.Broadcast()
}
