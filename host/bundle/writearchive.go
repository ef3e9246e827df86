package bundle

import (
	"archive/tar"
	"cmp"
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	frames "github.com/zarf-host/zarf-host/host/archive"
)

// WriteArchive writes the archive of a package: what describes it first, so that it can be looked at
// without the rest, then the other files in the order of their paths. Compressed, it is independent
// zstd frames, cut where a file begins, with a seek table; uncompressed, a plain tar. No time and no
// owner gets into it: the same files give the same bytes. cache may be nil.
func WriteArchive(ctx context.Context, out io.Writer, files []Content, uncompressed bool, cache frames.FrameCache) error {
	if err := checkContents(files); err != nil {
		return err
	}
	if uncompressed {
		w := archiveWriter{tar: tar.NewWriter(out), dirs: map[string]bool{}}
		return w.all(ctx, files)
	}
	framed, err := frames.NewFrameWriter(out, cache)
	if err != nil {
		return err
	}
	w := archiveWriter{tar: tar.NewWriter(framed), frames: framed, dirs: map[string]bool{}}
	err = w.all(ctx, files)
	if closed := framed.Close(); err == nil {
		err = closed
	}
	return err
}

// archiveWriter writes the tar of a package.
type archiveWriter struct {
	tar    *tar.Writer
	frames *frames.FrameWriter // nil if it is not compressed
	dirs   map[string]bool
}

func (w archiveWriter) all(ctx context.Context, files []Content) error {
	sorted := slices.Clone(files)
	slices.SortStableFunc(sorted, func(a, b Content) int {
		return cmp.Or(cmp.Compare(rank(a.Path), rank(b.Path)), cmp.Compare(a.Path, b.Path))
	})
	for _, f := range sorted {
		if err := w.file(ctx, f); err != nil {
			return fmt.Errorf("writing %q into the package: %w", f.Path, err)
		}
	}
	return w.tar.Close()
}

// rank puts what describes a package before what it holds.
func rank(name string) int {
	first := []string{DefinitionPath, ChecksumsPath, SignaturePath, LegacySignaturePath, ValuesYAMLPath, ValuesSchemaPath}
	if i := slices.Index(first, name); i >= 0 {
		return i
	}
	return len(first)
}

func (w archiveWriter) file(ctx context.Context, f Content) error {
	if err := w.folders(path.Dir(f.Path)); err != nil {
		return err
	}
	const block = 512
	if err := w.cut(f.Size + 2*block); err != nil {
		return err
	}
	if err := w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.Path, Size: f.Size, Mode: modeIn(f.Path)}); err != nil {
		return err
	}
	if err := f.write(ctx, w.tar); err != nil {
		return err
	}
	if f.Size > frames.MaxFrame {
		return w.cut(frames.MaxFrame) // the next one begins a frame
	}
	return nil
}

// cut begins a frame if what comes next does not fit into the one that was begun.
func (w archiveWriter) cut(next int64) error {
	if err := w.tar.Flush(); err != nil { // the padding belongs to what was written
		return err
	}
	if w.frames == nil || int64(w.frames.Buffered())+next <= frames.MaxFrame {
		return nil
	}
	return w.frames.Cut()
}

func (w archiveWriter) folders(name string) error {
	if name == "." || w.dirs[name] {
		return nil
	}
	if err := w.folders(path.Dir(name)); err != nil {
		return err
	}
	w.dirs[name] = true
	return w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: modeIn(name + "/")})
}

// modeIn is the mode that Zarf gives a file or folder of a package.
func modeIn(name string) int64 {
	switch {
	case name == ComponentsDir+"/":
		return 0o700
	case strings.HasSuffix(name, "/"):
		return 0o755
	case strings.HasPrefix(name, ImagesDir+"/blobs/"):
		return 0o444
	case strings.Contains(name, "/"), name == DocumentationPath, name == SBOMPath:
		return 0o644
	}
	return 0o600
}
