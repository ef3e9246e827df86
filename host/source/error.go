package source

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/zarf-host/zarf-host/host/bundle"
)

// UnsupportedError says that a reference has a form that is not read.
type UnsupportedError struct {
	Ref    string // without credentials
	Reason string
	hint   string
}

// Error names the reference and the reason.
func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("opening package %q: %s", e.Ref, e.Reason)
}

// Hint says which form to use instead.
func (e *UnsupportedError) Hint() string { return e.hint }

// FetchError says that a server did not give what was asked of it.
type FetchError struct {
	URL string // without credentials
	Err error
}

// Error names what was asked for and why it was not given. It never tells a credential, also not
// the one that the address of a redirect carries.
func (e *FetchError) Error() string { return fmt.Sprintf("fetching %s: %v", e.URL, e.Err) }

// Unwrap returns the cause.
func (e *FetchError) Unwrap() error { return e.Err }

// Hint says what can be done about it.
func (e *FetchError) Hint() string {
	var certificate *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	status := statusOf(e.Err)
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden || errors.Is(e.Err, auth.ErrBasicCredentialNotFound):
		return "registries: log in with `docker login` or `zarf tools registry login`; web servers: put the credentials into ~/.netrc"
	case status == http.StatusNotFound:
		return "look at the spelling of host, path and tag"
	case errors.As(e.Err, &certificate) || errors.As(e.Err, &unknown):
		return "let the system trust the server's authority (SSL_CERT_FILE), or accept any certificate with --insecure-skip-tls-verify"
	}
	return ""
}

// statusError is an answer with another status than a good one.
type statusError struct {
	code int
	text string // what the server says about it, if anything
}

func (e *statusError) Error() string {
	text := fmt.Sprintf("the server answers %d %s", e.code, http.StatusText(e.code))
	if e.text != "" {
		text += fmt.Sprintf(": %q", e.text)
	}
	return text
}

// refusal reads what a registry says of a request that it refuses.
func refusal(response *http.Response) *statusError {
	const most = 8 << 10
	e := &statusError{code: response.StatusCode}
	var body struct {
		Errors []struct{ Code, Message string }
	}
	if json.NewDecoder(io.LimitReader(response.Body, most)).Decode(&body) == nil && len(body.Errors) > 0 {
		e.text = cmp.Or(body.Errors[0].Message, body.Errors[0].Code)
	}
	return e
}

// stallError says that a server was silent for too long.
type stallError struct{ limit time.Duration }

func (e *stallError) Error() string { return fmt.Sprintf("the server sent nothing for %v", e.limit) }

// plainHTTPError says that a server speaks plain HTTP where that is not allowed.
type plainHTTPError struct{ host string }

func (e *plainHTTPError) Error() string {
	return fmt.Sprintf("the server at %q speaks plain HTTP, and not HTTPS", e.host)
}

// Hint says what can be done about it.
func (e *plainHTTPError) Hint() string {
	return "allow it with --plain-http; credentials then travel unprotected"
}

// fetchError wraps an error of a request without what may be a credential: the addresses in it.
func fetchError(url string, err error) error {
	var already *FetchError
	var refused *bundle.RefusedError
	if err == nil || errors.As(err, &already) || errors.As(err, &refused) {
		return err
	}
	return &FetchError{URL: Clean(url), Err: withoutURL(err)}
}

// withoutURL takes the address out of an error, which redirects may have filled with a signature.
func withoutURL(err error) error {
	var request *url.Error
	var answer *errcode.ErrorResponse
	switch {
	case errors.As(err, &answer):
		return &answerError{answer}
	case errors.As(err, &request):
		return withoutURL(request.Err)
	}
	return err
}

// answerError is what a registry answered, in its own words but for the address.
type answerError struct{ answer *errcode.ErrorResponse }

func (e *answerError) Error() string {
	text := (&statusError{code: e.answer.StatusCode}).Error()
	if len(e.answer.Errors) > 0 {
		text += ": " + e.answer.Errors.Error()
	}
	return text
}

func (e *answerError) Unwrap() error { return e.answer }

// statusOf is the status that an error is about, or 0.
func statusOf(err error) int {
	var status *statusError
	var answer *errcode.ErrorResponse
	switch {
	case errors.As(err, &status):
		return status.code
	case errors.As(err, &answer):
		return answer.StatusCode
	}
	return 0
}

// transient reports whether the same request may succeed later.
func transient(err error) bool {
	var certificate *tls.CertificateVerificationError
	var alert tls.AlertError
	var stall *stallError
	var network net.Error
	if errors.As(err, &certificate) || errors.As(err, &alert) {
		return false
	}
	if status := statusOf(err); status != 0 {
		return status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
	}
	return errors.As(err, &stall) || errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
