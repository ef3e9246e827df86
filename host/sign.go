package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/create"
	"github.com/zarf-host/zarf-host/host/definition"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/signature"
	"github.com/zarf-host/zarf-host/host/source"
	"github.com/zarf-host/zarf-host/host/spec"
)

// SignOptions say which package is signed, and with what.
type SignOptions struct {
	Common
	// Source is a package as Open takes it. Open.Verification says whose signature it must have already.
	Source string
	// Output is the folder that the signed archive is written into. Default: the one of the archive, or
	// the current one for a package that lies elsewhere.
	Output string
	// Key signs.
	Key signature.PrivateKey
	// Overwrite replaces a signature that the package has.
	Overwrite bool
}

// Signed is a package that was signed.
type Signed struct {
	// File is the archive, Bytes how large it is.
	File  string
	Bytes int64
	// Digest is the package's, "sha256:…".
	Digest string
	// Signer is the fingerprint of the key, "sha256:…".
	Signer string
}

// ErrSigned says that a package has a signature already.
var ErrSigned = errors.New("the package is signed already")

// Sign writes the archive of a package with a signature over its definition. Its other files stay as
// they are; an archive of that name is replaced when all is there.
func Sign(ctx context.Context, o SignOptions) (Signed, error) {
	o.Common = o.defaulted()
	ctx, cancel := o.bounded(ctx)
	defer cancel()
	folder := cmp.Or(o.Output, besides(o.Source))
	if err := errors.Join(o.checkTempDir(), isFolder(folder)); err != nil {
		return Signed{}, err
	}
	p, err := Open(ctx, o.Source, o.openOptions())
	if err != nil {
		return Signed{}, err
	}
	defer func() { _ = p.Close() }() // only read from
	work, err := os.MkdirTemp(o.TempDir, "zarf-host-sign-")
	if err != nil {
		return Signed{}, fmt.Errorf("making a folder for temporary files: %w", err)
	}
	defer func() {
		if err := os.RemoveAll(work); err != nil {
			o.say(event.Warn, "sign", fmt.Sprintf("deleting temporary files: %v", err))
		}
	}()
	pkg, files, err := signBundle(ctx, p.bundle, o.Key, o.Overwrite, work)
	if err != nil {
		return Signed{}, fmt.Errorf("signing %s: %w", source.Clean(o.Source), err)
	}
	out := Signed{File: filepath.Join(folder, bundle.FileName(&pkg))}
	if out.Signer, err = o.Key.Public().Fingerprint(); err != nil {
		return Signed{}, err
	}
	if out.Digest, err = bundle.Digest(files); err != nil {
		return Signed{}, fmt.Errorf("computing the package's digest: %w", err)
	}
	out.Bytes, err = writeWhole(ctx, out.File, files, pkg.Metadata.Uncompressed)
	return out, err
}

// besides is the folder in which a package on this machine lies, the current one for others.
func besides(ref string) string {
	if strings.Contains(ref, "://") {
		return "."
	}
	return filepath.Dir(filepath.Clean(ref))
}

// signBundle brings the files of an opened package to disk, in a folder, and signs them.
func signBundle(ctx context.Context, b *bundle.Bundle, key signature.PrivateKey, overwrite bool, work string) (spec.Package, []bundle.Content, error) {
	if !b.Verified() {
		return spec.Package{}, nil, &PreflightError{Problems: []string{"the package cannot be verified: " + b.Integrity().Reason}}
	}
	if b.Signed() && !overwrite {
		return spec.Package{}, nil, &hintedSigned{}
	}
	files, err := fetched(ctx, b, create.Store{Dir: work})
	if err != nil {
		return spec.Package{}, nil, err
	}
	return signFiles(b.Definition(), files, key)
}

// hintedSigned is ErrSigned with the way out.
type hintedSigned struct{}

func (*hintedSigned) Error() string { return ErrSigned.Error() }
func (*hintedSigned) Unwrap() error { return ErrSigned }

// Hint says what to do about it.
func (*hintedSigned) Hint() string { return "`zarf-host sign --overwrite` replaces the signature" }

// signatureVersion is the first Zarf that reads signatures in bundles.
const signatureVersion = "v0.71.0"

// signFiles signs the files of a package. The definition says that it is signed, as Zarf has it, and is
// what is signed: with checksums.txt, whose checksum it has, it vouches for every other file.
func signFiles(pkg spec.Package, files []bundle.Content, key signature.PrivateKey) (spec.Package, []bundle.Content, error) {
	yes := true
	pkg.Build.Signed = &yes
	if !slices.Contains(pkg.Build.ProvenanceFiles, bundle.SignaturePath) {
		pkg.Build.ProvenanceFiles = append(slices.Clone(pkg.Build.ProvenanceFiles), bundle.SignaturePath)
	}
	if !slices.ContainsFunc(pkg.Build.VersionRequirements, func(r spec.VersionRequirement) bool { return r.Version == signatureVersion }) {
		pkg.Build.VersionRequirements = append(slices.Clone(pkg.Build.VersionRequirements), spec.VersionRequirement{
			Version: signatureVersion, Reason: "This package contains a bundle format signature which requires Zarf " + signatureVersion + " or later",
		})
	}
	raw, err := definition.Marshal(&pkg)
	if err != nil {
		return pkg, nil, err
	}
	signed, err := key.SignFile(raw)
	if err != nil {
		return pkg, nil, err
	}
	out := slices.DeleteFunc(slices.Clone(files), func(f bundle.Content) bool {
		return f.Path == bundle.DefinitionPath || f.Path == bundle.SignaturePath || f.Path == bundle.LegacySignaturePath
	})
	return pkg, append(out, bundle.NewContent(bundle.DefinitionPath, raw), bundle.NewContent(bundle.SignaturePath, signed)), nil
}

// reopenSigned signs an opened package and opens what came of it, in a folder.
func reopenSigned(ctx context.Context, b *bundle.Bundle, key signature.PrivateKey, work string) (*bundle.Bundle, error) {
	pkg, files, err := signBundle(ctx, b, key, false, work)
	if err != nil {
		return nil, err
	}
	name := filepath.Join(work, "signed.tar")
	if _, err := writeWhole(ctx, name, files, true); err != nil {
		return nil, fmt.Errorf("signing package %q: %w", pkg.Metadata.Name, err)
	}
	return bundle.Open(ctx, name, bundle.Options{})
}
