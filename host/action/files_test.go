package action

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/template"
)

func placer(t *testing.T) *Files {
	t.Helper()
	v := variablesOf(t, spec.Package{Variables: []spec.InteractiveVariable{{Variable: spec.Variable{Name: "FROM", Type: spec.FileVariableType}}}},
		map[string]string{"NAME": "podinfo", "FROM": "elsewhere"})
	load := func(path string) ([]byte, error) { return []byte("loaded " + path), nil }
	return &Files{Templates: v, Sink: event.Discard, Dir: t.TempDir(), Home: t.TempDir(), Temp: t.TempDir(), Load: load}
}

// entries is content that a map holds.
func entries(files fstest.MapFS) Content {
	return func(_ context.Context, visit func(Entry, io.Reader) error) error {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			e := Entry{Path: name, Mode: files[name].Mode}
			if e.Mode&fs.ModeSymlink != 0 {
				e.Link = string(files[name].Data)
			}
			if err := visit(e, bytes.NewReader(files[name].Data)); err != nil {
				return err
			}
		}
		return nil
	}
}

func read(t *testing.T, elem ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func mode(t *testing.T, elem ...string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}

func TestPlaceFiles(t *testing.T) {
	f := placer(t)
	content := fstest.MapFS{
		"files/0/a.txt":  {Data: []byte("hello ###ZARF_VAR_NAME###\r\nno newline"), Mode: 0o644},
		"files/1/tool":   {Data: []byte("x\x00###ZARF_VAR_NAME###"), Mode: 0o600},
		"files/2/home":   {Data: []byte("###ZARF_VAR_FROM###")},
		"files/3/t":      {Data: []byte("###ZARF_VAR_UNKNOWN###")},
		"files/4/script": {Data: append([]byte("#!/bin/sh ###ZARF_VAR_NAME###\n"), append([]byte(strings.Repeat("x", 100<<10)), 0)...)},
	}
	abs := filepath.Join(t.TempDir(), "deep", "er", "script")
	component := spec.Component{Name: "web", Files: []spec.File{
		{Target: "new/folder/a.txt", Symlinks: []string{"links/one", "links/two"}},
		{Target: "bin/tool", Executable: true},
		{Target: "~/home"},
		{Target: "###ZARF_TEMP###/t"},
		{Target: abs},
	}}
	for range 2 { // a second deployment replaces what is there
		if err := f.Place(t.Context(), component, entries(content)); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := read(t, f.Dir, "new/folder/a.txt"), "hello podinfo\r\nno newline"; got != want {
		t.Errorf("text is %q, want %q", got, want)
	}
	if got := mode(t, f.Dir, "new/folder/a.txt"); got != 0o600 {
		t.Errorf("mode %v", got)
	}
	if got := mode(t, f.Dir, "bin/tool"); got != 0o700 {
		t.Errorf("mode of an executable %v", got)
	}
	if got := read(t, f.Dir, "bin/tool"); got != "x\x00###ZARF_VAR_NAME###" {
		t.Errorf("binary became %q", got)
	}
	if got := read(t, f.Dir, "links/two"); got != "hello podinfo\r\nno newline" {
		t.Errorf("the symlink shows %q", got)
	}
	if mode(t, f.Dir, "links/one")&fs.ModeSymlink == 0 {
		t.Error("the link is no symlink")
	}
	if got := read(t, f.Home, "home"); got != "loaded elsewhere" {
		t.Errorf("file variable gave %q", got)
	}
	if got := read(t, f.Temp, "t"); got != "###ZARF_VAR_UNKNOWN###" {
		t.Errorf("unknown marker became %q", got)
	}
	if got := read(t, abs); !strings.HasPrefix(got, "#!/bin/sh ###ZARF_VAR_NAME###") {
		t.Errorf("a binary with a textual beginning became %.40q", got)
	}
	entries, err := os.ReadDir(filepath.Join(f.Dir, "new/folder"))
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestG7FilesInFoldersAreFilled(t *testing.T) {
	f := placer(t)
	content := fstest.MapFS{
		"files/0/conf/top.txt":     {Data: []byte("###ZARF_VAR_NAME###"), Mode: 0o640},
		"files/0/conf/sub/in.yaml": {Data: []byte("name: ###ZARF_VAR_NAME###\n"), Mode: 0o755},
		"files/0/conf/sub/bin":     {Data: []byte("\x00###ZARF_VAR_NAME###"), Mode: 0o644},
		"files/0/conf/sub/link":    {Data: []byte("in.yaml"), Mode: fs.ModeSymlink | 0o777},
	}
	if err := os.MkdirAll(filepath.Join(f.Dir, "etc/conf"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.Dir, "etc/conf/mine"), []byte("stays"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.Place(t.Context(), spec.Component{Name: "web", Files: []spec.File{{Target: "etc/conf"}}}, entries(content)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"top.txt": "podinfo", "sub/in.yaml": "name: podinfo\n", "sub/bin": "\x00###ZARF_VAR_NAME###", "sub/link": "name: podinfo\n", "mine": "stays",
	} {
		if got := read(t, f.Dir, "etc/conf", name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := mode(t, f.Dir, "etc/conf/sub/in.yaml"); got != 0o755 {
		t.Errorf("mode %v", got)
	}
	if mode(t, f.Dir, "etc/conf/sub/link")&fs.ModeSymlink == 0 {
		t.Error("the link inside the folder is no symlink")
	}
}

// What turns out to be wrong only at its end has changed nothing: no file, and none beside one.
func TestPlaceFilesThatAreNotVerified(t *testing.T) {
	f := placer(t)
	if err := os.WriteFile(filepath.Join(f.Dir, "a"), []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	wrong := errors.New("the checksum is another one")
	content := func(ctx context.Context, visit func(Entry, io.Reader) error) error {
		err := entries(fstest.MapFS{"files/0/a": {Data: []byte("after")}, "files/1/b": {Data: []byte("b")}})(ctx, visit)
		return errors.Join(err, wrong)
	}
	component := spec.Component{Files: []spec.File{{Target: "a"}, {Target: "b"}}}
	if err := f.Place(t.Context(), component, content); !errors.Is(err, wrong) {
		t.Fatalf("got %v", err)
	}
	left, err := os.ReadDir(f.Dir)
	if err != nil || len(left) != 1 || read(t, f.Dir, "a") != "before" {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestPlaceFilesFails(t *testing.T) {
	f := placer(t)
	if err := os.MkdirAll(filepath.Join(f.Dir, "taken", "precious"), 0o700); err != nil {
		t.Fatal(err)
	}
	content := fstest.MapFS{"files/0/a": {Data: []byte("a")}, "files/0/taken": {Data: []byte("a")}}
	for _, tc := range []struct {
		file spec.File
		want string
	}{
		{spec.File{Target: "missing"}, `placing file "missing": looking for its content`},
		{spec.File{Target: "taken"}, "a folder is in its place"},
		{spec.File{Target: "a", Symlinks: []string{"taken"}}, `making the symlink "taken": a folder is in its place`},
	} {
		err := f.Place(t.Context(), spec.Component{Files: []spec.File{tc.file}}, entries(content))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q in it", tc.file.Target, err, tc.want)
		}
	}
	if _, err := os.Stat(filepath.Join(f.Dir, "taken", "precious")); err != nil {
		t.Errorf("a folder of the user is gone: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Place(ctx, spec.Component{Files: []spec.File{{Target: "late"}}}, entries(content)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

var (
	_ Variables = (*template.Variables)(nil)
	_ Filler    = (*template.Variables)(nil)
)
