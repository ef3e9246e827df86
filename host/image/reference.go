package image

import (
	"errors"
	"fmt"
	"strings"

	"github.com/distribution/reference"
)

// Reference is a reference to an image in full: what a user may leave out is filled in.
type Reference struct {
	Host   string // the registry, such as docker.io
	Path   string // the repository in it, such as library/nginx
	Tag    string // "latest" if neither tag nor digest was given; "" beside a lone digest
	Digest string // sha256:…, or ""
}

// Parse reads a reference as Zarf does: docker.io and library are implied, and so is the tag latest.
func Parse(text string) (Reference, error) {
	parsed, err := reference.ParseAnyReference(strings.TrimPrefix(text, "oci://"))
	if err != nil {
		return Reference{}, fmt.Errorf("parsing image reference %q: %w", text, err)
	}
	named, ok := parsed.(reference.Named)
	if !ok {
		return Reference{}, fmt.Errorf("parsing image reference %q: %w", text, errors.New("a digest alone names no image"))
	}
	ref := Reference{Host: reference.Domain(named), Path: reference.Path(named)}
	if tagged, ok := parsed.(reference.Tagged); ok {
		ref.Tag = tagged.Tag()
	}
	if digested, ok := parsed.(reference.Digested); ok {
		ref.Digest = digested.Digest().String()
	}
	if ref.Tag == "" && ref.Digest == "" {
		ref.Tag = "latest"
	}
	return ref, nil
}

// Name is host and path, without tag and digest.
func (r Reference) Name() string { return r.Host + "/" + r.Path }

// String is the reference in full, by which images/index.json of a package names it.
func (r Reference) String() string {
	s := r.Name()
	if r.Tag != "" {
		s += ":" + r.Tag
	}
	if r.Digest != "" {
		s += "@" + r.Digest
	}
	return s
}

// tagOrDigest is what selects the image in its repository. A digest overrides a tag beside it.
func (r Reference) tagOrDigest() string {
	if r.Digest != "" {
		return "@" + r.Digest
	}
	return ":" + r.Tag
}
