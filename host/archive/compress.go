package archive

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Compress packs files and folders, each under its own name, into an archive. The ending of the
// archive's name says what kind it is: .tar, .tar.gz, .tgz, .tar.zst or .zip. An archive that is
// there is replaced when the new one is complete.
func Compress(ctx context.Context, sources []string, archive string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("packing %q: %w", archive, err)
		}
	}()
	open, ok := writerFor(archive)
	if !ok {
		return errors.New("its name ends in none of .tar, .tar.gz, .tgz, .tar.zst and .zip")
	}
	f, err := os.CreateTemp(filepath.Dir(archive), ".zarf-host-*")
	if err != nil {
		return err
	}
	temporary := f.Name()
	defer func() { _ = os.Remove(temporary) }() // it is gone where all went well
	p := packing{ctx: ctx, skip: []string{temporary, archive}}
	if p.out, err = open(f); err == nil {
		err = p.all(sources)
		err = errors.Join(err, p.out.Close())
	}
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(temporary, archive)
}

// writer is an archive that is being written.
type writer interface {
	// add adds a file, folder or symbolic link.
	add(name string, info fs.FileInfo, link string, content io.Reader) error
	Close() error
}

func writerFor(archive string) (func(io.Writer) (writer, error), bool) {
	compressed := func(open func(io.Writer) (io.WriteCloser, error)) func(io.Writer) (writer, error) {
		return func(w io.Writer) (writer, error) {
			c, err := open(w)
			if err != nil {
				return nil, err
			}
			return &tarWriter{tar.NewWriter(c), c}, nil
		}
	}
	has := func(endings ...string) bool {
		for _, ending := range endings {
			if strings.HasSuffix(archive, ending) {
				return true
			}
		}
		return false
	}
	switch {
	case has(".tar"):
		return compressed(func(w io.Writer) (io.WriteCloser, error) { return nopCloser{w}, nil }), true
	case has(".tar.gz", ".tgz"):
		return compressed(func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }), true
	case has(".tar.zst"):
		return compressed(func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) }), true
	case has(".zip"):
		return func(w io.Writer) (writer, error) { return &zipWriter{zip.NewWriter(w)}, nil }, true
	}
	return nil, false
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// packing is one archive on its way.
type packing struct {
	ctx  context.Context // of one call; nothing outlives it
	out  writer
	skip []string // what lies among the sources and is not one of them
}

func (p packing) all(sources []string) error {
	for _, source := range sources {
		absolute, err := filepath.Abs(source) // "." has no name of its own
		if err != nil {
			return err
		}
		err = filepath.WalkDir(source, func(file string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if p.ctx.Err() != nil {
				return context.Cause(p.ctx)
			}
			inside, err := filepath.Rel(source, file)
			if err != nil {
				return err
			}
			return p.one(path.Join(filepath.Base(absolute), filepath.ToSlash(inside)), file, d)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (p packing) one(name, file string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	for _, skipped := range p.skip {
		if other, err := os.Lstat(skipped); err == nil && os.SameFile(info, other) {
			return nil
		}
	}
	switch {
	case info.IsDir():
		return p.out.add(name+"/", info, "", nil)
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(file)
		if err != nil {
			return err
		}
		return p.out.add(name, info, target, nil)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%q is neither a file nor a folder nor a link", file)
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read from
	return p.out.add(name, info, "", f)
}

type tarWriter struct {
	*tar.Writer
	compressed io.Closer
}

func (t *tarWriter) add(name string, info fs.FileInfo, link string, content io.Reader) error {
	h, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return err
	}
	h.Name = name
	if err := t.WriteHeader(h); err != nil || content == nil {
		return err
	}
	_, err = io.Copy(t, content)
	return err
}

func (t *tarWriter) Close() error { return errors.Join(t.Writer.Close(), t.compressed.Close()) }

type zipWriter struct{ *zip.Writer }

func (z *zipWriter) add(name string, info fs.FileInfo, link string, content io.Reader) error {
	h, err := zip.FileInfoHeader(info)
	if err != nil {
		return err
	}
	h.Name = name
	if content != nil {
		h.Method = zip.Deflate
	}
	w, err := z.CreateHeader(h)
	if err != nil {
		return err
	}
	if link != "" {
		content = strings.NewReader(link)
	}
	if content != nil {
		_, err = io.Copy(w, content)
	}
	return err
}
