package create

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/opencontainers/go-digest"
)

// Store keeps blobs by their digest in a folder. What it has is whole and is what its digest says; it
// may be shared by several programs at once.
type Store struct{ Dir string }

// Path is where a blob is, or would be.
func (s Store) Path(d digest.Digest) string {
	return filepath.Join(s.Dir, d.Algorithm().String(), d.Encoded())
}

// Has reports whether the store has a blob, after looking at every byte of it. One that was spoilt is
// deleted.
func (s Store) Has(ctx context.Context, d digest.Digest, size int64) (bool, error) {
	f, err := os.Open(s.Path(d))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }() // only read from
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	if info.Size() == size {
		verifier := d.Verifier()
		if _, err := io.Copy(verifier, readerWith{ctx, f}); err != nil {
			return false, err
		}
		if verifier.Verified() {
			now := time.Now()
			_ = os.Chtimes(f.Name(), now, now) // its age is since when nobody used it
			return true, nil
		}
	}
	return false, os.Remove(s.Path(d))
}

// Put adds a blob. Nothing is left of one that is not what its digest says.
func (s Store) Put(ctx context.Context, d digest.Digest, size int64, content io.Reader) (err error) {
	if err := d.Validate(); err != nil {
		return err
	}
	dir := filepath.Dir(s.Path(d))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // it is gone where all went well
	verifier := d.Verifier()
	n, err := io.Copy(io.MultiWriter(f, verifier), io.LimitReader(readerWith{ctx, content}, size+1))
	switch {
	case err != nil:
	case n != size:
		err = fmt.Errorf("blob %s has other than its %d bytes", d, size)
	case !verifier.Verified():
		err = fmt.Errorf("what was given as blob %s is something else", d)
	}
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), s.Path(d))
}

// readerWith ends with its context.
type readerWith struct {
	ctx context.Context
	r   io.Reader
}

func (r readerWith) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.r.Read(p)
}
