package chart

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"

	helmrelease "helm.sh/helm/v3/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type roundTripper = http.RoundTripper

// cutter answers everything with a 403 Status once cut is closed.
type cutter struct {
	cut  <-chan struct{}
	next http.RoundTripper
}

func (c cutter) RoundTrip(req *http.Request) (*http.Response, error) {
	select {
	case <-c.cut:
	default:
		return c.next.RoundTrip(req)
	}
	body, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure",
		Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden, Message: "cut",
	})
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status: "403 Forbidden", StatusCode: http.StatusForbidden, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Request: req,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}, nil
}

func helmStatus(status string) helmrelease.Status { return helmrelease.Status(status) }

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
