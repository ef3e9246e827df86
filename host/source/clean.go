package source

import (
	"regexp"
	"strings"
)

var (
	digestSuffix = regexp.MustCompile(`@[A-Za-z0-9+._-]+:[0-9A-Fa-f]{32,}$`)
	hostPort     = regexp.MustCompile(`^(\[[0-9A-Fa-f:.]*\]|[^:@\[\]]*)(:[0-9]*)?$`)
)

// Clean is ref as it may be recorded and shown: a URL without user, password, query and fragment,
// any of which may be a credential (signed URLs carry theirs in the query). Paths stay as they are.
func Clean(ref string) string {
	scheme := withScheme.FindString(ref)
	if scheme == "" {
		return ref
	}
	rest := ref[len(scheme):]
	// What looks like a user comes off before the query: a password that was not escaped may hold
	// any of the characters that end an authority.
	rest = withoutUser(rest)
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		rest = rest[:i]
	}
	return scheme + rest
}

// withoutUser cuts off everything up to the "@" that ends the user.
func withoutUser(rest string) string {
	digest := digestSuffix.FindString(rest)
	rest = strings.TrimSuffix(rest, digest)
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	if at := strings.LastIndexByte(rest[:end], '@'); at >= 0 {
		return withoutUser(rest[at+1:] + digest)
	}
	// "user:pass/word@host": no host looks like "user:pass", so the "@" must come later.
	if !hostPort.MatchString(rest[:end]) {
		if at := strings.LastIndexByte(rest, '@'); at >= 0 {
			rest = rest[at+1:]
		}
	}
	return rest + digest
}
