package registry

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"
)

// ErrDeleteRefused says that a registry does not delete what it was asked to, by configuration or
// because it does not know how to.
var ErrDeleteRefused = errors.New("the registry refuses to delete")

// PushError says which image could not be pushed, and on account of which blob if it is one.
type PushError struct {
	Image string
	Blob  string // sha256:…, or "" where the manifest or a tag failed
	Err   error
}

func (e *PushError) Error() string {
	if e.Blob != "" {
		return fmt.Sprintf("pushing image %q: blob %s: %v", e.Image, e.Blob, e.Err)
	}
	return fmt.Sprintf("pushing image %q: %v", e.Image, e.Err)
}

func (e *PushError) Unwrap() error { return e.Err }

// Hint says what can be done about it.
func (e *PushError) Hint() string {
	var answer *errcode.ErrorResponse
	var source *sourceError
	var content *contentError
	switch {
	case errors.As(e.Err, &source), errors.As(e.Err, &content):
		return "the package itself is at fault: get it again"
	case errors.Is(e.Err, errMissingBlob):
		return "the registry must have what a differential package leaves out: deploy its base first, or the full package"
	case Unauthorized(e.Err):
		return "the push credentials in the state of the cluster are not accepted there"
	case errors.As(e.Err, &answer) && answer.StatusCode == http.StatusRequestEntityTooLarge:
		return "something in front of the registry limits the size of uploads: raise its limit"
	}
	return "what was uploaded stays in the registry: the same command again goes on from there"
}

// errMissingBlob says that neither the package nor the registry has a blob.
var errMissingBlob = errors.New("neither the package nor the registry has it")

// StallError says that a request made no progress for too long.
type StallError struct {
	Waiting string // what for
	Limit   time.Duration
}

func (e *StallError) Error() string { return fmt.Sprintf("%s for %v", e.Waiting, e.Limit) }

// connectError says that a registry cannot be reached at all.
type connectError struct {
	Address string
	Err     error
	named   bool // by the user, not by the state of a cluster
}

func (e *connectError) Error() string {
	return fmt.Sprintf("connecting to the registry at %s: %v", e.Address, e.Err)
}
func (e *connectError) Unwrap() error { return e.Err }

// Hint says what can be done about it.
func (e *connectError) Hint() string {
	var hinted interface{ Hint() string }
	if errors.As(e.Err, &hinted) {
		return hinted.Hint()
	}
	if e.named {
		return "see that the registry runs, and look at the spelling of its address"
	}
	return "the address is that of the state of the cluster: see that the registry runs there"
}

// plainHTTPError says that a registry speaks plain HTTP where that is not allowed.
type plainHTTPError struct{ Address string }

func (e *plainHTTPError) Error() string {
	return fmt.Sprintf("the server at %q speaks plain HTTP, and not HTTPS", e.Address)
}

// Hint says what can be done about it.
func (e *plainHTTPError) Hint() string {
	return "allow it with --plain-http; credentials then travel unprotected"
}

// transient tells whether the same request may succeed later, over a new connection.
func transient(err error) bool {
	var source *sourceError
	var plain *plainHTTPError
	var certificate *tls.CertificateVerificationError
	var alert tls.AlertError
	if errors.As(err, &source) || errors.As(err, &plain) || errors.As(err, &certificate) || errors.As(err, &alert) ||
		errors.Is(err, errMissingBlob) || errors.Is(err, auth.ErrBasicCredentialNotFound) {
		return false
	}
	var answer *errcode.ErrorResponse
	if errors.As(err, &answer) {
		return answer.StatusCode >= 500 || answer.StatusCode == http.StatusTooManyRequests ||
			answer.StatusCode == http.StatusRequestTimeout || forgotten(err)
	}
	var stall *StallError
	var request *url.Error
	var network net.Error
	var tunnel *tunnelError
	return errors.As(err, &stall) || errors.As(err, &request) || errors.As(err, &network) || errors.As(err, &tunnel) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// answered tells whether the registry was there to refuse the request: the session is good.
func answered(err error) bool {
	var answer *errcode.ErrorResponse
	return errors.As(err, &answer)
}

// Unreachable reports whether err says that the registry did not answer: nothing else that is asked of
// it now fares better.
func Unreachable(err error) bool { return err != nil && !answered(err) && transient(err) }

// Unauthorized reports whether err says that a registry does not accept the credentials, or wants some.
func Unauthorized(err error) bool {
	var answer *errcode.ErrorResponse
	return errors.As(err, &answer) && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden) ||
		errors.Is(err, auth.ErrBasicCredentialNotFound)
}

// forgotten tells whether the registry lost something that it had: an upload under way, or a blob that
// it had confirmed. It was restarted, or cleaned up.
func forgotten(err error) bool {
	var answer *errcode.ErrorResponse
	if !errors.As(err, &answer) {
		return false
	}
	return slices.ContainsFunc(answer.Errors, func(e errcode.Error) bool {
		switch e.Code {
		case errcode.ErrorCodeBlobUploadUnknown, errcode.ErrorCodeManifestBlobUnknown:
			return true
		}
		return false
	})
}

// tunnelError says that the way to the registry could not be opened.
type tunnelError struct{ err error }

func (e *tunnelError) Error() string {
	return fmt.Sprintf("opening the tunnel to the registry: %v", e.err)
}
func (e *tunnelError) Unwrap() error { return e.err }
