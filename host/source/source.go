package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"

	"github.com/zarf-host/zarf-host/host/bundle"
)

// Options say how a source is opened.
type Options struct {
	// Bundle is handed on to bundle.Open.
	Bundle bundle.Options
}

// UnsupportedError says that a reference has a form that is not read.
type UnsupportedError struct {
	Ref    string // without credentials
	Reason string
	hint   string
}

// Error names the reference and the reason.
func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("opening package source %q: %s", e.Ref, e.Reason)
}

// Hint says which form to use instead.
func (e *UnsupportedError) Hint() string { return e.hint }

var (
	withScheme  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)
	laterPart   = regexp.MustCompile(`\.part[0-9]{3}$`)
	archiveForm = regexp.MustCompile(`\.tar(\.zst)?$`)
)

// Open opens the package that ref names: a .tar.zst or .tar archive, the .part000 file of a split
// archive, or an unpacked folder. The caller closes the bundle.
func Open(ctx context.Context, ref string, opts Options) (*bundle.Bundle, error) {
	if err := supported(ref); err != nil {
		return nil, err
	}
	info, err := os.Stat(ref)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &UnsupportedError{Ref: ref, Reason: "no such file or folder", hint: "name an archive, a .part000 file or an unpacked folder"}
	}
	if err != nil {
		return nil, fmt.Errorf("opening package source: %w", err)
	}
	if !info.IsDir() && !archiveForm.MatchString(ref) && !strings.HasSuffix(ref, ".part000") {
		return nil, &UnsupportedError{Ref: ref, Reason: "not the name of a package", hint: "packages end in .tar.zst, .tar or .part000"}
	}
	return bundle.Open(ctx, ref, opts.Bundle)
}

// supported judges a reference by its form alone.
func supported(ref string) error {
	scheme := strings.ToLower(withScheme.FindString(ref))
	switch {
	case ref == "":
		return &UnsupportedError{Ref: ref, Reason: "no package named", hint: "name an archive, a .part000 file or an unpacked folder"}
	case ref == "-":
		return &UnsupportedError{Ref: ref, Reason: "a package cannot be read from standard input, since it is read twice", hint: "write it to a file first"}
	case scheme == "oci://":
		return &UnsupportedError{Ref: Clean(ref), Reason: "OCI sources are not read yet", hint: "pull the package to a file and name that"}
	case scheme == "https://" || scheme == "http://":
		return &UnsupportedError{Ref: Clean(ref), Reason: "web sources are not read yet", hint: "download the package to a file and name that"}
	case scheme != "":
		return &UnsupportedError{Ref: Clean(ref), Reason: "unknown scheme " + strings.TrimSuffix(scheme, "://"), hint: "name an archive, a .part000 file or an unpacked folder"}
	case laterPart.MatchString(ref) && !strings.HasSuffix(ref, ".part000"):
		return &UnsupportedError{Ref: ref, Reason: "one part of a split package", hint: "name its .part000 file, beside which all parts lie"}
	}
	return nil
}
