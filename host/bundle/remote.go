package bundle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
)

// Remote serves the files of a published package one by one, as a registry does. Nothing that it
// yields is trusted. Its methods may be used by several goroutines at once.
type Remote interface {
	// Open opens a file at its first byte. A file that is not there is an error that wraps
	// fs.ErrNotExist.
	Open(ctx context.Context, f File) (io.ReadCloser, error)
	// Close ends what is open.
	Close() error
}

// OpenRemote opens a package that was published: manifest is its OCI manifest, whose digest the
// caller has verified, and r serves the files that it names. The definition and checksums.txt are
// fetched and everything that the manifest says is checked against them; other files are fetched
// when they are asked for, and verified then. name is what errors call the package. The bundle owns
// r from here on, also if it does not open.
func OpenRemote(ctx context.Context, name string, manifest []byte, r Remote, opts Options) (*Bundle, error) {
	b, err := openRemote(ctx, manifest, r, opts)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening package %q: %w", name, err), r.Close())
	}
	return b, nil
}

func openRemote(ctx context.Context, manifest []byte, r Remote, opts Options) (*Bundle, error) {
	limits := opts.Limits.withDefaults()
	files, err := parseManifest(manifest, limits)
	if err != nil {
		return nil, err
	}
	b := &Bundle{
		store:  &remote{source: r, concurrency: orDefault(opts.Concurrency, 6), memory: orDefault(opts.MemoryBytes, 32<<20), read: map[string][]byte{}},
		limits: limits, files: files, index: map[string]int{}, kept: map[string][]byte{},
	}
	// What a file is kept for has a limit of its own, which the manifest must not exceed either.
	sizes := newScan(limits, 0)
	for i, f := range files {
		b.index[f.Path] = i
		if _, err := sizes.keeps(f.Path, f.Size); err != nil {
			return nil, err
		}
	}
	describing := func(path string) bool { return path == DefinitionPath || path == ChecksumsPath }
	err = b.Walk(ctx, describing, func(f File, r io.Reader) (err error) {
		b.kept[f.Path], err = io.ReadAll(r)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := b.judge(); err != nil {
		return nil, err
	}
	b.integrity.OnDemand = true
	published := "sha256:" + hashOf(manifest)
	// Nothing vouches for what an unverified package consists of, so nothing can be computed of it.
	if b.integrity.OK && b.integrity.Digest != published {
		return nil, refuse(manifestName, "its digest is %s, the digest of the package that it describes is %s", published, b.integrity.Digest)
	}
	b.integrity.Digest = published
	return b, nil
}

// remote is the store of a package whose files are fetched one by one.
type remote struct {
	source      Remote
	concurrency int

	mu     sync.Mutex
	memory int64             // left to keep files in
	read   map[string][]byte // verified files that were kept
}

func (r *remote) Close() error { return r.source.Close() }

// walk fetches the next files while fn has one, and keeps small ones.
func (r *remote) walk(ctx context.Context, wanted []File, fn func(f File, r io.Reader) error) error {
	ctx, cancel := context.WithCancel(ctx)
	fetched := make([]*ahead, len(wanted))
	next := 0
	defer func() {
		cancel()
		for _, a := range fetched[:next] {
			for a != nil && (<-a.chunks != nil) { // until its goroutine has ended
				continue
			}
		}
	}()
	for i, f := range wanted {
		if err := ctx.Err(); err != nil {
			return err
		}
		for ; next < len(wanted) && next < i+r.concurrency; next++ {
			if r.has(wanted[next].Path) == nil {
				fetched[next] = readAhead(ctx, wanted[next], r.opener(wanted[next]))
			}
		}
		if fetched[i] == nil {
			if err := fn(f, bytes.NewReader(r.has(f.Path))); err != nil {
				return err
			}
			continue
		}
		if err := r.hand(f, &namedReader{path: f.Path, r: fetched[i]}, fn); err != nil {
			return err
		}
	}
	return nil
}

// hand hands over one file, and keeps it if fn, which verifies it, is content with it.
func (r *remote) hand(f File, body io.Reader, fn func(f File, r io.Reader) error) error {
	if !r.reserve(f) {
		return fn(f, body)
	}
	content := bytes.NewBuffer(make([]byte, 0, f.Size))
	if err := fn(f, io.TeeReader(body, content)); err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.memory += f.Size
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read[f.Path] = content.Bytes()
	return nil
}

// reserve takes the memory to keep a file in, if it is one to keep.
func (r *remote) reserve(f File) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !keepsContent(f.Path, f.Size) || f.Size > keepable || f.Size > r.memory {
		return false
	}
	r.memory -= f.Size
	return true
}

// has is the content of a file that was kept, never nil for one.
func (r *remote) has(path string) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.read[path]
}

func (r *remote) opener(f File) func(context.Context) (io.ReadCloser, error) {
	return func(ctx context.Context) (io.ReadCloser, error) {
		rc, err := r.source.Open(ctx, f)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, &RefusedError{File: f.Path, Reason: "named in the manifest, but not there", Err: err}
		case err != nil:
			return nil, &sourceError{err}
		}
		return rc, nil
	}
}

// namedReader says which file could not be fetched.
type namedReader struct {
	path string
	r    io.Reader
}

func (n *namedReader) Read(p []byte) (int, error) {
	count, err := n.r.Read(p)
	var outside *sourceError
	if errors.As(err, &outside) {
		err = &sourceError{fmt.Errorf("fetching %q: %w", n.path, outside.err)}
	}
	return count, err
}
