package bundle_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/internal/packagetest"
)

// forms are one package in every form, opened with and without room to keep files.
func forms(t *testing.T) map[string]*bundle.Bundle {
	t.Helper()
	out := map[string]*bundle.Bundle{}
	for name, path := range map[string]string{
		"archive": packagetest.Build(t, t.TempDir(), plainDefinition, plainFiles),
		"split":   packagetest.BuildSplit(t, t.TempDir(), plainDefinition, plainFiles, 500),
		"folder":  packagetest.BuildFolder(t, t.TempDir(), plainDefinition, plainFiles),
	} {
		out[name+" from memory"] = open(t, path, bundle.Options{})
		out[name+" from disk"] = open(t, path, bundle.Options{MemoryBytes: 1})
	}
	return out
}

func all(string) bool { return true }

func TestWalkHandsOverWhatWasVerified(t *testing.T) {
	for name, b := range forms(t) {
		t.Run(name, func(t *testing.T) {
			var got []bundle.File
			err := b.Walk(context.Background(), all, func(f bundle.File, r io.Reader) error {
				data, err := io.ReadAll(r)
				if int64(len(data)) != f.Size {
					t.Errorf("%s has %d bytes, want %d", f.Path, len(data), f.Size)
				}
				got = append(got, f)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(b.Files(), got); diff != "" {
				t.Errorf("files differ (-told +walked):\n%s", diff)
			}
		})
	}
}

// Errors of whoever reads come back as they are, never as the package's fault.
func TestWalkReturnsTheReadersError(t *testing.T) {
	mine := errors.New("disk full")
	for name, b := range forms(t) {
		err := b.Walk(context.Background(), all, func(bundle.File, io.Reader) error { return mine })
		var refused *bundle.RefusedError
		if !errors.Is(err, mine) || errors.As(err, &refused) {
			t.Errorf("%s: error is %v, want the reader's", name, err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		err = b.Walk(ctx, all, func(bundle.File, io.Reader) error { cancel(); return nil })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error is %v, want that the context was cancelled", name, err)
		}
	}
}

// What is read in the second pass is hashed again: a package that was swapped is noticed.
func TestWalkNoticesAChangedPackage(t *testing.T) {
	other := map[string]string{"one.yaml": "kind: EvilOne__\n"}
	for name, write := range map[string]func(files map[string]string, dir string) string{
		"split": func(files map[string]string, dir string) string {
			return packagetest.BuildSplit(t, dir, plainDefinition, files, 1<<20)
		},
		"folder": func(files map[string]string, dir string) string {
			return packagetest.BuildFolder(t, dir, plainDefinition, files)
		},
		"archive": func(files map[string]string, dir string) string {
			return packagetest.Build(t, dir, plainDefinition, files)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			b := open(t, write(plainFiles, dir), bundle.Options{MemoryBytes: 1})
			write(other, dir)
			_, err := b.ReadFile(context.Background(), "components/web.tar")
			var refused *bundle.RefusedError
			if !errors.As(err, &refused) {
				t.Errorf("error is %v, want that the package changed", err)
			}
		})
	}
}

func TestWalkNoticesAFileThatIsGone(t *testing.T) {
	folder := packagetest.BuildFolder(t, t.TempDir(), plainDefinition, plainFiles)
	b := open(t, folder, bundle.Options{MemoryBytes: 1})
	if err := os.Remove(filepath.Join(folder, "components", "web.tar")); err != nil {
		t.Fatal(err)
	}
	_, err := b.ReadFile(context.Background(), "components/web.tar")
	var refused *bundle.RefusedError
	if !errors.As(err, &refused) || !strings.Contains(refused.Reason, "gone") {
		t.Errorf("error is %v, want that the file is gone", err)
	}
}

func TestReadFile(t *testing.T) {
	for name, b := range forms(t) {
		data, err := b.ReadFile(context.Background(), "zarf.yaml")
		if err != nil || string(data) != string(b.DefinitionBytes()) {
			t.Errorf("%s: zarf.yaml is %q (%v)", name, data, err)
		}
		if _, err := b.ReadFile(context.Background(), "none"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: reading a file that is not there gives %v", name, err)
		}
	}
	path := packagetest.Build(t, t.TempDir(), plainDefinition, plainFiles)
	b := open(t, path, bundle.Options{Limits: bundle.Limits{ReadBytes: 10}})
	if _, err := b.ReadFile(context.Background(), "zarf.yaml"); err == nil || !strings.Contains(err.Error(), "too many") {
		t.Errorf("reading more than allowed gives %v", err)
	}
}

func TestBundleServesSeveralReadersAtOnce(t *testing.T) {
	for _, b := range forms(t) {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if err := b.Walk(context.Background(), all, func(_ bundle.File, r io.Reader) error {
					_, err := io.Copy(io.Discard, r)
					return err
				}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
}
