package bundle

import (
	"context"
	"io"
)

// store is where the content of an opened package is read from, as often as need be.
type store interface {
	// walk hands every wanted file to fn, in the order in which the store has them. Nothing in what
	// fn reads is verified yet. fn reads to the end; its first error ends the walk.
	walk(ctx context.Context, wanted []File, fn func(f File, r io.Reader) error) error
	Close() error
}

// sequential is the store of a package that has to be read from its start: an archive or a folder.
type sequential struct{ tree }

// walk ends with the last wanted file.
func (s sequential) walk(ctx context.Context, wanted []File, fn func(f File, r io.Reader) error) error {
	missing := make(map[string]File, len(wanted))
	for _, f := range wanted {
		missing[f.Path] = f
	}
	err := s.each(ctx, false, func(path string, _ int64, r io.Reader) error {
		f, ok := missing[path]
		if !ok {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		delete(missing, path)
		if err := fn(f, r); err != nil {
			return err
		}
		if len(missing) == 0 {
			return errStop
		}
		return nil
	})
	if err != nil {
		return err
	}
	for path := range missing {
		return refuse(path, "is gone since the package was verified")
	}
	return nil
}
