package bundle

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// folder is a tree of plain files: an archive that was unpacked.
type folder struct {
	root   *os.Root
	limits Limits
}

func openFolder(path string, limits Limits) (*folder, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &folder{root: root, limits: limits}, nil
}

func (f *folder) Close() error { return f.root.Close() }

func (f *folder) each(ctx context.Context, _ bool, fn func(string, int64, io.Reader) error) error {
	seen := newNames(f.limits, "")
	var total int64
	err := fs.WalkDir(f.root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if p == "." {
			return nil
		}
		clean, reason := seen.add(p, d.IsDir())
		if reason == "" {
			reason = plainName(clean)
		}
		if reason == "" {
			reason = f.kindReason(p, d)
		}
		if reason != "" {
			return &RefusedError{File: filepath.ToSlash(p), Reason: reason}
		}
		if d.IsDir() {
			return nil
		}
		n, err := f.file(ctx, p, fn)
		if total += n; err == nil && total > f.limits.Bytes {
			return refuse(p, "the package holds more than the allowed %d bytes", f.limits.Bytes)
		}
		return err
	})
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

// file hands one file to fn. What it hands over has the size that it told, no more and no less.
func (f *folder) file(ctx context.Context, p string, fn func(string, int64, io.Reader) error) (int64, error) {
	file, err := f.root.Open(p)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, refuse(p, "is no longer a plain file")
	}
	return info.Size(), fn(p, info.Size(), &exactReader{ctx: ctx, r: file, name: p, left: info.Size()})
}

func (f *folder) kindReason(p string, d fs.DirEntry) string {
	switch t := d.Type(); {
	case t.IsDir() || t.IsRegular():
		return ""
	case t&fs.ModeSymlink != 0:
		target, err := f.root.Readlink(p)
		if err != nil || linkReason(p, target) != "" {
			return "link leaves the tree"
		}
		return "links have no place in a package"
	case t&fs.ModeDevice != 0:
		return "device file"
	case t&fs.ModeNamedPipe != 0:
		return "named pipe"
	default:
		return "neither file nor folder"
	}
}

// exactReader reads a file that must have exactly the declared size.
type exactReader struct {
	ctx  context.Context
	r    io.Reader
	name string
	left int64
}

func (e *exactReader) Read(p []byte) (int, error) {
	if err := e.ctx.Err(); err != nil {
		return 0, &sourceError{err}
	}
	n, err := e.r.Read(p)
	if err != nil && err != io.EOF {
		err = &sourceError{err}
	}
	e.left -= int64(n)
	if e.left < 0 {
		return 0, refuse(e.name, "size over the declared one")
	}
	if err == io.EOF && e.left > 0 {
		return n, refuse(e.name, "shorter than its declared size")
	}
	return n, err
}
