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

// Entry is a file, folder or symbolic link of a component's content. Its path is relative to the
// component's folder: file i is files/i/<base name of its target>, a file or a folder.
type Entry struct {
	Path string
	Mode fs.FileMode
	Link string // of a symbolic link
}

// Content hands the entries of a component to visit. What they hold is verified when it returns.
type Content func(ctx context.Context, visit func(Entry, io.Reader) error) error

// Place puts each file of a component at its target and makes its symlinks. Content is read once and
// written beside the targets: nothing else holds it in between, and a file appears at its target only
// when all of the content is verified, whole or not at all. Text gets its templates filled, in
// folders too; whatever holds a NUL byte is copied as it is.
func (f *Files) Place(ctx context.Context, component spec.Component, content Content) error {
	arriving := make([]arrival, len(component.Files))
	defer func() {
		for _, a := range arriving {
			a.discard()
		}
	}()
	for i, file := range component.Files {
		target, err := f.resolve(file.Target)
		if err != nil {
			return fmt.Errorf("placing file %q: %w", file.Target, err)
		}
		arriving[i] = arrival{
			file: file, target: target,
			source: path.Join("files", strconv.Itoa(i), path.Base(filepath.ToSlash(file.Target))),
		}
	}
	if err := content(ctx, func(e Entry, r io.Reader) error {
		for i := range arriving {
			if err := arriving[i].take(ctx, e, r); err != nil {
				return fmt.Errorf("placing file %q: %w", arriving[i].file.Target, err)
			}
		}
		return nil
	}); err != nil {
		return err
	}
	for i := range arriving {
		if err := f.settle(ctx, &arriving[i]); err != nil {
			return fmt.Errorf("placing file %q: %w", arriving[i].file.Target, err)
		}
		f.Sink.Emit(event.Event{
			Level: event.Info, Step: "file", Component: component.Name, Message: fmt.Sprintf("placed %s", component.Files[i].Target),
		})
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

// arrival is a file of a component on its way to its target.
type arrival struct {
	file   spec.File
	target string // absolute
	source string // its path in the component
	parts  []part
}

// part is one entry of an arrival.
type part struct {
	at     string // where it goes
	mode   fs.FileMode
	link   string
	copied string // the file beside it that holds its content
	text   bool
}

// take copies an entry beside where it goes, if it is of this file.
func (a *arrival) take(ctx context.Context, e Entry, r io.Reader) error {
	inside, ok := strings.CutPrefix(e.Path+"/", a.source+"/")
	if !ok {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	p := part{at: filepath.Join(a.target, filepath.FromSlash(inside)), mode: e.Mode, link: e.Link}
	if e.Mode.IsRegular() {
		if info, err := os.Stat(p.at); err == nil && info.IsDir() {
			return fmt.Errorf("a folder is in its place: %s", p.at)
		}
		if err := os.MkdirAll(filepath.Dir(p.at), 0o700); err != nil {
			return err
		}
		var err error
		if p.copied, p.text, err = copyBeside(p.at, r); err != nil {
			return err
		}
	}
	a.parts = append(a.parts, p)
	return nil
}

func (a *arrival) discard() {
	for _, p := range a.parts {
		if p.copied != "" {
			_ = os.Remove(p.copied) // it is gone already when all went well
		}
	}
}

// settle makes of what arrived the file at its target, or merges the folder into it.
func (f *Files) settle(ctx context.Context, a *arrival) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if len(a.parts) == 0 {
		return fmt.Errorf("looking for its content in the package: %w", fs.ErrNotExist)
	}
	single := len(a.parts) == 1 && a.parts[0].at == a.target
	for _, p := range a.parts {
		mode := p.mode.Perm() | 0o600 // files in folders keep the modes that the package has for them
		if single {
			mode = 0o600
			if a.file.Executable {
				mode = 0o700
			}
		}
		if err := f.settlePart(p, mode, a.file.ShouldTemplate()); err != nil {
			return err
		}
	}
	for _, link := range a.file.Symlinks {
		if err := f.link(a.target, link); err != nil {
			return fmt.Errorf("making the symlink %q: %w", link, err)
		}
	}
	return nil
}

// settlePart renames a file to its name, so that a running program is not written into and an
// interrupted copy is not mistaken for the file.
func (f *Files) settlePart(p part, mode fs.FileMode, render bool) error {
	switch {
	case p.mode.IsDir():
		return os.MkdirAll(p.at, 0o700)
	case p.mode&fs.ModeSymlink != 0:
		return replaceLink(p.link, p.at)
	case !p.text:
		return finish(p.copied, p.at, mode)
	}
	fill := f.fillBeside
	if render {
		fill = f.renderBeside
	}
	filled, err := fill(p.at, p.copied)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(filled) }() // it is gone already when all went well
	return finish(filled, p.at, mode)
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
