package bundle

import (
	"archive/tar"
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// ComponentFile is something that goes into the tar of a component.
type ComponentFile struct {
	// Path is its place in the component's folder.
	Path string
	Mode fs.FileMode // its type, and who may read, write and run it
	Link string      // the target of a symbolic link
	// Data is what a file holds; nil means what lies on disk at Source.
	Data   []byte
	Source string
}

// WriteComponent writes the tar of a component as Zarf does: in one folder of the component's name, in
// the order of a walk through it, without times and owners. Folders need not be among the files.
func WriteComponent(ctx context.Context, out io.Writer, component string, files []ComponentFile) error {
	return writeTree(ctx, out, withFolders(component, files))
}

// WriteDocumentation writes the tar of a package's documentation, which has no folder in it.
func WriteDocumentation(ctx context.Context, out io.Writer, files []ComponentFile) error {
	return writeTree(ctx, out, append([]ComponentFile{{Path: ".", Mode: fs.ModeDir | 0o700}}, withFolders("", files)...))
}

func writeTree(ctx context.Context, out io.Writer, files []ComponentFile) error {
	w := tar.NewWriter(out)
	for _, f := range files {
		if err := f.write(ctx, w); err != nil {
			return fmt.Errorf("packing %q: %w", f.Path, err)
		}
	}
	return w.Close()
}

func (f ComponentFile) write(ctx context.Context, w *tar.Writer) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	h := &tar.Header{Name: f.Path, Mode: int64(f.Mode.Perm()), Typeflag: tar.TypeReg, Size: int64(len(f.Data))}
	switch {
	case f.Mode.IsDir():
		h.Typeflag = tar.TypeDir
		return w.WriteHeader(h)
	case f.Mode&fs.ModeSymlink != 0:
		h.Typeflag, h.Linkname = tar.TypeSymlink, f.Link
		return w.WriteHeader(h)
	case f.Data != nil || f.Source == "":
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		_, err := w.Write(f.Data)
		return err
	}
	in, err := os.Open(f.Source)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read from
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%q is no plain file", f.Source)
	}
	h.Size = info.Size()
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	n, err := io.Copy(w, contextReader{ctx, in})
	if err == nil && n < h.Size {
		err = fmt.Errorf("%q changed while it was read", f.Source)
	}
	return err
}

// withFolders puts files below a folder, adds the folders on the way to them, and sorts all of it as a
// walk finds it.
func withFolders(root string, files []ComponentFile) []ComponentFile {
	var out []ComponentFile
	known := map[string]bool{".": true}
	for _, f := range files {
		f.Path = path.Join(root, f.Path)
		known[f.Path] = true
		out = append(out, f)
	}
	for _, f := range slices.Clone(out) {
		for dir := path.Dir(f.Path); !known[dir]; dir = path.Dir(dir) {
			known[dir] = true
			mode := fs.ModeDir | 0o700
			if dir == path.Join(root, chartsDir) || strings.HasPrefix(dir+"/", path.Join(root, reposDir)+"/") {
				mode = fs.ModeDir | 0o755 // Helm and git make these
			}
			out = append(out, ComponentFile{Path: dir, Mode: mode})
		}
	}
	// Byte order with the slash first is the order of a walk: what is in a folder comes right behind it.
	slices.SortStableFunc(out, func(a, b ComponentFile) int {
		return cmp.Compare(strings.ReplaceAll(a.Path, "/", "\x00"), strings.ReplaceAll(b.Path, "/", "\x00"))
	})
	return out
}
