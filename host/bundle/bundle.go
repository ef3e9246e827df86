package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/definition"
	"github.com/zarf-host/zarf-host/host/spec"
)

// Options say how a package is opened. The zero value is right for most callers.
type Options struct {
	// Limits bound what the package may make its reader do.
	Limits Limits
	// MemoryBytes is how much content is kept from the first pass, so that reading small files
	// needs no second one. Default 32 MiB.
	MemoryBytes int64
	// SHA256 is what the bytes of the archive must hash to, in hex. Default: whatever they do. A folder
	// has no such bytes.
	SHA256 string
	// Concurrency is how many files of a Remote are fetched at once. Default 6.
	Concurrency int
}

// File is a file of a package, as it was when the package was opened.
type File struct {
	Path   string // slashes, relative to the root of the package
	Size   int64
	SHA256 string // hex
}

// Bundle is an opened package. Its methods may be used by several goroutines at once. Close it.
type Bundle struct {
	store      store
	limits     Limits
	raw        []byte // zarf.yaml
	definition *spec.Package
	files      []File
	index      map[string]int // path → position in files
	kept       map[string][]byte
	integrity  Integrity
}

// Open reads the package at path once from start to end and refuses it, with a *RefusedError, if
// anything in it breaks a rule. path is an archive, the .part000 file of a split archive, or a
// folder. A package that is too old to have checksums opens, but is not Verified.
func Open(ctx context.Context, path string, opts Options) (*Bundle, error) {
	limits := opts.Limits.withDefaults()
	t, err := openTree(path, limits, opts.SHA256)
	if err != nil {
		return nil, fmt.Errorf("opening package %q: %w", path, err)
	}
	return openFrom(ctx, path, t, limits, opts)
}

// Stream is an archive that lies elsewhere, such as on a web server.
type Stream interface {
	// Open opens the archive at its first byte, once for every pass. Several may be under way.
	Open(ctx context.Context) (io.ReadCloser, error)
	// Close ends what is open.
	Close() error
}

// OpenStream opens an archive that lies elsewhere, whose SHA256 the options have to give. name is
// what errors call it. The bundle owns s from here on, also if it does not open.
func OpenStream(ctx context.Context, name string, s Stream, opts Options) (*Bundle, error) {
	if !isSHA256(opts.SHA256) {
		return nil, errors.Join(fmt.Errorf("opening package %q: %w", name, notSHA256(opts.SHA256)), s.Close())
	}
	limits := opts.Limits.withDefaults()
	t := &archive{
		name: name[strings.LastIndexByte(name, '/')+1:], limits: limits, sum: opts.SHA256, close: s.Close,
		open: func(ctx context.Context) (io.ReadCloser, error) {
			rc, err := s.Open(ctx)
			if err != nil {
				return nil, &sourceError{err}
			}
			return rc, nil
		},
	}
	return openFrom(ctx, name, t, limits, opts)
}

func notSHA256(given string) error { return fmt.Errorf("%q is not a sha256 in lower-case hex", given) }

func openFrom(ctx context.Context, name string, t tree, limits Limits, opts Options) (*Bundle, error) {
	b, err := read(ctx, t, limits, orDefault(opts.MemoryBytes, 32<<20))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening package %q: %w", name, err), t.Close())
	}
	return b, nil
}

// openTree opens what lies at a path. sum is what it must hash to, or "".
func openTree(path string, limits Limits, sum string) (tree, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	switch {
	case sum != "" && !isSHA256(sum):
		return nil, notSHA256(sum)
	case sum != "" && info.IsDir():
		return nil, errors.New("a folder has no checksum of its own that could be compared with the given one")
	case info.IsDir():
		return openFolder(path, limits)
	case !info.Mode().IsRegular():
		return nil, refuse(filepath.Base(path), "neither a file nor a folder")
	case strings.HasSuffix(path, splitSuffix):
		return openSplit(path, limits, sum)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &archive{
		name:   filepath.Base(path),
		limits: limits,
		sum:    sum,
		// Each pass reads through a view of its own, so that passes may run side by side.
		open: func(context.Context) (io.ReadCloser, error) {
			return io.NopCloser(io.NewSectionReader(f, 0, 1<<62)), nil
		},
		close: f.Close,
	}, nil
}

// read makes the first pass and everything that follows from it.
func read(ctx context.Context, t tree, limits Limits, memory int64) (*Bundle, error) {
	s := newScan(limits, memory)
	if err := t.each(ctx, true, s.file); err != nil {
		return nil, err
	}
	b := &Bundle{store: sequential{t}, limits: limits, files: s.files, index: s.index, kept: s.kept}
	return b, b.judge()
}

// judge reads what describes the package and checks everything against it.
func (b *Bundle) judge() (err error) {
	if b.raw = b.kept[DefinitionPath]; b.raw == nil {
		return refuse(DefinitionPath, "missing: this is no package")
	}
	pkg, err := definition.Parse(b.raw)
	if err != nil {
		return &RefusedError{File: DefinitionPath, Reason: "not a package definition", Err: err}
	}
	b.definition = pkg
	if err := checkPathNames(pkg); err != nil {
		return err
	}
	if b.integrity, err = verify(pkg, b.files, b.kept[ChecksumsPath], b.limits); err != nil {
		return err
	}
	b.integrity.Digest, err = packageDigest(pkg, b.files)
	if err != nil && b.integrity.OK {
		return &RefusedError{File: DefinitionPath, Reason: "no digest follows from it", Err: err}
	}
	return nil
}

// Close frees what the package holds open. It leaves the package as it was found.
func (b *Bundle) Close() error { return b.store.Close() }

// Definition is the package's definition; the caller may change what it gets.
func (b *Bundle) Definition() spec.Package {
	pkg, err := definition.Parse(b.raw)
	if err != nil { // cannot be: Open parsed the same bytes
		return *b.definition
	}
	return *pkg
}

// DefinitionBytes is zarf.yaml as it is in the package.
func (b *Bundle) DefinitionBytes() []byte { return slices.Clone(b.raw) }

// Digest is the digest that Zarf gives the package, "sha256:…". It is "" for an unverified package
// whose definition does not say when it was built.
func (b *Bundle) Digest() string { return b.integrity.Digest }

// Integrity says what was checked.
func (b *Bundle) Integrity() Integrity { return b.integrity }

// Verified reports whether every file is what the definition vouches for. An unverified package
// may be looked at, not deployed. It says nothing about who made the package: see Signed.
func (b *Bundle) Verified() bool { return b.integrity.OK }

// Signed reports whether the package claims a signature, which is for whoever has a key to verify.
func (b *Bundle) Signed() bool {
	if b.definition.Build.Signed != nil {
		return *b.definition.Build.Signed
	}
	_, ok := b.index[LegacySignaturePath]
	return ok
}

// Files are the package's files in the order in which it has them.
func (b *Bundle) Files() []File { return slices.Clone(b.files) }

// Has reports whether the package has a file.
func (b *Bundle) Has(path string) bool {
	_, ok := b.index[path]
	return ok
}
