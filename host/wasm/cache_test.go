package wasm_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/internal/guests"
	"github.com/zarf-host/zarf-host/host/wasm"
)

func allower(t testing.TB) []byte {
	return annotated(t, guests.Command(1, func(p *guests.Program) []byte { return p.Print(1, guests.Answer("r1", "allow")) }))
}

// entries are the compiled modules below dir.
func entries(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func asks(t *testing.T, dir string) error {
	t.Helper()
	p, err := load(t, allower(t), wasm.Options{CacheDir: dir})
	if err != nil {
		return err
	}
	res, err := p.Call(t.Context(), request())
	if err == nil && res.Response.Verdict != hook.Allow {
		t.Errorf("verdict is %q", res.Response.Verdict)
	}
	return err
}

func TestCache(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "cache")
	if err := asks(t, dir); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder is %v, %v", info.Mode(), err)
	}
	first := entries(t, dir)
	if len(first) != 1 {
		t.Fatalf("it holds %q, wanted one compiled module", first)
	}
	before, err := os.Stat(first[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := asks(t, dir); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(first[0]); err != nil || !os.SameFile(before, after) || !after.ModTime().Equal(before.ModTime()) {
		t.Error("the second run compiled again")
	}
	for name, damage := range map[string][]byte{"cut off": {1, 2}, "empty": {}, "foreign": []byte(strings.Repeat("x", 4000))} {
		if err := os.WriteFile(first[0], damage, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := asks(t, dir); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCacheThatOthersCanWriteIsRefused(t *testing.T) {
	for name, arrange := range map[string]func(dir string) error{
		"group":   func(dir string) error { return os.Chmod(dir, 0o770) },
		"others":  func(dir string) error { return os.Chmod(dir, 0o707) },
		"no dir":  func(dir string) error { return errors.Join(os.Remove(dir), os.WriteFile(dir, nil, 0o600)) },
		"symlink": func(dir string) error { return errors.Join(os.Remove(dir), os.Symlink(t.TempDir(), dir)) },
	} {
		dir := filepath.Join(t.TempDir(), "cache")
		if err := errors.Join(os.Mkdir(dir, 0o700), arrange(dir)); err != nil {
			t.Fatal(err)
		}
		err := asks(t, dir)
		var refused *wasm.CacheError
		if name == "no dir" {
			if err == nil {
				t.Errorf("%s: it was used", name)
			}
			continue
		}
		if !errors.As(err, &refused) || refused.Hint() == "" {
			t.Errorf("%s: error is %v", name, err)
		}
	}
	if os.Geteuid() != 0 {
		return // only root can give a folder away
	}
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(dir, 0o700), os.Chown(dir, 12345, -1)); err != nil {
		t.Fatal(err)
	}
	if err := asks(t, dir); err == nil || !strings.Contains(err.Error(), "another user") {
		t.Errorf("error is %v", err)
	}
}
