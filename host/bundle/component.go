package bundle

import (
	"archive/tar"
	"bufio"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// Entry is a file, folder or symbolic link in a component.
type Entry struct {
	// Path is relative to the component: "charts/web-0.1.0.tgz". See ChartPath and its like.
	Path string
	// Mode has the type and the permission bits.
	Mode fs.FileMode
	Size int64
	// Link is the target of a symbolic link; it stays in the component.
	Link string
}

// Component hands every entry of a component to fn, in order; folders and links have no content.
// Bytes are verified as with Walk, those of the last entry only when Component has returned, so
// whoever acts on them waits for that. A component without content has no entries.
func (b *Bundle) Component(ctx context.Context, name string, fn func(e Entry, r io.Reader) error) error {
	tarPath := ComponentPath(name)
	if !b.Has(tarPath) {
		for _, c := range b.definition.Components {
			if c.Name == name {
				return nil
			}
		}
		return fmt.Errorf("reading component %q: the package has no such component", name)
	}
	err := b.Walk(ctx, func(p string) bool { return p == tarPath }, func(f File, r io.Reader) error {
		if err := eachComponentEntry(name, r, b.limits, fn); err != nil {
			return err
		}
		_, err := io.Copy(io.Discard, r)
		return err
	})
	if err != nil {
		return fmt.Errorf("reading component %q: %w", name, err)
	}
	return nil
}

// ReadComponent returns the content of the files of a component that want asks for, by path. All of
// it is verified, and together it may be up to Limits.ReadBytes large.
func (b *Bundle) ReadComponent(ctx context.Context, name string, want func(path string) bool) (map[string][]byte, error) {
	files := map[string][]byte{}
	var total int64
	err := b.Component(ctx, name, func(e Entry, r io.Reader) error {
		if !e.Mode.IsRegular() || !want(e.Path) {
			return nil
		}
		if total += e.Size; total > b.limits.ReadBytes {
			return fmt.Errorf("its files are too large to hold in memory, which is limited to %d bytes", b.limits.ReadBytes)
		}
		data, err := io.ReadAll(r)
		files[e.Path] = data
		return err
	})
	if err != nil {
		return nil, err
	}
	return files, nil
}

// ExtractComponent unpacks a component into a folder: "charts/web-0.1.0.tgz" and so on. It
// overwrites nothing. When it returns an error, what it left there was not verified.
func (b *Bundle) ExtractComponent(ctx context.Context, name string, dir *os.Root) error {
	return b.Component(ctx, name, func(e Entry, r io.Reader) error {
		if err := extract(dir, e, r); err != nil {
			return fmt.Errorf("unpacking %q: %w", e.Path, err)
		}
		return nil
	})
}

func extract(dir *os.Root, e Entry, r io.Reader) (err error) {
	if e.Mode.IsDir() {
		return dir.MkdirAll(e.Path, 0o700)
	}
	if parent := path.Dir(e.Path); parent != "." {
		if err := dir.MkdirAll(parent, 0o700); err != nil {
			return err
		}
	}
	if e.Mode&fs.ModeSymlink != 0 {
		return dir.Symlink(e.Link, e.Path)
	}
	f, err := dir.OpenFile(e.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, e.Mode.Perm()|0o600)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
	}()
	_, err = io.Copy(f, r)
	return err
}

// eachComponentEntry goes through a component's tar under the same rules as the package itself,
// but that symbolic links are allowed inside, since git work trees have them. fn may be nil.
func eachComponentEntry(component string, r io.Reader, limits Limits, fn func(Entry, io.Reader) error) error {
	tarPath := ComponentPath(component)
	// A git work tree may hold names that differ by case only.
	seen := newNames(limits, component+"/"+reposDir)
	counted := &countedReader{r: bufio.NewReaderSize(r, 64<<10)}
	t := tarReader{r: counted, read: func() int64 { return counted.n }, fault: func(after string, err error) error {
		return faultOf(tarPath, after, err)
	}}
	err := t.each(func(h *tar.Header, r io.Reader) error {
		clean, reason := seen.add(h.Name, h.Typeflag == tar.TypeDir)
		if reason == "" {
			reason = kindReason(h, clean)
		}
		inside, ok := strings.CutPrefix(clean+"/", component+"/")
		if reason == "" && !ok && clean != "" {
			reason = "does not lie in the folder of its component"
		}
		if reason == "" && h.Typeflag == tar.TypeSymlink && linkReason(strings.TrimSuffix(inside, "/"), h.Linkname) != "" {
			reason = "link leaves the tree"
		}
		if reason != "" {
			return &RefusedError{File: tarPath + ":" + h.Name, Reason: reason}
		}
		inside = strings.TrimSuffix(inside, "/")
		if fn == nil || inside == "" || clean == "" {
			return nil
		}
		return fn(Entry{Path: inside, Mode: h.FileInfo().Mode() & (fs.ModeType | fs.ModePerm), Size: h.Size, Link: h.Linkname}, r)
	})
	if err != nil {
		return err
	}
	return zeros(counted, tarPath)
}

// zeros reads the rest, which may be padding only.
func zeros(r io.Reader, name string) error {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		for _, c := range buf[:n] {
			if c != 0 {
				return refuse(name, "trailing data after the end of the archive")
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return faultOf(name, "", err)
		}
	}
}

// countedReader counts what is taken from it.
type countedReader struct {
	r io.Reader
	n int64
}

func (c *countedReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
