package cluster

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// How long a request is sent again: it bridges a restart of the API server, and is no way to wait for
// one that may never come back.
const (
	resendFor   = 45 * time.Second
	resendFirst = 200 * time.Millisecond
	resendPause = 2 * time.Second
)

// resending sends a request again that met an API server in the middle of a restart: any request that
// never reached it, and one that only reads whatever became of it. Every client of a connection goes
// through it, so that none has to think of it. What changes something and may have come through is
// its caller's to try again, who can tell whether it did.
type resending struct {
	next  http.RoundTripper
	limit time.Duration // of one attempt, 0 for none
}

// resend returns what puts resending around a transport, in the form that rest.Config.Wrap wants.
func resend(limit time.Duration) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper { return &resending{next: next, limit: limit} }
}

// WrappedRoundTripper lets client-go find the transport underneath.
func (r *resending) WrappedRoundTripper() http.RoundTripper { return r.next }

// RoundTrip answers with what the last attempt came to.
func (r *resending) RoundTrip(req *http.Request) (*http.Response, error) {
	if streams(req) || req.Body != nil && req.GetBody == nil {
		return r.next.RoundTrip(req)
	}
	deadline := time.Now().Add(resendFor)
	for wait := resendFirst; ; wait = min(2*wait, resendPause) {
		resp, err := r.once(req)
		if !worthResending(req, resp, err) || time.Now().Add(wait).After(deadline) || pause(req.Context(), wait) != nil {
			return resp, err
		}
		if resp != nil {
			_ = resp.Body.Close() // it is in memory
		}
		again := req.Clone(req.Context())
		if req.GetBody != nil {
			if again.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
		req = again
	}
}

// once sends a request. The answer is read whole, as every caller does, so that one which breaks off in
// the middle can be asked for again.
func (r *resending) once(req *http.Request) (*http.Response, error) {
	if r.limit > 0 {
		ctx, cancel := context.WithTimeoutCause(req.Context(), r.limit, errNoAnswer)
		defer cancel()
		req = req.WithContext(ctx)
	}
	resp, err := r.next.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusSwitchingProtocols {
		return resp, nil // the connection is another protocol's now
	}
	if err == nil {
		var data []byte
		data, err = io.ReadAll(resp.Body)
		_ = resp.Body.Close() // what matters of it was read
		resp.Body = io.NopCloser(bytes.NewReader(data))
	}
	if err != nil && errors.Is(context.Cause(req.Context()), errNoAnswer) {
		err = errNoAnswer
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// errNoAnswer ends an attempt that takes too long.
var errNoAnswer = noAnswer{}

// noAnswer is a time-out, as net.Error has it.
type noAnswer struct{}

func (noAnswer) Error() string   { return "the API server gives no answer" }
func (noAnswer) Timeout() bool   { return true }
func (noAnswer) Temporary() bool { return true }

// streams reports whether the answer to a request has no end of its own: a watch, a log that is
// followed.
func streams(req *http.Request) bool {
	query := req.URL.Query()
	return query.Has("watch") || query.Has("follow")
}

func worthResending(req *http.Request, resp *http.Response, err error) bool {
	if err != nil {
		if req.Context().Err() != nil {
			return false
		}
		return unsent(err) || req.Method == http.MethodGet && broken(err)
	}
	if req.Method != http.MethodGet || resp.Header.Get("Retry-After") != "" { // which client-go obeys
		return false
	}
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	case http.StatusServiceUnavailable:
		// An API whose own server is away answers this for as long as it is, when asked what it has.
		return strings.Count(req.URL.Path, "/") > strings.Count("/apis/GROUP/VERSION", "/")
	}
	return false
}

// unsent reports whether a request never left: there was nobody to connect to. That the name of the
// server is not known, or its certificate not trusted, is no such case.
func unsent(err error) bool {
	var dial *net.OpError
	return errors.As(err, &dial) && dial.Op == "dial" && errors.Is(err, syscall.ECONNREFUSED)
}

// broken reports whether a connection ended before its answer did, or brought none.
func broken(err error) bool {
	return errors.Is(err, errNoAnswer) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err) ||
		errors.Is(err, io.ErrUnexpectedEOF)
}
