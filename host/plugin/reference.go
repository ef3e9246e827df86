package plugin

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/distribution/reference"
)

// Kind says where a plugin comes from.
type Kind string

// The kinds.
const (
	File     Kind = "file"
	Registry Kind = "registry"
	Package  Kind = "package"
)

const (
	registryScheme = "oci://"
	packageScheme  = "package:"
)

// Reference names a plugin: PATH, oci://HOST/PATH:TAG, oci://HOST/PATH[:TAG]@sha256:… or package:NAME.
type Reference struct {
	Kind Kind
	// Path is that of a file.
	Path string
	// Name is that of a plugin which the package carries.
	Name string
	// Host and Repository are those of a registry; Tag and Digest, "sha256:…", one of which there is.
	Host, Repository, Tag, Digest string
}

var (
	nameForm    = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	digestForm  = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	otherScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)
)

// FormError says that a text names no plugin.
type FormError struct{ reason string }

func (e *FormError) Error() string { return e.reason }

// Hint says which forms there are.
func (e *FormError) Hint() string {
	return "a plugin is named PATH, oci://HOST/PATH:TAG, oci://HOST/PATH@sha256:… or package:NAME"
}

func badForm(format string, args ...any) error { return &FormError{fmt.Sprintf(format, args...)} }

// ParseReference reads the name of a plugin. An error is a *FormError, and tells no password.
func ParseReference(text string) (Reference, error) {
	if rest, ok := strings.CutPrefix(text, packageScheme); ok {
		if !nameForm.MatchString(rest) {
			return Reference{}, badForm("package:%s does not name a plugin: names are lower-case letters, digits and dashes, at most 63", clip(rest))
		}
		return Reference{Kind: Package, Name: rest}, nil
	}
	if rest, ok := strings.CutPrefix(text, registryScheme); ok {
		return parseRegistry(rest)
	}
	switch scheme := otherScheme.FindString(text); {
	case text == "":
		return Reference{}, badForm("no plugin is named")
	case scheme != "":
		return Reference{}, badForm("plugins do not come by %s", scheme)
	}
	return Reference{Kind: File, Path: text}, nil
}

// ParseRegistryReference reads oci://HOST/PATH with a tag, a digest or both.
func ParseRegistryReference(text string) (Reference, error) {
	ref, err := ParseReference(text)
	if err == nil && ref.Kind != Registry {
		return Reference{}, badForm("%q names nothing in a registry", clip(text))
	}
	return ref, err
}

func parseRegistry(text string) (Reference, error) {
	named, digest, _ := strings.Cut(text, "@sha256:")
	if strings.Contains(named, "@") || strings.Contains(digest, "@") {
		return Reference{}, badForm("the oci:// reference has an @ without a sha256 behind it: it holds no user (log in with `docker login` or `zarf-host tools registry login`), and is pinned by @sha256:…")
	}
	parsed, err := reference.Parse(text)
	if err != nil {
		return Reference{}, badForm("oci://%s: %v", clip(text), err)
	}
	repository, ok := parsed.(reference.Named)
	if !ok || reference.Domain(repository) == "" {
		return Reference{}, badForm("oci://%s names no registry: oci://HOST/PATH:TAG", clip(text))
	}
	ref := Reference{Kind: Registry, Host: reference.Domain(repository), Repository: reference.Path(repository)}
	if tagged, ok := parsed.(reference.Tagged); ok {
		ref.Tag = tagged.Tag()
	}
	if digested, ok := parsed.(reference.Digested); ok {
		ref.Digest = digested.Digest().String()
	}
	switch {
	case ref.Tag == "" && ref.Digest == "":
		return Reference{}, badForm("oci://%s has neither a tag nor a digest", clip(text))
	case ref.Digest != "" && !digestForm.MatchString(ref.Digest):
		return Reference{}, badForm("oci://%s: %v", clip(text), errors.New("the digest is not a sha256"))
	}
	return ref, nil
}

// String is what ParseReference reads.
func (r Reference) String() string {
	switch r.Kind {
	case File:
		return r.Path
	case Package:
		return packageScheme + r.Name
	}
	text := registryScheme + r.Where()
	if r.Tag != "" {
		text += ":" + r.Tag
	}
	if r.Digest != "" {
		text += "@" + r.Digest
	}
	return text
}

// Where is the repository with its registry, HOST/PATH.
func (r Reference) Where() string { return r.Host + "/" + r.Repository }

// By is HOST/PATH:TAG or HOST/PATH@sha256:…, by which a registry is asked. A digest overrides a tag
// beside it.
func (r Reference) By() string {
	if r.Digest != "" {
		return r.Where() + "@" + r.Digest
	}
	return r.Where() + ":" + r.Tag
}

// clip bounds what an error shows of what somebody else wrote.
func clip(text string) string {
	if len(text) > 200 {
		return text[:200] + "…"
	}
	return text
}
