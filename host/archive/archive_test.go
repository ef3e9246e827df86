package archive_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/archive"
)

// tree reads what is below a folder: content by path, links as "-> target", folders as "/".
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || file == dir {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			out[name] = "/"
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(file)
			out[name] = "-> " + target
			return err
		default:
			data, err := os.ReadFile(file)
			out[name] = string(data)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func write(t *testing.T, file, content string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

func TestThereAndBack(t *testing.T) {
	for _, ending := range []string{".tar", ".tar.gz", ".tgz", ".tar.zst", ".zip"} {
		t.Run(ending, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "in", "bin", "tool"), strings.Repeat("#!/bin/sh\n", 1000), 0o755)
			write(t, filepath.Join(dir, "in", "empty"), "", 0o644)
			if err := os.Symlink("bin/tool", filepath.Join(dir, "in", "link")); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "alone"), "one file", 0o600)
			packed := filepath.Join(dir, "in", "packed"+ending) // among what is packed
			for range 2 {                                       // the second replaces the first
				if err := archive.Compress(t.Context(), []string{filepath.Join(dir, "in"), filepath.Join(dir, "alone")}, packed); err != nil {
					t.Fatal(err)
				}
			}
			out := filepath.Join(dir, "deep", "out")
			renamed := filepath.Join(dir, "renamed") // the name tells nothing
			if err := os.Rename(packed, renamed); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := archive.Decompress(t.Context(), renamed, out); err != nil {
					t.Fatal(err)
				}
			}
			want := map[string]string{
				"in": "/", "in/bin": "/", "in/bin/tool": strings.Repeat("#!/bin/sh\n", 1000), "in/empty": "",
				"in/link": "-> bin/tool", "alone": "one file",
			}
			if diff := cmp.Diff(want, tree(t, out)); diff != "" {
				t.Error(diff)
			}
			info, err := os.Stat(filepath.Join(out, "in", "bin", "tool"))
			if err != nil || info.Mode().Perm() != 0o755 {
				t.Errorf("the tool has mode %v (%v), want 0755", info.Mode(), err)
			}
		})
	}
}

func TestCompressRefuses(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "old.tar"), "what was there", 0o644)
	for name, sources := range map[string][]string{"x.rar": {dir}, "old.tar": {filepath.Join(dir, "missing")}} {
		if err := archive.Compress(t.Context(), sources, filepath.Join(dir, name)); err == nil {
			t.Errorf("packing %s: no error", name)
		}
	}
	if diff := cmp.Diff(map[string]string{"old.tar": "what was there"}, tree(t, dir)); diff != "" {
		t.Error(diff)
	}
}

// hostile are tars that want out of their folder.
func hostile() map[string][]tar.Header {
	return map[string][]tar.Header{
		"parent":           {{Name: "../escaped", Typeflag: tar.TypeReg}},
		"parent below":     {{Name: "a/../../escaped", Typeflag: tar.TypeReg}},
		"absolute":         {{Name: "/escaped", Typeflag: tar.TypeReg}},
		"backslash":        {{Name: `..\escaped`, Typeflag: tar.TypeReg}},
		"link":             {{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "../escaped"}},
		"absolute link":    {{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "/tmp"}},
		"hard link":        {{Name: "l", Typeflag: tar.TypeLink, Linkname: "../outside"}},
		"device":           {{Name: "d", Typeflag: tar.TypeChar}},
		"pipe":             {{Name: "p", Typeflag: tar.TypeFifo}},
		"through a link":   {{Name: "s", Typeflag: tar.TypeSymlink, Linkname: "."}, {Name: "s/x", Typeflag: tar.TypeSymlink, Linkname: "../outside"}},
		"by two links":     {{Name: "a/b/l", Typeflag: tar.TypeSymlink, Linkname: "../.."}, {Name: "m", Typeflag: tar.TypeSymlink, Linkname: "a/b/l/../outside"}},
		"hard link to one": {{Name: "l", Typeflag: tar.TypeLink, Linkname: "not-there"}},
	}
}

