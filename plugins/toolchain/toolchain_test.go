package toolchain_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/plugins/toolchain"
)

// folder makes a folder of files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestDetect(t *testing.T) {
	for name, tt := range map[string]struct {
		files map[string]string
		want  toolchain.Language
		err   string
	}{
		"go":              {map[string]string{"main.go": "", "plugin.yaml": ""}, toolchain.Go, ""},
		"c":               {map[string]string{"a.c": "", "a.h": ""}, toolchain.C, ""},
		"rust":            {map[string]string{"Cargo.toml": "", "src/main.rs": ""}, toolchain.Rust, ""},
		"assemblyscript":  {map[string]string{"asconfig.json": "{}", "package.json": "{}"}, toolchain.AssemblyScript, ""},
		"nothing":         {map[string]string{"plugin.yaml": ""}, "", "no sources"},
		"only below":      {map[string]string{"sub/main.go": ""}, "", "no sources"},
		"two languages":   {map[string]string{"main.go": "", "a.c": ""}, "", "go, c: a plugin is written in one language"},
		"a name with [ ]": {map[string]string{"[x]/main.go": ""}, toolchain.Go, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, tt.files)
			if strings.Contains(name, "[") {
				dir = filepath.Join(dir, "[x]")
			}
			got, err := toolchain.Detect(dir)
			if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("it is %q, %v", got, err)
			}
		})
	}
	for _, dir := range []string{filepath.Join(t.TempDir(), "none"), filepath.Join(folder(t, map[string]string{"a": ""}), "a")} {
		if _, err := toolchain.Detect(dir); err == nil {
			t.Errorf("%s was a plugin", dir)
		}
	}
}

// Each compiler that is not there is named, with how it is had.
func TestMissing(t *testing.T) {
	for name, tt := range map[string]struct {
		files map[string]string
		tools []string // what there is in the PATH
		want  string
		hint  string
	}{
		"no go":    {map[string]string{"main.go": ""}, nil, "with Go,", "1.22"},
		"no clang": {map[string]string{"a.c": ""}, nil, "with clang,", "apt-get install"},
		"no lld":   {map[string]string{"a.c": ""}, []string{"clang"}, "wasm-ld", "WASI_SDK_PATH"},
		"no node":  {map[string]string{"asconfig.json": ""}, nil, "Node.js", "nodejs"},
		"no asc":   {map[string]string{"asconfig.json": ""}, []string{"node"}, "package.json", "npm install"},
	} {
		t.Run(name, func(t *testing.T) {
			tools := map[string]string{}
			for _, tool := range tt.tools {
				tools[tool] = "#!/bin/sh\nexit 1\n"
			}
			t.Setenv("PATH", folder(t, tools))
			t.Setenv("WASI_SDK_PATH", "")
			_, err := toolchain.Build(t.Context(), folder(t, tt.files), toolchain.Options{})
			var missing *toolchain.MissingError
			if !errors.As(err, &missing) || !toolchain.IsMissing(err) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(missing.Hint(), tt.hint) {
				t.Errorf("error is %v", err)
			}
		})
	}
	t.Run("a wasi-sdk that is none", func(t *testing.T) {
		t.Setenv("WASI_SDK_PATH", t.TempDir())
		_, err := toolchain.Build(t.Context(), folder(t, map[string]string{"a.c": ""}), toolchain.Options{})
		if err == nil || toolchain.IsMissing(err) || !strings.Contains(err.Error(), "WASI_SDK_PATH") {
			t.Errorf("error is %v", err)
		}
	})
}

// What a compiler says is the error, whichever compiler it is.
func TestBuildFails(t *testing.T) {
	for name, tt := range map[string]struct {
		tool, program string
		files         map[string]string
		want          string
	}{
		"go":             {"go", "echo 'main.go:1: no' >&2; exit 1", map[string]string{"main.go": ""}, "with go: main.go:1: no"},
		"go, silent":     {"go", "exit 3", map[string]string{"main.go": ""}, "with go: exit status 3"},
		"go, no module":  {"go", "exit 0", map[string]string{"main.go": ""}, "reading what the compiler for go made"},
		"assemblyscript": {"node", "echo 'ERROR TS1005' >&2; exit 1", map[string]string{"asconfig.json": "{}", "node_modules/assemblyscript/bin/asc.js": ""}, "with node: ERROR TS1005"},
		// The transform of json-as loses an entry called index.ts and says nothing.
		"assemblyscript, empty": {"node", `printf '\0asm\1\0\0\0' > "$5"`, map[string]string{"asconfig.json": "{}", "node_modules/assemblyscript/bin/asc.js": ""}, "the module is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PATH", folder(t, map[string]string{tt.tool: "#!/bin/sh\n" + tt.program + "\n"})+":/bin:/usr/bin")
			_, err := toolchain.Build(t.Context(), folder(t, tt.files), toolchain.Options{})
			if err == nil || toolchain.IsMissing(err) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, wanted %q", err, tt.want)
			}
		})
	}
}
