package bundle

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// tree is the outer form of a package: files in an order, which can be gone through again.
type tree interface {
	// each calls fn for every file. With complete it also checks what follows the last one. fn may
	// return errStop to end early without an error.
	each(ctx context.Context, complete bool, fn func(path string, size int64, r io.Reader) error) error
	Close() error
}

// errStop ends a walk through a tree before its end.
var errStop = errors.New("stop")

// archive is a tree in a tar, compressed or not.
type archive struct {
	name   string
	limits Limits
	sum    string // what the archive's bytes must hash to, if anything declares it
	open   func(context.Context) (io.ReadCloser, error)
	close  func() error
}

func (a *archive) Close() error { return a.close() }

func (a *archive) each(ctx context.Context, complete bool, fn func(string, int64, io.Reader) error) error {
	src, err := a.open(ctx)
	if err != nil {
		return err
	}
	s, err := openStream(ctx, a.name, src, a.sum, a.limits)
	if err != nil {
		return err
	}
	defer s.Close()

	seen := newNames(a.limits, "")
	t := tarReader{r: s, read: func() int64 { return s.meter.total }, fault: s.fault}
	err = t.each(func(h *tar.Header, r io.Reader) error {
		clean, err := checkPackageEntry(seen, h)
		if err != nil || clean == "" || h.Typeflag == tar.TypeDir {
			return err
		}
		return fn(clean, h.Size, r)
	})
	switch {
	case errors.Is(err, errStop):
		return nil
	case err != nil:
		return err
	case complete:
		return s.drain()
	}
	return nil
}

// checkPackageEntry applies the rules for the package's own tree: folders and files only.
func checkPackageEntry(seen *names, h *tar.Header) (clean string, err error) {
	clean, reason := seen.add(h.Name, h.Typeflag == tar.TypeDir)
	if reason == "" {
		reason = plainName(clean)
	}
	if reason == "" {
		reason = kindReason(h, clean)
	}
	if reason == "" && h.Typeflag == tar.TypeSymlink {
		reason = "links have no place in a package"
	}
	if reason != "" {
		return "", &RefusedError{File: h.Name, Reason: reason}
	}
	return clean, nil
}

// kindReason reports why an entry is refused for what it is.
func kindReason(h *tar.Header, clean string) string {
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return "sparse file, whose size says nothing about its data"
		}
	}
	switch h.Typeflag {
	case tar.TypeReg:
		if clean == "" {
			return "a file in place of the root folder"
		}
		return ""
	case tar.TypeDir:
		return ""
	case tar.TypeSymlink:
		return linkReason(clean, h.Linkname)
	case tar.TypeLink:
		if _, reason := cleanName(h.Linkname, Limits{}.withDefaults()); reason != "" {
			return "hard link leaves the tree"
		}
		return "hard link: Zarf writes none"
	case tar.TypeChar, tar.TypeBlock:
		return "device file"
	case tar.TypeFifo:
		return "named pipe"
	case tar.TypeGNUSparse:
		return "sparse file, whose size says nothing about its data"
	}
	return fmt.Sprintf("entry of the unknown type %q", h.Typeflag)
}

// tarReader goes through the entries of a tar whose faults have a place.
type tarReader struct {
	r io.Reader
	// read tells how many bytes were taken from r.
	read func() int64
	// fault makes an error of reading one that says where, after the entry named after.
	fault func(after string, err error) error
}

// each goes up to and with the end marker, which it insists on: without it a tar that was cut
// between two entries would look whole. Errors of fn come back as they are.
func (t tarReader) each(fn func(*tar.Header, io.Reader) error) error {
	const block, endMarker = 512, 1024
	tr := tar.NewReader(t.r)
	last := ""
	end := t.read() // where the last entry ends, with its padding
	for {
		h, err := tr.Next()
		if err == io.EOF {
			if t.read()-end < endMarker {
				return t.fault(last, io.ErrUnexpectedEOF)
			}
			return nil
		}
		if err != nil {
			return t.fault(last, err)
		}
		last = h.Name
		content := &faultReader{r: tr, fault: func(err error) error { return t.fault(last, err) }}
		if err := fn(h, content); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, content); err != nil {
			return err
		}
		end = (t.read() + block - 1) / block * block
	}
}

// faultReader turns errors where they arise, so that those of whoever consumes the bytes are never
// taken for the package's.
type faultReader struct {
	r     io.Reader
	fault func(error) error
}

func (f *faultReader) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err != nil && err != io.EOF {
		err = f.fault(err)
	}
	return n, err
}
