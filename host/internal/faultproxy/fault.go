package faultproxy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Fault is a way to treat a request badly. The zero value treats it well.
type Fault struct {
	kind       kind
	code       int
	retryAfter time.Duration
	delay      time.Duration
}

type kind int

const (
	none kind = iota
	status
	reset
	lost
	hang
	slow
)

// Status answers with an HTTP status, such as 403, 409, 429, 500 or 503,
// instead of forwarding. The body is read as an error both by clients of
// Kubernetes and by those of a registry.
func Status(code int) Fault { return Fault{kind: status, code: code} }

// RetryAfter is Status with a header that asks the client to come back. A
// client of Kubernetes then does so by itself; without it, it reports.
func RetryAfter(code int, d time.Duration) Fault {
	return Fault{kind: status, code: code, retryAfter: d}
}

// Reset resets the connection; the upstream never sees the request.
func Reset() Fault { return Fault{kind: reset} }

// Lost forwards the request and resets the connection when the upstream has
// answered: the change was made, and the client does not know.
func Lost() Fault { return Fault{kind: lost} }

// Hang says nothing until the client gives up, or resets the connection after
// limit; the upstream never sees the request.
func Hang(limit time.Duration) Fault { return Fault{kind: hang, delay: limit} }

// Slow forwards the request after a delay, unless the client has given up.
func Slow(delay time.Duration) Fault { return Fault{kind: slow, delay: delay} }

// String names the fault in test output.
func (f Fault) String() string {
	switch f.kind {
	case status:
		return strconv.Itoa(f.code)
	case reset:
		return "reset"
	case lost:
		return "lost answer"
	case hang:
		return "hang"
	case slow:
		return "slow"
	}
	return "none"
}

// apiError is a Status of Kubernetes and an error list of a registry in one:
// each client reads its own half.
type apiError struct {
	Kind       string          `json:"kind"`
	APIVersion string          `json:"apiVersion"`
	Status     string          `json:"status"`
	Message    string          `json:"message"`
	Reason     string          `json:"reason"`
	Code       int             `json:"code"`
	Errors     []registryError `json:"errors"`
}

type registryError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// reasons are the words by which clients of Kubernetes tell errors apart.
var reasons = map[int]string{
	http.StatusUnauthorized:        "Unauthorized",
	http.StatusForbidden:           "Forbidden",
	http.StatusNotFound:            "NotFound",
	http.StatusConflict:            "Conflict",
	http.StatusTooManyRequests:     "TooManyRequests",
	http.StatusInternalServerError: "InternalError",
	http.StatusServiceUnavailable:  "ServiceUnavailable",
	http.StatusGatewayTimeout:      "Timeout",
}

func (f Fault) answer(w http.ResponseWriter) {
	message := fmt.Sprintf("the fault proxy answers %d", f.code)
	word := strings.ToUpper(strings.ReplaceAll(http.StatusText(f.code), " ", "_"))
	w.Header().Set("Content-Type", "application/json")
	if f.retryAfter > 0 {
		seconds := int((f.retryAfter + time.Second - 1) / time.Second)
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
	}
	w.WriteHeader(f.code)
	_ = json.NewEncoder(w).Encode(apiError{ // a client that has gone is no concern of ours
		Kind: "Status", APIVersion: "v1", Status: "Failure",
		Message: message, Reason: reasons[f.code], Code: f.code,
		Errors: []registryError{{Code: word, Message: message}},
	})
}
