package bundle_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/definition"
)

// rewritten is a package of Zarf's, written again by us from what is in it.
func rewritten(t *testing.T, name string) (old *bundle.Bundle, contents []bundle.Content) {
	t.Helper()
	ctx := t.Context()
	old, err := bundle.Open(ctx, filepath.Join("..", "..", "..", "shared", "packages", name), bundle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = old.Close() })
	pkg := old.Definition()
	err = old.Walk(ctx, func(string) bool { return true }, func(f bundle.File, r io.Reader) error {
		data, err := io.ReadAll(r)
		if f.Path != bundle.DefinitionPath && f.Path != bundle.ChecksumsPath {
			contents = append(contents, bundle.NewContent(f.Path, data))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range contents {
		if component, ok := strings.CutPrefix(strings.TrimSuffix(c.Path, ".tar"), "components/"); ok {
			contents[i] = bundle.NewContent(c.Path, repacked(t, old, component))
		}
	}
	checked := slices.DeleteFunc(slices.Clone(contents), func(c bundle.Content) bool { return c.Path == bundle.SignaturePath })
	checksums := bundle.Checksums(checked)
	pkg.Metadata.AggregateChecksum = bundle.AggregateChecksum(checksums)
	raw, err := definition.Marshal(&pkg)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(name, "beta") { // whose second document we do not write
		raw = old.DefinitionBytes()
	}
	return old, append(contents, bundle.NewContent(bundle.ChecksumsPath, checksums), bundle.NewContent(bundle.DefinitionPath, raw))
}

func repacked(t *testing.T, b *bundle.Bundle, component string) []byte {
	t.Helper()
	var files []bundle.ComponentFile
	err := b.Component(t.Context(), component, func(e bundle.Entry, r io.Reader) error {
		data, err := io.ReadAll(r)
		f := bundle.ComponentFile{Path: e.Path, Mode: e.Mode, Data: data, Link: e.Link}
		if e.Path == "." || e.Path == "" {
			return err
		}
		files = append(files, f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := bundle.WriteComponent(t.Context(), &out, component, files); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Every package of Zarf's, written again by us from its own content, has the same files to the byte and
// the same digest, read by us and by plain zstd and tar.
func TestRewrittenPackagesEqualZarfs(t *testing.T) {
	for _, name := range []string{
		"zarf-package-demo-amd64-0.1.0.tar.zst", "zarf-package-demo-amd64-0.1.0-differential-0.2.0.tar.zst",
		"zarf-package-drop-demo-amd64-0.1.0.tar.zst", "zarf-package-drop-demo-amd64-0.2.0.tar.zst",
		"zarf-package-fail-demo-amd64-0.1.0.tar.zst", "zarf-package-yolo-demo-amd64-0.1.0.tar.zst",
		"zarf-package-beta-demo-amd64-0.1.0.tar.zst", "signed-yolo-demo.tar.zst", "zarf-init-minimal.tar.zst",
	} {
		t.Run(name, func(t *testing.T) {
			old, contents := rewritten(t, name)
			path := filepath.Join(t.TempDir(), "again.tar.zst")
			var again bytes.Buffer
			if err := bundle.WriteArchive(t.Context(), &again, contents, false, nil); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, again.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			b, err := bundle.Open(t.Context(), path, bundle.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			if b.Digest() != old.Digest() {
				t.Errorf("digest is %s, Zarf's is %s", b.Digest(), old.Digest())
			}
			byPath := func(files []bundle.File) map[string]bundle.File {
				out := map[string]bundle.File{}
				for _, f := range files {
					out[f.Path] = f
				}
				return out
			}
			if diff := cmp.Diff(byPath(old.Files()), byPath(b.Files())); diff != "" {
				t.Errorf("the files differ (-Zarf +ours):\n%s", diff)
			}
			if first := b.Files()[0].Path; first != bundle.DefinitionPath {
				t.Errorf("the first file is %s", first)
			}
			listed, err := exec.Command("sh", "-c", "zstd -dc "+path+" | tar -tvf - | grep -c '^-'").CombinedOutput()
			if want := len(b.Files()); err != nil || strings.TrimSpace(string(listed)) != strconv.Itoa(want) {
				t.Errorf("plain zstd and tar find %s files (%v), want %d", listed, err, want)
			}
		})
	}
}

func TestWriteArchiveSaysTheSameTwice(t *testing.T) {
	_, contents := rewritten(t, "zarf-package-demo-amd64-0.1.0.tar.zst")
	var one, two bytes.Buffer
	if err := bundle.WriteArchive(t.Context(), &one, contents, false, nil); err != nil {
		t.Fatal(err)
	}
	slices.Reverse(contents)
	if err := bundle.WriteArchive(t.Context(), &two, contents, false, nil); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one.Bytes(), two.Bytes()) {
		t.Error("the same files were written in two ways")
	}
}

func TestWriteArchiveRefuses(t *testing.T) {
	changed := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(changed, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := bundle.ReadContent(t.Context(), "components/f.tar", changed)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(changed, []byte("two"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, files := range map[string][]bundle.Content{
		"..":                           {bundle.NewContent("../x", nil)},
		"duplicate entry":              {bundle.NewContent("x", nil), bundle.NewContent("x", nil)},
		"by case only":                 {bundle.NewContent("x", nil), bundle.NewContent("X", nil)},
		"changed while the package":    {c},
		"absolute path":                {bundle.NewContent("/x", nil)},
		"control character in the nam": {bundle.NewContent("x\n", nil)},
	} {
		if err := bundle.WriteArchive(context.Background(), io.Discard, files, false, nil); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestSplitIsReadAsAPackage(t *testing.T) {
	_, contents := rewritten(t, "zarf-package-yolo-demo-amd64-0.1.0.tar.zst")
	var whole bytes.Buffer
	if err := bundle.WriteArchive(t.Context(), &whole, contents, false, nil); err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(t.TempDir(), "p.tar.zst")
	data := whole.Bytes()
	written, err := bundle.Split(bytes.NewReader(data), int64(len(data)), base, 300)
	if err != nil {
		t.Fatal(err)
	}
	if want := (len(data)+299)/300 + 1; len(written) != want {
		t.Errorf("%d files were written, want %d", len(written), want)
	}
	b, err := bundle.Open(t.Context(), base+".part000", bundle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if !b.Verified() {
		t.Error("it is not verified")
	}
	if _, err := bundle.Split(bytes.NewReader(data), int64(len(data)), base, 1); err == nil {
		t.Error("a package of more than 999 parts was written")
	}
}
