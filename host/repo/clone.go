package repo

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/http"
)

// remote is what Zarf calls where a clone came from.
const remote = "online-upstream"

// CloneError says that a repository could not be cloned.
type CloneError struct {
	URL string // without credentials
	Err error
}

func (e *CloneError) Error() string { return fmt.Sprintf("cloning %s: %v", e.URL, e.Err) }

// Unwrap returns the cause.
func (e *CloneError) Unwrap() error { return e.Err }

// Hint says what may be wrong.
func (e *CloneError) Hint() string {
	switch {
	case errors.Is(e.Err, transport.ErrAuthenticationRequired), errors.Is(e.Err, transport.ErrAuthorizationFailed):
		return "put the credentials into the address, as https://USER:PASSWORD@HOST/…; they are not carried in the package"
	case errors.As(e.Err, new(git.NoMatchingRefSpecError)):
		return "what stands behind the @ is a tag or a commit; a branch is written refs/heads/NAME"
	}
	return ""
}

// Split takes a URL and the reference at its end apart: a tag, a commit, or a reference in full.
func Split(text string) (url, ref string) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return text, ""
	}
	host, path, ok := strings.Cut(rest, "/")
	if !ok {
		return text, ""
	}
	path, ref, _ = strings.Cut(path, "@")
	return scheme + "://" + host + "/" + path, ref
}

// Clone clones what a URL names into a folder. Without a reference behind it that is everything; a tag
// is fetched alone. Tags and commits are checked out on a branch named after them, as Zarf's pushes
// expect it. No credentials get into the folder.
func Clone(ctx context.Context, text, folder string) error {
	address, ref := Split(text)
	clean, auth, err := credentials(address)
	if err != nil {
		return err
	}
	err = clone(ctx, clean, ref, folder, auth)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return &CloneError{URL: clean + at(ref), Err: err}
	}
	return nil
}

func at(ref string) string {
	if ref == "" {
		return ""
	}
	return "@" + ref
}

// credentials takes them out of an address.
func credentials(address string) (clean string, auth transport.AuthMethod, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", nil, errors.New("a repository's address cannot be read: percent-encode special characters of user and password")
	}
	if u.User == nil || u.Scheme != "http" && u.Scheme != "https" {
		return address, nil, nil
	}
	password, _ := u.User.Password()
	auth = &http.BasicAuth{Username: u.User.Username(), Password: password}
	u.User = nil
	return u.String(), auth, nil
}

func clone(ctx context.Context, address, ref, folder string, auth transport.AuthMethod) error {
	options := &git.CloneOptions{URL: address, RemoteName: remote, Auth: auth}
	full := plumbing.ReferenceName(ref)
	if ref != "" && !strings.HasPrefix(ref, "refs/") {
		full = plumbing.NewTagReferenceName(ref)
	}
	commit := plumbing.IsHash(ref)
	if ref != "" && !commit {
		options.Tags, options.ReferenceName, options.SingleBranch = git.NoTags, full, true
	}
	r, err := git.PlainCloneContext(ctx, folder, false, options)
	if errors.Is(err, transport.ErrEmptyRemoteRepository) {
		return errors.New("the repository is empty")
	}
	if err != nil || ref == "" || full.IsBranch() {
		return err
	}
	hash := plumbing.NewHash(ref)
	if !commit {
		at, err := r.ResolveRevision(plumbing.Revision(full))
		if err != nil {
			return fmt.Errorf("looking for %q: %w", ref, err)
		}
		hash = *at
	}
	return onBranch(r, "zarf-ref-"+strings.TrimPrefix(ref, "refs/tags/"), hash)
}

// onBranch checks a commit out on a branch of that name.
func onBranch(r *git.Repository, name string, hash plumbing.Hash) error {
	if _, err := r.CommitObject(hash); err != nil {
		return fmt.Errorf("the repository has no commit %s: %w", hash, err)
	}
	tree, err := r.Worktree()
	if err != nil {
		return err
	}
	return tree.Checkout(&git.CheckoutOptions{Hash: hash, Branch: plumbing.NewBranchReferenceName(name), Create: true, Force: true})
}
