package wait

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestNetwork(t *testing.T) {
	var looks atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/created":
			w.WriteHeader(http.StatusCreated)
		case "/later":
			if looks.Add(1) == 1 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		case "/gone":
			w.WriteHeader(http.StatusGone)
		}
	}))
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")

	for _, tc := range []struct {
		protocol, address string
		code              int
		want              string // in the error; empty for none
	}{
		{"http", address, 0, ""},
		{"HTTP", address, 200, ""},
		{"http", address + "/created", 0, ""},
		{"http", address + "/created", 200, "it answers 201 Created"},
		{"http", address + "/gone", 410, ""},
		{"http", address + "/gone", 0, "it answers 410 Gone"},
		{"http", address + "/later", 200, ""},
		{"tcp", address, 0, ""},
		{"tcp", "127.0.0.1:1", 0, "connection refused"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		err := Network(ctx, tc.protocol, tc.address, tc.code)
		cancel()
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("%+v: %v", tc, err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || !errors.Is(err, context.DeadlineExceeded)):
			t.Errorf("%+v: got %v, want a timeout with %q", tc, err, tc.want)
		}
	}
}

// What cannot come true is said at once.
func TestNetworkRefusesAtOnce(t *testing.T) {
	for _, tc := range []struct {
		protocol, address string
		code              int
	}{{"udp", "a:1", 0}, {"tcp", "a", 0}, {"http", "http://a", 0}, {"http", "", 0}, {"http", "a", 99}, {"", "a:1", 0}} {
		start := time.Now()
		if err := Network(t.Context(), tc.protocol, tc.address, tc.code); err == nil || time.Since(start) > time.Second {
			t.Errorf("%+v: got %v after %s", tc, err, time.Since(start))
		}
	}
}

// A cancelled wait ends at once, also in the middle of a look (H5).
func TestH5NetworkObeysItsContext(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close() // accepts, and never answers
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	start := time.Now()
	err = Network(ctx, "http", listener.Addr().String(), 0)
	if !errors.Is(err, context.Canceled) || time.Since(start) > time.Second {
		t.Errorf("got %v after %s", err, time.Since(start))
	}
}
