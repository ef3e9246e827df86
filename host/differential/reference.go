package differential

import (
	"strings"

	"github.com/zarf-host/zarf-host/host/image"
)

// movingTags are what authors use for whatever is newest: such an image is never taken for unchanged.
var movingTags = map[string]bool{"latest": true, "stable": true, "nightly": true}

// IsMoving reports whether an image is one whose tag is meant to move, no tag included. A digest pins
// any tag.
func IsMoving(ref image.Reference) bool { return ref.Digest == "" && movingTags[ref.Tag] }

// Repo is a reference to a git repository as packages have it, URL@ref.
type Repo struct {
	URL string
	// Ref is a tag, a commit or a full reference such as refs/heads/main; empty for the default branch.
	Ref string
}

// ParseRepo reads a reference to a git repository. A user in the URL is no ref.
func ParseRepo(text string) Repo {
	url, ref := text, ""
	if at := strings.LastIndexByte(text, '@'); at > strings.LastIndexByte(text, '/') && strings.Contains(text[:max(at, 0)], "://") {
		url, ref = text[:at], text[at+1:]
	} else if at := strings.Index(text, "@refs/"); at > 0 {
		url, ref = text[:at], text[at+1:]
	}
	if scheme, rest, ok := strings.Cut(url, "://"); ok {
		if user, host, ok := strings.Cut(rest, "@"); ok && !strings.Contains(user, "/") {
			url = scheme + "://" + host // who asks makes no other repository of it, and may be a secret
		}
	}
	return Repo{
		URL: strings.TrimSuffix(strings.TrimSuffix(url, "/"), ".git"),
		Ref: strings.TrimPrefix(ref, "refs/tags/"),
	}
}

// String is the reference in one form, whatever form it had, and without a user.
func (r Repo) String() string {
	if r.Ref == "" {
		return r.URL
	}
	return r.URL + "@" + r.Ref
}

// IsCommit reports whether the reference is one to a commit, which cannot move.
func (r Repo) IsCommit() bool { return isHex(r.Ref, 40) || isHex(r.Ref, 64) }

// IsMoving reports whether the reference is neither a tag nor a commit.
func (r Repo) IsMoving() bool { return r.Ref == "" || strings.HasPrefix(r.Ref, "refs/") }

func isHex(s string, length int) bool {
	return len(s) == length && strings.Trim(s, "0123456789abcdef") == ""
}
