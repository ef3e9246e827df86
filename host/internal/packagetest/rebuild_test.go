package packagetest_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/definition"
	"github.com/zarf-host/zarf-host/host/internal/packagetest"
)

var zarfs = []string{
	"zarf-package-yolo-demo-amd64-0.1.0.tar.zst",
	"zarf-package-drop-demo-amd64-0.1.0.tar.zst",
	"zarf-package-drop-demo-amd64-0.2.0.tar.zst",
	"zarf-package-fail-demo-amd64-0.1.0.tar.zst",
}

// What Zarf packed comes out byte for byte when its content is packed again, so the builder's
// layout is Zarf's.
func TestRebuildEqualsZarfs(t *testing.T) {
	for _, name := range zarfs {
		t.Run(name, func(t *testing.T) {
			b := open(t, shared(t, "packages", name))
			var entries []packagetest.Entry
			for _, c := range b.Definition().Components {
				data := rebuildComponent(t, b, c.Name)
				want := read(t, b, bundle.ComponentPath(c.Name))
				if !bytes.Equal(data, want) {
					t.Errorf("the tar of component %q differs from Zarf's", c.Name)
				}
				entries = append(entries, packagetest.Entry{Name: bundle.ComponentPath(c.Name), Mode: 0o644, Body: data})
			}
			checksums := packagetest.Checksums(entries)
			if diff := cmp.Diff(string(read(t, b, "checksums.txt")), checksums); diff != "" {
				t.Errorf("checksums.txt differs (-Zarf +ours):\n%s", diff)
			}
			pkg := b.Definition()
			raw, err := packagetest.Marshal(&pkg)
			if err != nil {
				t.Fatal(err)
			}
			entries = append(entries,
				packagetest.Entry{Name: "checksums.txt", Mode: 0o600, Body: []byte(checksums)},
				packagetest.Entry{Name: "zarf.yaml", Mode: 0o600, Body: raw})
			rebuilt := filepath.Join(t.TempDir(), name)
			f, err := os.Create(rebuilt)
			if err != nil {
				t.Fatal(err)
			}
			if err := packagetest.Archive(f, entries, false); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			if got, want := open(t, rebuilt).Digest(), b.Digest(); got != want {
				t.Errorf("digest is %s, want %s", got, want)
			}
		})
	}
}

// rebuildComponent packs a component's entries, with the modes that Zarf gave them, and the folder
// of the component itself, which is no entry of the component.
func rebuildComponent(t *testing.T, b *bundle.Bundle, name string) []byte {
	t.Helper()
	entries := []packagetest.Entry{{Name: name + "/", Mode: 0o700}}
	err := b.Component(context.Background(), name, func(e bundle.Entry, r io.Reader) error {
		body, err := io.ReadAll(r)
		entry := packagetest.Entry{Name: name + "/" + e.Path, Mode: int64(e.Mode.Perm()), Body: body}
		if e.Mode.IsDir() {
			entry.Name += "/"
		}
		entries = append(entries, entry)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	data, err := packagetest.Tar(entries)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestMarshalEqualsZarfs(t *testing.T) {
	samples, err := filepath.Glob(shared(t, "samples") + "/*.zarf.yaml")
	if err != nil || len(samples) < 4 {
		t.Fatalf("found %d samples (%v), want more", len(samples), err)
	}
	for _, sample := range samples {
		want, err := os.ReadFile(sample)
		if err != nil {
			t.Fatal(err)
		}
		pkg, err := definition.Parse(want)
		if err != nil {
			t.Fatal(err)
		}
		want, _, _ = bytes.Cut(want, []byte("---\n")) // we write the first of a v1beta1 package's documents
		got, err := packagetest.Marshal(pkg)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s differs (-Zarf +ours):\n%s", filepath.Base(sample), diff)
		}
	}
}

func open(t *testing.T, path string) *bundle.Bundle {
	t.Helper()
	b, err := bundle.Open(context.Background(), path, bundle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func read(t *testing.T, b *bundle.Bundle, path string) []byte {
	t.Helper()
	data, err := b.ReadFile(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
