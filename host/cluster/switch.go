package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A Switch is a way to the API server that can be cut. Once cut, every request through it is
// answered at once with a 403 Status, those under way included. It is an answer and not an error
// because Helm's waiter tries for a minute to get over a broken connection, but takes an answer.
type Switch struct {
	mu     sync.Mutex
	reason string
	done   context.Context
	cut    context.CancelFunc
}

// NewSwitch returns a Switch that lets everything through.
func NewSwitch() *Switch {
	// A switch outlives the contexts of the requests through it: it is what ends them.
	done, cut := context.WithCancel(context.Background())
	return &Switch{done: done, cut: cut}
}

// Cut ends what is under way and answers everything that follows with reason. Only the first cut
// counts.
func (s *Switch) Cut(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done.Err() != nil {
		return
	}
	s.reason = reason
	s.cut()
}

// IsCut says whether the switch was cut.
func (s *Switch) IsCut() bool { return s.done.Err() != nil }

// Wrap returns next behind the switch; it has the form that rest.Config.Wrap wants.
func (s *Switch) Wrap(next http.RoundTripper) http.RoundTripper {
	return &switched{Switch: s, next: next}
}

type switched struct {
	*Switch
	next http.RoundTripper
}

// WrappedRoundTripper lets client-go find the transport underneath, whose TLS settings a
// port-forward needs.
func (s *switched) WrappedRoundTripper() http.RoundTripper { return s.next }

// RoundTrip sends the request unless the switch is cut, and gives it up when it is cut meanwhile.
func (s *switched) RoundTrip(req *http.Request) (*http.Response, error) {
	if s.IsCut() {
		if req.Body != nil {
			_ = req.Body.Close() // a RoundTripper must, and its error says nothing about the answer
		}
		return s.refuse(req), nil
	}
	ctx, cancel := context.WithCancel(req.Context())
	stop := context.AfterFunc(s.done, cancel)
	end := func() { stop(); cancel() }
	resp, err := s.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		end()
		if s.IsCut() && req.Context().Err() == nil {
			return s.refuse(req), nil
		}
		return nil, err
	}
	if rw, ok := resp.Body.(io.ReadWriteCloser); ok { // a connection that was upgraded stays writable
		resp.Body = &upgradedBody{ReadWriteCloser: rw, end: end}
	} else {
		resp.Body = &body{ReadCloser: resp.Body, end: end}
	}
	return resp, nil
}

// refuse is the answer of a switch that is cut.
func (s *switched) refuse(req *http.Request) *http.Response {
	s.mu.Lock()
	reason := s.reason
	s.mu.Unlock()
	data, _ := json.Marshal(metav1.Status{ // a Status always marshals
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure,
		Message:  reason,
		Reason:   metav1.StatusReasonForbidden,
		Code:     http.StatusForbidden,
	})
	return &http.Response{
		Status:        strconv.Itoa(http.StatusForbidden) + " " + http.StatusText(http.StatusForbidden),
		StatusCode:    http.StatusForbidden,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        http.Header{"Content-Type": {"application/json"}},
		Body:          io.NopCloser(bytes.NewReader(data)),
		ContentLength: int64(len(data)),
		Request:       req,
	}
}

// body frees what a request holds once its answer was read.
type body struct {
	io.ReadCloser
	end func()
}

func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.end()
	return err
}

type upgradedBody struct {
	io.ReadWriteCloser
	end func()
}

func (b *upgradedBody) Close() error {
	err := b.ReadWriteCloser.Close()
	b.end()
	return err
}
