package host

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/archive"
	"github.com/zarf-host/zarf-host/host/internal/packagetest"
	"github.com/zarf-host/zarf-host/host/spec"
)

// withTar builds a package that has a tar of the given files at its root.
func withTar(t *testing.T, name string, files map[string]string, built func(*spec.Package)) string {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, file := range slices.Sorted(mapKeys(files)) {
		if err := w.WriteHeader(&tar.Header{Name: file, Mode: 0o644, Size: int64(len(files[file]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[file])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	const definition = "kind: ZarfPackageConfig\nmetadata: {name: shop, version: 1.0.0}\ncomponents: [{name: one, required: true}]\n"
	return packagetest.BuildWith(t, t.TempDir(), definition, nil, packagetest.Options{
		Built: built,
		Content: func(entries []packagetest.Entry) []packagetest.Entry {
			return append(entries, packagetest.Entry{Name: name, Mode: 0o644, Body: out.Bytes()})
		},
	})
}

func mapKeys(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for key := range m {
			if !yield(key) {
				return
			}
		}
	}
}

// filesIn reads the files below a folder, by path.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(file string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(file)
		out[filepath.ToSlash(name)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestExtractSBOMs(t *testing.T) {
	files := map[string]string{"index.html": "all", "image/a.json": "{}"}
	pkg := withTar(t, "sboms.tar", files, nil)
	output := filepath.Join(t.TempDir(), "new", "folder")
	for range 2 { // the second replaces
		got, err := ExtractSBOMs(t.Context(), ExtractOptions{Source: pkg, Output: output})
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 2 || !strings.HasSuffix(got[0], filepath.Join("shop", "image", "a.json")) {
			t.Errorf("paths %v", got)
		}
	}
	want := map[string]string{"shop/index.html": "all", "shop/image/a.json": "{}"}
	if diff := cmp.Diff(want, filesIn(t, output)); diff != "" {
		t.Error(diff)
	}
}

func TestExtractNothingUnsafe(t *testing.T) {
	pkg := withTar(t, "sboms.tar", map[string]string{"a.json": "{}", "../escaped": "out"}, nil)
	output := t.TempDir()
	_, err := ExtractSBOMs(t.Context(), ExtractOptions{Source: pkg, Output: output})
	var unsafe *archive.UnsafeError
	if !errors.As(err, &unsafe) {
		t.Errorf("error %v", err)
	}
	if got := filesIn(t, output); len(got) > 0 {
		t.Errorf("it left %v", got)
	}
}

// Documents with the same name are told apart by their keys, as Zarf packs them.
func TestExtractDocumentation(t *testing.T) {
	files := map[string]string{"first-README.md": "1", "second-README.md": "2", "guide.md": "3"}
	pkg := withTar(t, "documentation.tar", files, func(p *spec.Package) {
		p.Documentation = map[string]string{"first": "a/README.md", "second": "b/README.md", "guide": "guide.md"}
	})
	for _, tc := range []struct {
		keys []string
		want map[string]string
	}{
		{nil, map[string]string{"first-README.md": "1", "second-README.md": "2", "guide.md": "3"}},
		{[]string{"second", "guide"}, map[string]string{"second-README.md": "2", "guide.md": "3"}},
	} {
		output := t.TempDir()
		if _, err := ExtractDocumentation(t.Context(), ExtractOptions{Source: pkg, Output: output, Keys: tc.keys}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, filesIn(t, filepath.Join(output, "shop-documentation"))); diff != "" {
			t.Errorf("keys %v: %s", tc.keys, diff)
		}
	}
	if _, err := ExtractDocumentation(t.Context(), ExtractOptions{Source: pkg, Keys: []string{"third"}}); err == nil || !strings.Contains(err.Error(), "only first, guide, second") {
		t.Errorf("another key: %v", err)
	}
	if _, err := ExtractSBOMs(t.Context(), ExtractOptions{Source: pkg}); !errors.Is(err, ErrNothingToExtract) {
		t.Errorf("no SBOMs: %v", err)
	}
}

func TestCredentialsShowNoPassword(t *testing.T) {
	c := Credential{Username: "push", Password: "sesame", Key: "registry"}
	for _, text := range []string{fmt.Sprint(c), fmt.Sprintf("%+v %#v %q", c, c, []Credential{c}), c.LogValue().String()} {
		if strings.Contains(text, "sesame") {
			t.Errorf("it says %s", text)
		}
	}
}
