package action

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/spec"
)

// Filler fills the text templates in a stream.
type Filler interface {
	FillStream(w io.Writer, r io.Reader, load func(path string) ([]byte, error)) error
}

// Files places the files of components on this machine.
type Files struct {
	Templates Filler
	Sink      event.Sink
	// Dir is the folder that targets are relative to. Empty means the current one.
	Dir string
	// Home is what a leading "~" of a target stands for. Empty means the user's home folder.
	Home string
	// Temp is what ###ZARF_TEMP### in a target stands for. Empty means the system's.
	Temp string
	// Render fills the text templates of a file that is a Go template (template: true) and executes
	// it. It must be set for packages that have such files.
	Render func(text []byte) ([]byte, error)
	// Load reads the files that variables of type file name. Nil means from this machine's disk.
	Load func(path string) ([]byte, error)
}

// Place puts each file of a component at its target and makes its symlinks. Content is rooted at
// the component's folder: file i is files/i/<base name of its target>, a file or a folder. A file
// appears at its target whole or not at all. Text gets its templates filled, in folders too;
// whatever holds a NUL byte is copied as it is.
func (f *Files) Place(ctx context.Context, component spec.Component, content fs.FS) error {
	for i, file := range component.Files {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		source := path.Join("files", strconv.Itoa(i), path.Base(filepath.ToSlash(file.Target)))
		if err := f.place(ctx, file, content, source); err != nil {
			return fmt.Errorf("placing file %q: %w", file.Target, err)
		}
		f.Sink.Emit(event.Event{Level: event.Info, Step: "file", Component: component.Name, Message: fmt.Sprintf("placed %s", file.Target)})
	}
	return nil
}

func (f *Files) place(ctx context.Context, file spec.File, content fs.FS, source string) error {
	target, err := f.resolve(file.Target)
	if err != nil {
		return err
	}
	info, err := fs.Stat(content, source)
	if err != nil {
		return fmt.Errorf("looking for its content in the package: %w", err)
	}
	if info.IsDir() {
		err = f.placeFolder(ctx, content, source, target, file.ShouldTemplate())
	} else {
		mode := fs.FileMode(0o600)
		if file.Executable {
			mode = 0o700
		}
		err = f.placeFile(content, source, target, mode, file.ShouldTemplate())
	}
	if err != nil {
		return err
	}
	for _, link := range file.Symlinks {
		if err := f.link(target, link); err != nil {
			return fmt.Errorf("making the symlink %q: %w", link, err)
		}
	}
	return nil
}

// resolve makes a target absolute.
func (f *Files) resolve(target string) (string, error) {
	temp := f.Temp
	if temp == "" {
		temp = os.TempDir()
	}
	target = filepath.FromSlash(strings.ReplaceAll(target, "###ZARF_TEMP###", temp))
	if target == "~" || strings.HasPrefix(target, "~"+string(filepath.Separator)) {
		home := f.Home
		if home == "" {
			var err error
			if home, err = os.UserHomeDir(); err != nil {
				return "", fmt.Errorf("finding the home folder: %w", err)
			}
		}
		target = filepath.Join(home, target[1:])
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(f.Dir, target)
	}
	return filepath.Abs(target)
}

// placeFolder merges a folder into its target. Files keep the modes that the package has for them.
func (f *Files) placeFolder(ctx context.Context, content fs.FS, source, target string, render bool) error {
	return fs.WalkDir(content, source, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		at := filepath.Join(target, filepath.FromSlash(strings.TrimPrefix(name, source)))
		if entry.IsDir() {
			return os.MkdirAll(at, 0o700)
		}
		if entry.Type()&fs.ModeSymlink != 0 {
			to, err := fs.ReadLink(content, name)
			if err != nil {
				return err
			}
			return replaceLink(to, at)
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		return f.placeFile(content, name, at, info.Mode().Perm(), render)
	})
}

// placeFile writes beside the target and renames, so that a running program is not written into
// and an interrupted copy is not mistaken for the file.
func (f *Files) placeFile(content fs.FS, source, target string, mode fs.FileMode, render bool) (err error) {
	if info, err := os.Stat(target); err == nil && info.IsDir() {
		return fmt.Errorf("a folder is in its place: %s", target)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	in, err := content.Open(source)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()

	copied, text, err := copyBeside(target, in)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(copied) }() // it is gone already when all went well
	if text {
		fill := f.fillBeside
		if render {
			fill = f.renderBeside
		}
		filled, err := fill(target, copied)
		if err != nil {
			return err
		}
		defer func() { _ = os.Remove(filled) }()
		return finish(filled, target, mode)
	}
	return finish(copied, target, mode)
}

// copyBeside copies to a new file in the target's folder and reports whether it holds text.
func copyBeside(target string, in io.Reader) (name string, text bool, err error) {
	var nul nulFinder
	name, err = writeBeside(target, func(w io.Writer) error {
		_, err := io.Copy(io.MultiWriter(w, &nul), in)
		return err
	})
	return name, !nul.found, err
}

func (f *Files) fillBeside(target, source string) (string, error) {
	in, err := os.Open(source)
	if err != nil {
		return "", err
	}
	defer func() { _ = in.Close() }() // only read
	load := f.Load
	if load == nil {
		load = os.ReadFile
	}
	return writeBeside(target, func(w io.Writer) error { return f.Templates.FillStream(w, in, load) })
}

// largestTemplate is the largest file that is executed as a Go template, which takes it whole.
const largestTemplate = 16 << 20

func (f *Files) renderBeside(target, source string) (string, error) {
	if f.Render == nil {
		return "", errors.New("it is a Go template, and this operation has none")
	}
	info, err := os.Stat(source)
	if err != nil {
		return "", err
	}
	if info.Size() > largestTemplate {
		return "", fmt.Errorf("it is a Go template of %d bytes, more than the %d that one may have", info.Size(), largestTemplate)
	}
	text, err := os.ReadFile(source)
	if err != nil {
		return "", err
	}
	if text, err = f.Render(text); err != nil {
		return "", err
	}
	return writeBeside(target, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

func writeBeside(target string, write func(io.Writer) error) (string, error) {
	out, err := os.CreateTemp(filepath.Dir(target), ".zarf-host-*")
	if err != nil {
		return "", err
	}
	if err := errors.Join(write(out), out.Close()); err != nil {
		return "", errors.Join(err, os.Remove(out.Name()))
	}
	return out.Name(), nil
}

func finish(name, target string, mode fs.FileMode) error {
	if err := os.Chmod(name, mode); err != nil {
		return err
	}
	return os.Rename(name, target)
}

func (f *Files) link(target, link string) error {
	at, err := f.resolve(link)
	if err != nil {
		return err
	}
	return replaceLink(target, at)
}

// replaceLink puts a symlink where a file or link may be. A folder stays: Zarf deletes it with all
// that is in it.
func replaceLink(to, at string) error {
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return err
	}
	switch info, err := os.Lstat(at); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("a folder is in its place: %s", at)
	default:
		if err := os.Remove(at); err != nil {
			return err
		}
	}
	return os.Symlink(to, at)
}

// nulFinder notices a NUL byte in what is written to it.
type nulFinder struct{ found bool }

func (n *nulFinder) Write(p []byte) (int, error) {
	n.found = n.found || bytes.IndexByte(p, 0) >= 0
	return len(p), nil
}
