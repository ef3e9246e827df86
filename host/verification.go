package host

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/signature"
	"github.com/zarf-host/zarf-host/host/spec"
)

// VerifyMode says when the signature of a package is verified. The words are Zarf's.
type VerifyMode string

// The modes. VerifyIfPossible, the default, takes a package for which there is nothing to verify, or no
// key to verify it with; a signature that is wrong it never takes, nor an unsigned package where a key
// is given.
const (
	VerifyNever      VerifyMode = "never"
	VerifyIfPossible VerifyMode = "if-possible"
	VerifyAlways     VerifyMode = "always"
)

// ParseVerifyMode reads a mode.
func ParseVerifyMode(s string) (VerifyMode, error) {
	switch m := VerifyMode(s); m {
	case VerifyNever, VerifyIfPossible, VerifyAlways:
		return m, nil
	}
	return "", fmt.Errorf("%q is not one of %s, %s, %s", s, VerifyNever, VerifyIfPossible, VerifyAlways)
}

// Verification says whose signature a package must have. The zero value is VerifyIfPossible without a
// key.
type Verification struct {
	Mode VerifyMode
	// Key is the one that has to have signed; nil is none.
	Key *signature.PublicKey
}

// PackageSignatureError says why a package is not taken for signed by the key.
type PackageSignatureError struct {
	// Reason says it for people.
	Reason string
	// Err is what was wrong with the signature, nil where there is none or no key.
	Err  error
	hint string
}

func (e *PackageSignatureError) Error() string {
	if e.Err == nil {
		return "the package's signature cannot be verified: " + e.Reason
	}
	return fmt.Sprintf("the package's signature is refused: %s: %v", e.Reason, e.Err)
}

func (e *PackageSignatureError) Unwrap() error { return e.Err }

// Hint says what to do about it.
func (e *PackageSignatureError) Hint() string { return e.hint }

// check verifies the signature of a package as far as it is asked for. signer is the fingerprint of the
// key that signed, empty where nothing was verified.
func (v Verification) check(ctx context.Context, b *bundle.Bundle) (signer string, err error) {
	switch {
	case v.Mode == VerifyNever:
		return "", nil
	case v.Key == nil && v.Mode != VerifyAlways:
		return "", nil // what is signed is announced as not verified
	case !b.Signed():
		return "", &PackageSignatureError{Reason: "it is not signed", hint: "whoever has the key signs it: `zarf-host sign`"}
	case v.Key == nil:
		return "", &PackageSignatureError{Reason: "no key is given", hint: "name the public key of whoever signed it with --key"}
	}
	if err := checkDefinitionSignature(ctx, b, *v.Key); err != nil {
		return "", err
	}
	return v.Key.Fingerprint()
}

// checkDefinitionSignature checks the signature over zarf.yaml, which vouches for checksums.txt and by
// that for every other file.
func checkDefinitionSignature(ctx context.Context, b *bundle.Bundle, key signature.PublicKey) error {
	path := bundle.SignaturePath
	if !b.Has(path) {
		path = bundle.LegacySignaturePath
	}
	if !b.Has(path) {
		return &PackageSignatureError{
			Reason: "it claims to be signed and has no " + bundle.SignaturePath,
			hint:   "get the package again from where it was published: its signature was taken out",
		}
	}
	data, err := readPackageSignature(ctx, b, path)
	if err == nil {
		err = checkSignature(path, data, key, b.DefinitionBytes())
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == nil {
		return nil
	}
	refused := &PackageSignatureError{Reason: path, Err: err}
	if errors.Is(err, signature.ErrMismatch) {
		refused.hint = "either the key is not the one that it was signed with, or the package was changed after that"
	}
	return refused
}

func readPackageSignature(ctx context.Context, b *bundle.Bundle, path string) ([]byte, error) {
	size, err := b.Size(path)
	if err != nil {
		return nil, err
	}
	if size > signature.MaxPayload {
		return nil, fmt.Errorf("it has %d bytes, at most %d are read", size, signature.MaxPayload)
	}
	return b.ReadFile(ctx, path)
}

// checkSignature checks one of the two forms: a Sigstore bundle, or the signature alone, in base64 as
// cosign sign-blob writes it, or as it is.
func checkSignature(path string, data []byte, key signature.PublicKey, content []byte) error {
	if path == bundle.SignaturePath {
		signed, err := signature.ParseBundle(data)
		if err != nil {
			return err
		}
		return signed.VerifyFile(key, content)
	}
	if decoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(data))); err == nil {
		data = decoded
	}
	return key.Verify(content, data)
}

// VerifiedPackage is a package whose files are those that its key signed.
type VerifiedPackage struct {
	Definition spec.Package
	// Digest is the package's, Signer the fingerprint of the key, both "sha256:…".
	Digest, Signer string
	// Files is how many were compared with the checksums.
	Files int
}

// Verify opens a package and reads all of it: what a registry only declares of its files is not taken
// for verified.
func Verify(ctx context.Context, ref string, o OpenOptions) (VerifiedPackage, error) {
	p, err := Open(ctx, ref, o)
	if err != nil {
		return VerifiedPackage{}, err
	}
	defer func() { _ = p.Close() }() // only read from
	integrity := p.Integrity()
	if !integrity.OK {
		return VerifiedPackage{}, fmt.Errorf("the package cannot be verified: %s", integrity.Reason)
	}
	if integrity.OnDemand {
		all := func(string) bool { return true }
		if err := p.bundle.Walk(ctx, all, func(_ bundle.File, r io.Reader) error {
			_, err := io.Copy(io.Discard, r)
			return err
		}); err != nil {
			return VerifiedPackage{}, fmt.Errorf("verifying the files of the package: %w", err)
		}
	}
	return VerifiedPackage{Definition: p.Definition(), Digest: p.Digest(), Signer: p.Signer(), Files: integrity.Files}, nil
}
