package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/source"
	"github.com/zarf-host/zarf-host/host/spec"
)

// OpenOptions say how a package is opened. The zero value is right for most callers.
type OpenOptions struct {
	Limits bundle.Limits
	// SHA256 is what an archive must hash to, in hex; an https:// one needs it. It pins an oci://
	// reference.
	SHA256 string
	// Architecture is that of the package to take from an oci:// reference that has several. Default:
	// this machine's.
	Architecture string
	// Concurrency is how many files are fetched from a registry at once. Default 6.
	Concurrency int
	// PlainHTTP allows servers that speak no HTTPS, where they are neither on loopback nor in a
	// private network.
	PlainHTTP bool
	// InsecureSkipTLSVerify accepts any certificate of a server.
	InsecureSkipTLSVerify bool
	// Verification says whose signature the package must have.
	Verification Verification
	// Sink is told of what is tried again. The operations use their own.
	Sink event.Sink
}

// Package is an opened and validated package. Close it.
type Package struct {
	bundle *bundle.Bundle
	source string
	signer string
}

// Open opens a package: an archive, the .part000 file of a split one, a folder, an oci:// reference,
// or the https:// address of an archive. It verifies its checksums, of a package in a registry those
// of a file when the file is read. The package itself is never changed.
func Open(ctx context.Context, ref string, o OpenOptions) (*Package, error) {
	b, err := source.Open(ctx, ref, source.Options{
		Bundle:       bundle.Options{Limits: o.Limits, SHA256: o.SHA256, Concurrency: o.Concurrency},
		Architecture: o.Architecture, PlainHTTP: o.PlainHTTP, InsecureSkipTLSVerify: o.InsecureSkipTLSVerify,
		Sink: o.Sink,
	})
	if err != nil {
		return nil, err
	}
	signer, err := o.Verification.check(ctx, b)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening package %q: %w", source.Clean(ref), err), b.Close())
	}
	return &Package{bundle: b, source: source.Clean(ref), signer: signer}, nil
}

// openOptions say how the package of an operation is opened.
func (c Common) openOptions() OpenOptions {
	o := c.Open
	o.Sink = c.Sink
	return o
}

// Close frees what the package holds open.
func (p *Package) Close() error { return p.bundle.Close() }

// Definition returns the package's definition.
func (p *Package) Definition() spec.Package { return p.bundle.Definition() }

// DefinitionYAML returns zarf.yaml as it is in the package.
func (p *Package) DefinitionYAML() []byte { return p.bundle.DefinitionBytes() }

// Digest returns the digest that Zarf gives the package, "sha256:…".
func (p *Package) Digest() string { return p.bundle.Digest() }

// Source returns where the package came from, without credentials.
func (p *Package) Source() string { return p.source }

// Signer is the fingerprint of the key whose signature was verified when the package was opened,
// "sha256:…", empty if none was.
func (p *Package) Signer() string { return p.signer }

// Signed reports whether the package claims a signature: Signer says whether that was verified.
func (p *Package) Signed() bool { return p.bundle.Signed() }

// Integrity says what was checked when the package was opened.
func (p *Package) Integrity() bundle.Integrity { return p.bundle.Integrity() }
