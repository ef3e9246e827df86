package bundle

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
)

// Walk hands every file that want asks for to fn, in the order in which the package has them. The
// bytes are hashed again on their way: a reader ends with an error instead of io.EOF if they are
// not those that were verified, so whoever acts on bytes reads to the end first.
func (b *Bundle) Walk(ctx context.Context, want func(path string) bool, fn func(f File, r io.Reader) error) error {
	var wanted []File
	inMemory := true
	for _, f := range b.files {
		if want(f.Path) {
			wanted = append(wanted, f)
			_, kept := b.kept[f.Path]
			inMemory = inMemory && kept
		}
	}
	if inMemory {
		for _, f := range wanted {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := fn(f, bytes.NewReader(b.kept[f.Path])); err != nil {
				return err
			}
		}
		return nil
	}
	return b.store.walk(ctx, wanted, func(f File, r io.Reader) error {
		verified := &verifiedReader{r: r, want: f, sum: sha256.New()}
		if err := fn(f, verified); err != nil {
			return err
		}
		_, err := io.Copy(io.Discard, verified)
		return err
	})
}

// ReadFile returns the content of one file, which may be up to Limits.ReadBytes large. It is an
// error that wraps fs.ErrNotExist if the package has no such file.
func (b *Bundle) ReadFile(ctx context.Context, path string) ([]byte, error) {
	i, ok := b.index[path]
	if !ok {
		return nil, fmt.Errorf("reading %q from the package: %w", path, fs.ErrNotExist)
	}
	if size := b.files[i].Size; size > b.limits.ReadBytes {
		return nil, fmt.Errorf("reading %q from the package: its %d bytes are too many to hold in memory, which are limited to %d", path, size, b.limits.ReadBytes)
	}
	var data []byte
	err := b.Walk(ctx, func(p string) bool { return p == path }, func(f File, r io.Reader) (err error) {
		data, err = io.ReadAll(r)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading %q from the package: %w", path, err)
	}
	return data, nil
}

// verifiedReader ends with an error if what went through it is not the file that was verified.
type verifiedReader struct {
	r    io.Reader
	want File
	sum  hash.Hash
	n    int64
}

func (v *verifiedReader) Read(p []byte) (int, error) {
	n, err := v.r.Read(p)
	v.sum.Write(p[:n])
	v.n += int64(n)
	if err != io.EOF {
		return n, err
	}
	if v.n != v.want.Size || hex.EncodeToString(v.sum.Sum(nil)) != v.want.SHA256 {
		return n, refuse(v.want.Path, "changed since the package was verified")
	}
	return n, io.EOF
}
