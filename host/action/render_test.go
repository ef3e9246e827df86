package action

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/spec"
)

// loudly stands in for Go templates: it is seen where it was called.
func loudly(text []byte) ([]byte, error) {
	if bytes.Contains(text, []byte("broken")) {
		return nil, errors.New("line 1: there is no \"x\"")
	}
	return bytes.ReplaceAll(text, []byte("{{ .Values.name }}"), []byte("hunter2")), nil
}

func TestCommandsThatAreGoTemplates(t *testing.T) {
	r, rec := newRunner(t, variablesOf(t, spec.Package{}, nil))
	r.Render = loudly
	const cmd = "printf %s '{{ .Values.name }}'"
	run := func(a spec.Action) error { return r.Run(t.Context(), "web", spec.ActionDefaults{}, []spec.Action{a}) }
	for _, a := range []spec.Action{
		{Cmd: cmd, Template: p(true), Mute: p(true), SetValues: []spec.SetValue{{Key: ".rendered"}}},
		{Cmd: cmd, Template: p(false), Mute: p(true), SetValues: []spec.SetValue{{Key: ".asItIs"}}},
		{Cmd: cmd, Mute: p(true), SetValues: []spec.SetValue{{Key: ".asItIsToo"}}},
	} {
		if err := run(a); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]any{"rendered": "hunter2", "asItIs": "{{ .Values.name }}", "asItIsToo": "{{ .Values.name }}"}
	if diff := cmp.Diff(want, r.Values); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := run(spec.Action{Cmd: "broken", Template: p(true)}); err == nil || !strings.Contains(err.Error(), `there is no "x"`) {
		t.Errorf("got %v", err)
	}
	err := run(spec.Action{Cmd: "false {{ .Values.name }}", Template: p(true), Mute: p(true), MaxRetries: p(1)})
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v, want an error without the value", err)
	}
	if text := rec.text(); strings.Contains(text, "hunter2") || !strings.Contains(text, "trying again") {
		t.Errorf("a value got into the events:\n%s", text)
	}
}

func TestFilesThatAreGoTemplates(t *testing.T) {
	f := placer(t)
	f.Render = loudly
	content := fstest.MapFS{
		"files/0/one":          {Data: []byte("{{ .Values.name }}")},
		"files/1/two":          {Data: []byte("{{ .Values.name }} ###ZARF_VAR_NAME###")},
		"files/2/dir/a":        {Data: []byte("{{ .Values.name }}"), Mode: 0o644},
		"files/2/dir/b/binary": {Data: []byte("\x00{{ .Values.name }}"), Mode: 0o644},
	}
	component := spec.Component{Name: "web", Files: []spec.File{
		{Target: "one", Template: p(true)}, {Target: "two"}, {Target: "dir", Template: p(true)},
	}}
	if err := f.Place(t.Context(), component, entries(content)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"one": "hunter2", "two": "{{ .Values.name }} podinfo", "dir/a": "hunter2", "dir/b/binary": "\x00{{ .Values.name }}",
	} {
		if got := read(t, f.Dir, name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	content["files/0/one"] = &fstest.MapFile{Data: []byte("broken")}
	if err := f.Place(t.Context(), component, entries(content)); err == nil || !strings.Contains(err.Error(), `placing file "one": line 1`) {
		t.Errorf("got %v", err)
	}
	if got := read(t, f.Dir, "one"); got != "hunter2" {
		t.Errorf("a template that fails left %q", got)
	}
}
