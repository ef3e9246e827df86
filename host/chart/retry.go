package chart

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// How long a write is tried again: it bridges a restart of the API server or of a webhook, and is
// no way to wait for something that may never come.
const (
	retryFor      = 45 * time.Second
	retryFirst    = 200 * time.Millisecond
	retryMaxPause = 5 * time.Second
)

// retry calls do until it succeeds, fails for good, or the time for it is over.
func retry(ctx context.Context, deadline time.Time, do func() error) error {
	if end := time.Now().Add(retryFor); deadline.IsZero() || end.Before(deadline) {
		deadline = end
	}
	for pause := retryFirst; ; pause = min(2*pause, retryMaxPause) {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := do()
		if err == nil || !transient(err) || time.Now().Add(pause).After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

// transientMessages are what an API server answers, as an internal error, while a webhook or its
// store is not up; it has no reason of its own for them.
var transientMessages = []string{
	"failed calling webhook",
	"failed to call webhook",
	"etcdserver: leader changed",
	"etcdserver: request timed out",
	"etcdserver: no leader",
}

// transient reports whether the same request may succeed in a moment: the API server or a webhook
// could not be reached, was not ready or overloaded. A refusal, a webhook's too, is none.
func transient(err error) bool {
	switch {
	case err == nil:
		return false
	case apierrors.IsServiceUnavailable(err), apierrors.IsTooManyRequests(err), apierrors.IsServerTimeout(err):
		return true
	case apierrors.IsInternalError(err):
		for _, message := range transientMessages {
			if strings.Contains(err.Error(), message) {
				return true
			}
		}
		return false
	}
	return utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || utilnet.IsHTTP2ConnectionLost(err)
}
