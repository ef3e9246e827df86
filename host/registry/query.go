package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"

	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"
)

// askConcurrency is how many questions are under way at once.
const askConcurrency = 6

// AskError says that a registry did not tell what it has.
type AskError struct {
	Registry string // its address
	Err      error
}

func (e *AskError) Error() string {
	return fmt.Sprintf("asking the registry at %s: %v", e.Registry, e.Err)
}
func (e *AskError) Unwrap() error { return e.Err }

// Hint says what can be done about it.
func (e *AskError) Hint() string {
	if Unauthorized(e.Err) {
		return "the credentials in the state of the cluster are not accepted there: init --replace puts others in their place"
	}
	return ""
}

// Digests asks for the digests that the registry has under references, "…:tag" or "…@sha256:…", by
// HEAD alone. A reference that it does not have is not in the answer. A push by this client does not
// ask again for what it has.
func (c *Client) Digests(ctx context.Context, references ...string) (map[string]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	where := map[string]registry.Reference{}
	for _, reference := range references {
		ref, err := c.locate(reference)
		if err != nil {
			return nil, err
		}
		where[reference] = ref
	}
	var mu sync.Mutex
	found := map[string]string{}
	asked := map[string]bool{}
	err := c.try(ctx, func() int { return len(asked) }, func(ctx context.Context, s *session) error {
		var open []string
		for reference := range where {
			if !asked[reference] {
				open = append(open, reference)
			}
		}
		slices.Sort(open)
		return each(ctx, askConcurrency, open, func(ctx context.Context, reference string) error {
			d, err := s.resolve(ctx, where[reference].Repository, where[reference].Reference)
			if err != nil && !errors.Is(err, errdef.ErrNotFound) {
				return fmt.Errorf("asking for %q: %w", reference, err)
			}
			mu.Lock()
			defer mu.Unlock()
			asked[reference] = true
			if err == nil {
				found[reference] = d.String()
			}
			c.known.tagged(reference, d) // with no digest where there is nothing, whatever was there before
			return nil
		})
	})
	if err != nil {
		return nil, &AskError{Registry: c.opts.Address, Err: err}
	}
	return found, nil
}

// Forget makes the next push ask again for everything: somebody may have deleted what was there.
func (c *Client) Forget() { c.known.forget() }

// Tags are the tags of a repository, which is named as in a reference, with the registry. One that
// does not exist has none.
func (c *Client) Tags(ctx context.Context, repository string) ([]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ref, err := c.locate(repository)
	if err != nil {
		return nil, err
	}
	var tags []string
	err = c.try(ctx, func() int { return 0 }, func(ctx context.Context, s *session) error {
		ctx, cancel := c.limited(ctx)
		defer cancel()
		tags = nil
		err := s.repository(ref.Repository).Tags(ctx, "", func(page []string) error {
			tags = append(tags, page...)
			return nil
		})
		var answer *errcode.ErrorResponse
		if errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound {
			return nil
		}
		return c.explain(ctx, err)
	})
	if err != nil {
		return nil, fmt.Errorf("listing the tags of %q: %w", repository, err)
	}
	return tags, nil
}

// Delete deletes a tag, leaving the image to other tags, or an image by its digest, with all its tags.
// What is not there is deleted already. A registry that will not do it is ErrDeleteRefused.
func (c *Client) Delete(ctx context.Context, reference string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	ref, err := c.locate(reference)
	if err != nil {
		return err
	}
	err = c.try(ctx, func() int { return 0 }, func(ctx context.Context, s *session) error {
		ctx, cancel := c.limited(auth.AppendRepositoryScope(ctx, ref, auth.ActionPull, auth.ActionDelete))
		defer cancel()
		return c.explain(ctx, s.delete(ctx, ref))
	})
	if err != nil {
		return fmt.Errorf("deleting %q: %w", reference, err)
	}
	// The blobs may go with it.
	c.known.forget()
	return nil
}

func (s *session) delete(ctx context.Context, ref registry.Reference) error {
	url := fmt.Sprintf("%s://%s/v2/%s/manifests/%s", s.scheme, ref.Host(), ref.Repository, ref.Reference)
	request, err := http.NewRequestWithContext(ctx, http.MethodDelete, url, nil)
	if err != nil {
		return err
	}
	response, err := s.auth.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusAccepted, http.StatusOK, http.StatusNoContent, http.StatusNotFound:
		return nil
	}
	answer := &errcode.ErrorResponse{Method: request.Method, URL: request.URL, StatusCode: response.StatusCode}
	var body struct {
		Errors errcode.Errors `json:"errors"`
	}
	// An answer that is not JSON has its status for a reason.
	if json.NewDecoder(io.LimitReader(response.Body, 64<<10)).Decode(&body) == nil {
		answer.Errors = body.Errors
	}
	unsupported := func(e errcode.Error) bool { return e.Code == errcode.ErrorCodeUnsupported }
	// Registries that know no deletion by tag take the tag for a digest, which it is not.
	byTag := response.StatusCode == http.StatusBadRequest && ref.ValidateReferenceAsDigest() != nil
	if byTag || response.StatusCode == http.StatusMethodNotAllowed || response.StatusCode == http.StatusNotImplemented ||
		slices.ContainsFunc(answer.Errors, unsupported) {
		return fmt.Errorf("%w: %w", ErrDeleteRefused, answer)
	}
	return answer
}