func pack(t testing.TB, headers []tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range headers {
		h.Mode = 0o644
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestNothingLeavesTheFolder(t *testing.T) {
	for name, headers := range hostile() {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "outside"), "untouched", 0o644)
			write(t, filepath.Join(dir, "hostile.tar"), string(pack(t, headers)), 0o644)
			if err := archive.Decompress(t.Context(), filepath.Join(dir, "hostile.tar"), filepath.Join(dir, "out")); err == nil {
				t.Error("no error")
			}
			for file, content := range tree(t, dir) {
				if strings.HasPrefix(content, "-> ") {
					if to, err := filepath.EvalSymlinks(filepath.Join(dir, file)); err == nil && !strings.HasPrefix(to+"/", filepath.Join(dir, "out")+"/") {
						t.Errorf("it left %s, which leads to %s", file, to)
					}
				}
				if first, _, _ := strings.Cut(file, string(filepath.Separator)); first != "out" && first != "outside" && first != "hostile.tar" {
					t.Errorf("it left %s", file)
				}
			}
		})
	}
}

func TestUnsafeZip(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	if _, err := z.Create("../escaped"); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "x.zip"), out.String(), 0o644)
	var unsafe *archive.UnsafeError
	if err := archive.Decompress(t.Context(), filepath.Join(dir, "x.zip"), filepath.Join(dir, "out")); !errors.As(err, &unsafe) || unsafe.Entry != "../escaped" {
		t.Errorf("error %v", err)
	}
}

func TestReplacesALinkInsteadOfWritingThroughIt(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "outside"), "untouched", 0o644)
	if err := os.Mkdir(filepath.Join(dir, "out"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../outside", filepath.Join(dir, "out", "f")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "a.tar"), string(pack(t, []tar.Header{{Name: "f", Typeflag: tar.TypeReg}})), 0o644)
	if err := archive.Decompress(t.Context(), filepath.Join(dir, "a.tar"), filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	if got := tree(t, dir); got["outside"] != "untouched" || got["out/f"] != "" {
		t.Errorf("the tree is %v", got)
	}
}

func TestDecompressSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "text"), "not an archive, but long enough to be one", 0o644)
	write(t, filepath.Join(dir, "cut.tar.gz"), "\x1f\x8b\x08\x00", 0o644)
	write(t, filepath.Join(dir, "nothing"), "", 0o644)
	for _, name := range []string{"text", "cut.tar.gz", "nothing", "missing"} {
		if err := archive.Decompress(t.Context(), filepath.Join(dir, name), filepath.Join(dir, "out")); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("enough")
	cancel(stop)
	write(t, filepath.Join(dir, "a.tar"), string(pack(t, []tar.Header{{Name: "f", Typeflag: tar.TypeReg}})), 0o644)
	if err := archive.Decompress(ctx, filepath.Join(dir, "a.tar"), filepath.Join(dir, "out")); !errors.Is(err, stop) {
		t.Errorf("error %v, want the cause", err)
	}
}

func TestDecompressNested(t *testing.T) {
	dir := t.TempDir()
	web := pack(t, []tar.Header{{Name: "web/", Typeflag: tar.TypeDir}, {Name: "web/f", Typeflag: tar.TypeReg}})
	write(t, filepath.Join(dir, "components", "web.tar"), string(web), 0o644)
	write(t, filepath.Join(dir, "sboms.tar"), string(pack(t, []tar.Header{{Name: "a.json", Typeflag: tar.TypeReg}})), 0o644)
	if err := archive.DecompressNested(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"components": "/", "components/web": "/", "components/web/f": "", "sboms": "/", "sboms/a.json": ""}
	if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func FuzzDecompress(f *testing.F) {
	for _, headers := range hostile() {
		f.Add(pack(f, headers))
	}
	f.Add([]byte("PK\x05\x06"))
	f.Add([]byte{0x1f, 0x8b, 8})
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd})
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "archive"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		_ = archive.Decompress(t.Context(), filepath.Join(dir, "archive"), filepath.Join(dir, "out")) // it may fail
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Name() != "archive" && e.Name() != "out" {
				t.Errorf("it left %s", e.Name())
			}
		}
	})
}
