//go:build unix

package bundle_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/internal/packagetest"
)

func TestI1OpenRefusesHostileFolders(t *testing.T) {
	for _, c := range []struct {
		kind         string
		change       func(dir string) error
		limits       bundle.Limits
		file, reason string
	}{
		{kind: "link that leaves the tree", change: func(dir string) error {
			if err := os.Remove(filepath.Join(dir, "components/web.tar")); err != nil {
				return err
			}
			return os.Symlink("/etc/passwd", filepath.Join(dir, "components/web.tar"))
		}, file: "components/web.tar", reason: "link leaves the tree"},
		{kind: "folder that is a link", change: func(dir string) error {
			return os.Symlink("../..", filepath.Join(dir, "images"))
		}, file: "images", reason: "link leaves the tree"},
		{kind: "link that stays", change: func(dir string) error {
			return os.Symlink("zarf.yaml", filepath.Join(dir, "link"))
		}, file: "link", reason: "links have no place"},
		{kind: "named pipe", change: func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600) }, file: "pipe", reason: "named pipe"},
		{kind: "file not in checksums.txt", change: func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "extra"), nil, 0o600)
		}, file: "extra", reason: "not listed"},
		{kind: "duplicate entry by case", change: func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "Zarf.yaml"), nil, 0o600)
		}, file: "zarf.yaml", reason: "by case only"},
		{kind: "file missing", change: func(dir string) error { return os.Remove(filepath.Join(dir, "components/web.tar")) }, file: "components/web.tar", reason: "missing"},
		{kind: "checksum mismatch", change: func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "components/web.tar"), make([]byte, 1024), 0o600)
		}, file: "components/web.tar", reason: "checksum is"},
		{kind: "path too deep", change: func(dir string) error {
			return os.MkdirAll(filepath.Join(dir, strings.Repeat("d/", 300)), 0o700)
		}, file: "d/d", reason: "too deep"},
		{kind: "more bytes than allowed", change: func(string) error { return nil }, limits: bundle.Limits{Bytes: 1024}, file: "", reason: "more than the allowed 1024 bytes"},
	} {
		t.Run(c.kind, func(t *testing.T) {
			dir := packagetest.BuildFolder(t, t.TempDir(), plainDefinition, plainFiles)
			open(t, dir, bundle.Options{})
			if err := c.change(dir); err != nil {
				t.Fatal(err)
			}
			refusal(t, dir, bundle.Options{Limits: c.limits}, c.file, c.reason)
		})
	}
}
