package host

import (
	"context"
	"fmt"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/source"
	"github.com/zarf-host/zarf-host/host/spec"
)

// OpenOptions say how a package is opened. The zero value is right for most callers.
type OpenOptions struct {
	Limits bundle.Limits
}

// Package is an opened and validated package. Close it.
type Package struct {
	bundle *bundle.Bundle
	source string
}

// Open opens a package (an archive, the .part000 file of a split one, or a folder), verifies its
// checksums and validates its definition. The package itself is never changed.
func Open(ctx context.Context, ref string, o OpenOptions) (*Package, error) {
	b, err := source.Open(ctx, ref, source.Options{Bundle: bundle.Options{Limits: o.Limits}})
	if err != nil {
		return nil, fmt.Errorf("opening package %q: %w", source.Clean(ref), err)
	}
	return &Package{bundle: b, source: source.Clean(ref)}, nil
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

// Signed reports whether the package claims a signature. Signatures are not verified yet.
func (p *Package) Signed() bool { return p.bundle.Signed() }

// Integrity says what was checked when the package was opened.
func (p *Package) Integrity() bundle.Integrity { return p.bundle.Integrity() }
