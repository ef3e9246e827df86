package source

import (
	"fmt"
	"net/url"
	"strings"

	"oras.land/oras-go/v2/registry"
)

// parseReference reads "oci://[user:password@]host/path:tag[@sha256:…]". A checksum beside it pins
// it.
func parseReference(ref, sha256 string) (registry.Reference, *login, error) {
	bad := func(reason, hint string) error {
		return &UnsupportedError{Ref: Clean(ref), Reason: reason, hint: hint}
	}
	const form = "packages in registries are named oci://HOST/PATH:TAG, or with @sha256:… behind it"
	clean := Clean(ref)
	given, err := givenLogin(ref, clean)
	if err != nil {
		return registry.Reference{}, nil, bad(err.Error(), "percent-encode the special characters of user and password")
	}
	parsed, err := registry.ParseReference(clean[len("oci://"):])
	if err != nil {
		return registry.Reference{}, nil, bad("not a reference: "+err.Error(), form)
	}
	if parsed.Reference == "" && sha256 == "" {
		return registry.Reference{}, nil, bad("neither a tag nor a digest", form)
	}
	if sha256 == "" {
		return parsed, given, nil
	}
	pin := "sha256:" + sha256
	if _, err := parsed.Digest(); err == nil && parsed.Reference != pin {
		return registry.Reference{}, nil, bad("it is pinned to another digest than the checksum that was given", "give one of them, or the same")
	}
	parsed.Reference = pin
	if err := parsed.ValidateReferenceAsDigest(); err != nil {
		return registry.Reference{}, nil, bad(fmt.Sprintf("%q is not a sha256 in hex", sha256), "give the 64 digits alone")
	}
	return parsed, given, nil
}

// givenLogin returns user and password that a reference carries: whatever Clean took out of its front.
func givenLogin(ref, clean string) (*login, error) {
	scheme := withScheme.FindString(ref)
	rest := ref[len(scheme):]
	if i := strings.Index(rest, "@"+clean[len(scheme):]); i >= 0 {
		user, password, _ := strings.Cut(rest[:i], ":")
		u, err := url.PathUnescape(user)
		if err != nil {
			return nil, fmt.Errorf("user cannot be read")
		}
		p, err := url.PathUnescape(password)
		if err != nil {
			return nil, fmt.Errorf("password cannot be read")
		}
		return &login{u, p}, nil
	}
	return nil, nil
}
