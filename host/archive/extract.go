package archive

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// ExtractTar unpacks a tar that is not compressed into a folder. want says which entries, by their
// clean paths; nil is all of them. What exists already is replaced, but for folders. Nothing is ever
// written outside of the folder.
func ExtractTar(ctx context.Context, r io.Reader, dir *os.Root, want func(name string) bool) error {
	t := tar.NewReader(bufio.NewReader(r))
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the tar: %w", err)
		}
		e := entry{name: h.Name, mode: h.FileInfo().Mode(), link: h.Linkname}
		switch h.Typeflag {
		case tar.TypeXGlobalHeader:
			continue
		case tar.TypeLink:
			e.hard = true
		case tar.TypeReg, tar.TypeDir, tar.TypeSymlink:
		default:
			return &UnsafeError{Entry: h.Name, Reason: "neither a file nor a folder nor a link"}
		}
		if err := e.place(ctx, dir, want, t); err != nil {
			return err
		}
	}
}

// UnsafeError says that an archive holds something that is not unpacked.
type UnsafeError struct {
	Entry  string
	Reason string
}

func (e *UnsafeError) Error() string {
	return fmt.Sprintf("the archive has an entry %q that is not unpacked: %s", e.Entry, e.Reason)
}

// entry is one thing in an archive.
type entry struct {
	name string
	mode fs.FileMode
	link string // target of a link
	hard bool   // link is the name of another entry
}

// place writes an entry into the folder.
func (e entry) place(ctx context.Context, dir *os.Root, want func(string) bool, content io.Reader) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	name, err := cleanName(e.name)
	if err != nil {
		return &UnsafeError{Entry: e.name, Reason: err.Error()}
	}
	if name == "." || want != nil && !want(name) {
		return nil
	}
	if err := e.write(dir, name, content); err != nil {
		var unsafe *UnsafeError
		if errors.As(err, &unsafe) {
			return err
		}
		return fmt.Errorf("unpacking %q: %w", e.name, err)
	}
	return nil
}

func (e entry) write(dir *os.Root, name string, content io.Reader) error {
	if e.mode.IsDir() {
		return dir.MkdirAll(name, 0o755)
	}
	if err := dir.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	// A link that is there would be written through, and what it leads to is not ours.
	if err := dir.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	switch {
	case e.hard:
		target, err := cleanName(e.link)
		if err != nil {
			return &UnsafeError{Entry: e.name, Reason: "links to " + e.link}
		}
		return dir.Link(target, name)
	case e.mode&fs.ModeSymlink != 0:
		if !staysInside(name, e.link) || throughLink(dir, path.Dir(name)) {
			return &UnsafeError{Entry: e.name, Reason: "links to " + e.link}
		}
		return dir.Symlink(e.link, name)
	}
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, e.mode.Perm()|0o200)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}

// cleanName returns a name in an archive as a path below a folder.
func cleanName(name string) (string, error) {
	clean := path.Clean(strings.TrimSuffix(name, "/"))
	switch {
	case strings.ContainsAny(name, "\\\x00"):
		return "", errors.New("its name has a character that no path has everywhere")
	case path.IsAbs(name), clean == "..", strings.HasPrefix(clean, "../"):
		return "", errors.New("its name leads out of the folder")
	}
	return clean, nil
}

// staysInside reports whether a symbolic link leads to something below the folder. Steps up may only
// stand at its beginning: behind a name that is a link itself they would lead elsewhere.
func staysInside(name, target string) bool {
	if target == "" || path.IsAbs(target) || strings.ContainsAny(target, "\\\x00") {
		return false
	}
	if path.Clean(target) != strings.TrimSuffix(strings.TrimPrefix(target, "./"), "/") {
		return false
	}
	to := path.Join(path.Dir(name), target)
	return to != ".." && !strings.HasPrefix(to, "../")
}

// throughLink reports whether a path leads through a symbolic link, from where a step up would not
// lead to where it seems to.
func throughLink(dir *os.Root, name string) bool {
	for ; name != "."; name = path.Dir(name) {
		if info, err := dir.Lstat(name); err != nil || info.Mode()&fs.ModeSymlink != 0 {
			return true
		}
	}
	return false
}
