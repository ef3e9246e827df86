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

var (
	withScheme  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)
	laterPart   = regexp.MustCompile(`\.part[0-9]{3}$`)
	archiveForm = regexp.MustCompile(`\.tar(\.zst)?$`)
)

// Open opens the package that ref names: a .tar.zst or .tar archive, the .part000 file of a split
// archive, an unpacked folder, an oci:// reference, or the https:// address of an archive. The caller
// closes the bundle. Errors to tell apart: *UnsupportedError, *FetchError, *bundle.RefusedError and
// *bundle.ArchitectureError.
func Open(ctx context.Context, ref string, opts Options) (*bundle.Bundle, error) {
	if err := supported(ref); err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	switch schemeOf(ref) {
	case "oci":
		return openOCI(ctx, ref, opts)
	case "https", "http":
		return openWeb(ctx, ref, opts)
	}
	info, err := os.Stat(ref)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &UnsupportedError{Ref: ref, Reason: "no such file or folder", hint: forms}
	}
	if err != nil {
		return nil, fmt.Errorf("opening package %q: %w", ref, err)
	}
	if !info.IsDir() && !archiveForm.MatchString(ref) && !strings.HasSuffix(ref, ".part000") {
		return nil, &UnsupportedError{Ref: ref, Reason: "not the name of a package", hint: "packages end in .tar.zst, .tar or .part000"}
	}
	return bundle.Open(ctx, ref, opts.Bundle)
}

// forms are the forms of a source, for hints.
const forms = "name an archive, a .part000 file, an unpacked folder, an oci:// reference or an https:// address"

func schemeOf(ref string) string {
	return strings.ToLower(strings.TrimSuffix(withScheme.FindString(ref), "://"))
}

// supported judges a reference by its form alone.
func supported(ref string) error {
	scheme := schemeOf(ref)
	switch {
	case ref == "":
		return &UnsupportedError{Ref: ref, Reason: "no package named", hint: forms}
	case ref == "-":
		return &UnsupportedError{Ref: ref, Reason: "a package cannot be read from standard input, since it is read twice", hint: "write it to a file first"}
	case scheme == "oci" || scheme == "https" || scheme == "http":
		return nil
	case scheme != "":
		return &UnsupportedError{Ref: Clean(ref), Reason: "unknown scheme " + scheme, hint: forms}
	case laterPart.MatchString(ref) && !strings.HasSuffix(ref, ".part000"):
		return &UnsupportedError{Ref: ref, Reason: "one part of a split package", hint: "name its .part000 file, beside which all parts lie"}
	}
	return nil
}
