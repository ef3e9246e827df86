package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/zarf-host/zarf-host/host/internal/testcluster"
)

// answers is a transport that answers one request after the other, and the last one for ever.
type answers struct {
	list []any // an error, a status code, or a string: a body
	got  []string
}

func (a *answers) RoundTrip(req *http.Request) (*http.Response, error) {
	body := ""
	if req.Body != nil {
		data, _ := io.ReadAll(req.Body)
		_ = req.Body.Close()
		body = string(data)
	}
	a.got = append(a.got, body)
	next := a.list[min(len(a.got), len(a.list))-1]
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody}
	switch n := next.(type) {
	case error:
		return nil, n
	case int:
		resp.StatusCode = n
	case time.Duration:
		select {
		case <-req.Context().Done():
			return nil, req.Context().Err()
		case <-time.After(n):
		}
	case io.Reader:
		resp.Body = io.NopCloser(n)
	case string:
		resp.Body = io.NopCloser(strings.NewReader(n))
	}
	return resp, nil
}

var (
	refused = &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	reset   = &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
)

// brokenOff is a body that ends before its end.
type brokenOff struct{}

func (brokenOff) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestResending(t *testing.T) {
	const object, apis = "/api/v1/namespaces/web", "/apis/metrics.k8s.io/v1beta1"
	unknownHost := &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "x"}}
	tests := map[string]struct {
		method, path string
		answers      []any
		sent         int
		want         string // the body, or part of the error, or the code
	}{
		"nobody listens, read":          {"GET", object, []any{refused, refused, refused, "ok"}, 4, "ok"},
		"nobody listens, write":         {"PATCH", object, []any{refused, refused, "ok"}, 3, "ok"},
		"reset, read":                   {"GET", object, []any{reset, "ok"}, 2, "ok"},
		"reset, write":                  {"POST", object, []any{reset, "ok"}, 1, "reset"},
		"end of file, read":             {"GET", object, []any{io.EOF, "ok"}, 2, "ok"},
		"answer breaks off, read":       {"GET", object, []any{brokenOff{}, "ok"}, 2, "ok"},
		"answer breaks off, write":      {"PUT", object, []any{brokenOff{}, "ok"}, 1, "unexpected EOF"},
		"busy, read":                    {"GET", object, []any{503, 502, 504, 429, "ok"}, 5, "ok"},
		"busy, write":                   {"DELETE", object, []any{503, "ok"}, 1, "503"},
		"refused for good":              {"GET", object, []any{403, "ok"}, 1, "403"},
		"internal error":                {"GET", object, []any{500, "ok"}, 1, "500"},
		"an API whose server is away":   {"GET", apis, []any{503, "ok"}, 1, "503"},
		"an object of such an API":      {"GET", apis + "/nodes/a", []any{503, "ok"}, 2, "ok"},
		"server of an unknown name":     {"GET", object, []any{unknownHost, "ok"}, 1, "no such host"},
		"a watch":                       {"GET", object + "?watch=true", []any{refused, "ok"}, 1, "refused"},
		"a log that is followed":        {"GET", object + "/log?follow=true", []any{refused, "ok"}, 1, "refused"},
		"no answer within the time":     {"GET", object, []any{time.Hour, "ok"}, 2, "ok"},
		"a write without an answer":     {"PATCH", object, []any{time.Hour, "ok"}, 1, "no answer"},
		"an answer that takes its time": {"PATCH", object, []any{10 * time.Second, "ok"}, 1, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &answers{list: tt.answers}
				req, err := http.NewRequestWithContext(t.Context(), tt.method, "https://server"+tt.path, strings.NewReader("what is wanted"))
				if err != nil {
					t.Fatal(err)
				}
				got := outcome(resend(bookTimeout)(server).RoundTrip(req))
				if !strings.Contains(got, tt.want) || tt.want == "" && got != "" {
					t.Errorf("came to %q, want %q", got, tt.want)
				}
				if len(server.got) != tt.sent {
					t.Errorf("was sent %d times, want %d", len(server.got), tt.sent)
				}
				for i, body := range server.got {
					if body != "what is wanted" {
						t.Errorf("attempt %d sent %q", i+1, body)
					}
				}
			})
		})
	}
}

func outcome(resp *http.Response, err error) string {
	if err != nil {
		return err.Error()
	}
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return fmt.Sprint(resp.StatusCode, err)
	}
	return string(data)
}

// A server that never comes back is given up, and so is a request whose operation ends.
func TestResendingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		send := func(ctx context.Context) error {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://server/api/v1/namespaces/web", nil)
			if err != nil {
				t.Fatal(err)
			}
			_, err = resend(0)(&answers{list: []any{refused}}).RoundTrip(req)
			return err
		}
		began := time.Now()
		if err := send(t.Context()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("given up with %v", err)
		}
		if took := time.Since(began); took > resendFor || took < resendFor-resendPause {
			t.Errorf("given up after %s, want about %s", took, resendFor)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began = time.Now()
		if err := send(ctx); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("ended with %v", err)
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("ended %s after its operation", took-3*time.Second)
		}
	})
}

// What is cut off is sent no more.
func TestResendingIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &answers{list: []any{refused}}
		cut := NewSwitch()
		way := cut.Wrap(resend(0)(server))
		time.AfterFunc(5*time.Second, func() { cut.Cut("the operation was cancelled") })
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://server/api", nil)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		resp, err := way.RoundTrip(req)
		if err != nil || resp.StatusCode != http.StatusForbidden || time.Since(began) != 5*time.Second {
			t.Errorf("%v, %v after %s; want the switch's refusal when it is cut", resp, err, time.Since(began))
		}
		sent := len(server.got)
		time.Sleep(time.Minute)
		if len(server.got) != sent {
			t.Errorf("%d requests after the cut", len(server.got)-sent)
		}
	})
}

// An API server that restarts is not noticed by whoever reads, nor by the writes that every operation
// begins with.
func TestConnectionGetsOverARestart(t *testing.T) {
	cluster := testcluster.Private(t)
	conn := connect(t, cluster.REST())
	work := client(t, conn.Config()).CoreV1().Namespaces()
	restarted, errs := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			_, get := work.Get(t.Context(), "default", metav1.GetOptions{})
			_, list := work.List(t.Context(), metav1.ListOptions{})
			_, _, read := conn.State(t.Context())
			_, record := conn.Records().Get(t.Context(), "restarted", "")
			err := errors.Join(get, list, read, record, conn.EnsureNamespace(t.Context()))
			select {
			case <-restarted:
			default:
				if err == nil {
					continue
				}
			}
			errs <- err
			return
		}
	}()
	cluster.RestartAPIServer(t, 3*time.Second)
	close(restarted)
	if err := <-errs; err != nil {
		t.Error(err)
	}
}
