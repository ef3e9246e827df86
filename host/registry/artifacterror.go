package registry

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"
)

// ErrNotFound says that a registry has nothing under a reference.
var ErrNotFound = errors.New("the registry has nothing there")

// AnswerError says that what a registry answered is not what it was asked for.
type AnswerError struct{ Reason string }

func (e *AnswerError) Error() string { return e.Reason }

// ArtifactError says what could not be done with an artifact.
type ArtifactError struct {
	Doing     string
	Reference string
	Err       error
}

func (e *ArtifactError) Error() string { return fmt.Sprintf("%s %q: %v", e.Doing, e.Reference, e.Err) }

// Unwrap returns the cause.
func (e *ArtifactError) Unwrap() error { return e.Err }

// Hint says what can be done about it.
func (e *ArtifactError) Hint() string {
	var answer *errcode.ErrorResponse
	switch {
	case errors.Is(e.Err, ErrNotFound):
		return "look at the spelling of host, path and tag"
	case errors.As(e.Err, &answer) && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden),
		errors.Is(e.Err, auth.ErrBasicCredentialNotFound):
		return "log in with `docker login` or `zarf-host tools registry login`, as somebody who may"
	}
	return ""
}

func artifactError(doing, reference string, err error) error {
	if errors.Is(err, errdef.ErrNotFound) {
		err = fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	forgetQueries(err)
	return &ArtifactError{doing, reference, err}
}

// forgetQueries takes out of an error what addresses carry behind a question mark: where a registry sends
// us elsewhere for a blob, that is a signature.
func forgetQueries(err error) {
	var request *url.Error
	if errors.As(err, &request) {
		if u, parsed := url.Parse(request.URL); parsed == nil {
			request.URL = withoutQuery(u).String()
		}
	}
	var answer *errcode.ErrorResponse
	if errors.As(err, &answer) && answer.URL != nil {
		answer.URL = withoutQuery(answer.URL)
	}
}

func withoutQuery(u *url.URL) *url.URL {
	return &url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
}
