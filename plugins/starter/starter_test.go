package starter_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/plugins/starter"
	"github.com/zarf-host/zarf-host/plugins/toolchain"
)

func TestWriteRefuses(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "mine.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(full, "mine.go")
	for name, tt := range map[string]struct {
		dir     string
		options starter.Options
		want    string
	}{
		"a folder with something in it": {full, starter.Options{Language: toolchain.Go, Name: "prod"}, "not empty"},
		"a file":                        {file, starter.Options{Language: toolchain.Go, Name: "prod"}, "mine.go"},
		"a name that is none":           {filepath.Join(full, "My_Guard"), starter.Options{Language: toolchain.C}, "--name"},
		"a name of none":                {filepath.Join(full, "x"), starter.Options{Language: toolchain.C, Name: "../x"}, "lower-case"},
		"no language":                   {filepath.Join(full, "x"), starter.Options{}, "in \"\""},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := starter.Write(tt.dir, tt.options); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want %q in it", err, tt.want)
			}
		})
	}
	entries, err := os.ReadDir(full)
	if err != nil || len(entries) != 1 {
		t.Errorf("what was refused left %v, %v", entries, err)
	}
	if _, err := os.Stat(filepath.Join(full, "x")); !errors.Is(err, os.ErrNotExist) {
		t.Error("what was refused left a folder")
	}
}
