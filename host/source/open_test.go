package source_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host/internal/packagetest"
	"github.com/zarf-host/zarf-host/host/source"
)

const demoDigest = "sha256:ec03d45f448063f91a6d72624d30aba1a01d56d6b921208d073988de3a374f5a"

func TestClean(t *testing.T) {
	for ref, want := range map[string]string{
		"oci://user:pw@host/path/demo:0.1.0":                 "oci://host/path/demo:0.1.0",
		"oci://host:5000/demo:0.1.0":                         "oci://host:5000/demo:0.1.0",
		"oci://host:5000/demo:0.1.0@" + demoDigest:           "oci://host:5000/demo:0.1.0@" + demoDigest,
		"oci://user:pw@host:5000/demo@" + demoDigest:         "oci://host:5000/demo@" + demoDigest,
		"https://token@host/x.tar.zst":                       "https://host/x.tar.zst",
		"https://u:p@ss@host/x.tar.zst":                      "https://host/x.tar.zst",
		"https://u:p/ss@host/x.tar.zst":                      "https://host/x.tar.zst",
		"https://u:p?ss@host/x.tar.zst":                      "https://host/x.tar.zst",
		"https://u:p#ss@host/x.tar.zst":                      "https://host/x.tar.zst",
		"https://host/x.tar.zst?X-Amz-Signature=s&token=t#f": "https://host/x.tar.zst",
		"https://host/@scope/x.tar.zst":                      "https://host/@scope/x.tar.zst",
		"https://[::1]:8080/x.tar.zst":                       "https://[::1]:8080/x.tar.zst",
		"HTTPS://u:p@host/x.tar.zst":                         "HTTPS://host/x.tar.zst",
		"./a@b/zarf-package-x.tar.zst":                       "./a@b/zarf-package-x.tar.zst",
	} {
		if got := source.Clean(ref); got != want {
			t.Errorf("Clean(%q) = %q, want %q", ref, got, want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("user", "pw", "host/x")
	f.Add("u", "p@/?#:", "[::1]:5000/x@"+demoDigest)
	f.Fuzz(func(t *testing.T, user, password, rest string) {
		if len(password) < 4 || strings.Contains(rest, password) || strings.ContainsAny(rest, "@:?#") || strings.Contains("https://", password) {
			return
		}
		// "host:443/path@x" may as well have no user at all.
		port, _, _ := strings.Cut(strings.NewReplacer("?", "/", "#", "/").Replace(password), "/")
		if strings.ContainsAny(user, "/?#") || strings.Trim(port, "0123456789") == "" && port != password {
			return
		}
		if got := source.Clean("https://" + user + ":" + password + "@" + rest); strings.Contains(got, password) {
			t.Errorf("the password %q is in %q", password, got)
		}
	})
}

func TestOpenRefusesByForm(t *testing.T) {
	notes := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(notes, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]string{
		"":                              "no package named",
		"-":                             "standard input",
		"oci://u:secret@host/demo":      "neither a tag nor a digest",
		"oci://u%zz:secret@host/demo:1": "user cannot be read",
		"https://u:secret@host/x.tar":   "needs the checksum",
		"https://u:se%zzcret@host/x":    "not an address",
		"ftp://u:secret@host/x.tar.zst": "unknown scheme ftp",
		"x.tar.zst.part003":             "one part of a split package",
		"missing.tar.zst":               "no such file or folder",
		notes:                           "not the name of a package",
	} {
		_, err := source.Open(context.Background(), ref, source.Options{})
		var unsupported *source.UnsupportedError
		if !errors.As(err, &unsupported) || !strings.Contains(err.Error(), want) || unsupported.Hint() == "" {
			t.Errorf("Open(%q) = %v, want %q and a hint", ref, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("Open(%q) tells the password: %v", ref, err)
		}
	}
}

func TestOpenEveryForm(t *testing.T) {
	const def = "kind: ZarfPackageConfig\nmetadata:\n  name: forms\n  version: 1.0.0\ncomponents:\n- name: empty\n"
	dir := t.TempDir()
	archive := packagetest.Build(t, dir, def, nil)
	split := packagetest.BuildSplit(t, t.TempDir(), def, nil, 100)
	folder := packagetest.BuildFolder(t, t.TempDir(), def, nil)
	plain := packagetest.Build(t, dir, strings.Replace(def, "  version", "  uncompressed: true\n  version", 1), nil)
	if !strings.HasSuffix(plain, ".tar") {
		t.Errorf("an uncompressed package is called %q", plain)
	}
	for _, ref := range []string{archive, split, folder, plain} {
		b, err := source.Open(context.Background(), ref, source.Options{})
		if err != nil {
			t.Errorf("Open(%q): %v", ref, err)
			continue
		}
		if got := b.Definition().Metadata.Name; got != "forms" {
			t.Errorf("Open(%q) has the name %q", ref, got)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}
