package wasm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/internal/guests"
	"github.com/zarf-host/zarf-host/host/wasm"
)

func withSchema(schema string) hook.Metadata {
	return hook.Metadata{Name: "guest", Version: "1", ABI: []string{"v1"}, Hooks: []hook.Use{{Name: hook.PreDeploy}}, ConfigSchema: json.RawMessage(schema)}
}

func TestConfigSchema(t *testing.T) {
	const (
		jsonSchema = `{"type":"object","additionalProperties":false,"required":["n"],"properties":{"n":{"type":"integer"},"on":{"type":"boolean"},"deep":{"type":"object","properties":{"s":{"type":"string"}}}}}`
		cueSchema  = `"#Config: {\n\tn:     int & <10\n\ton?:   bool\n\tdeep?: s: string\n}"`
	)
	tests := map[string]struct {
		schema string
		config map[string]any
		want   []string // parts of the error; none means accepted
	}{
		"json good":          {jsonSchema, map[string]any{"n": 1, "on": true, "deep": map[string]any{"s": "x"}}, nil},
		"json missing":       {jsonSchema, nil, []string{"n"}},
		"json unknown":       {jsonSchema, map[string]any{"n": 1, "m": 2}, []string{"m"}},
		"json mistyped":      {jsonSchema, map[string]any{"n": "1", "deep": map[string]any{"s": 7}}, []string{"n: ", "deep.s: ", "string"}},
		"cue good":           {cueSchema, map[string]any{"n": 1, "on": true, "deep": map[string]any{"s": "x"}}, nil},
		"cue missing":        {cueSchema, nil, []string{"n: incomplete"}},
		"cue unknown":        {cueSchema, map[string]any{"n": 1, "m": 2}, []string{"m: field not allowed"}},
		"cue mistyped":       {cueSchema, map[string]any{"n": "x", "on": 3}, []string{"n: conflicting", "on: conflicting"}},
		"cue bounds":         {cueSchema, map[string]any{"n": 10}, []string{"n: invalid value 10"}},
		"none, none":         {``, nil, nil},
		"none, some":         {``, map[string]any{"n": 1}, []string{"takes no configuration"}},
		"wide open":          {`{}`, map[string]any{"n": 1}, nil},
		"json with a file":   {`{"$ref":"file:///etc/passwd"}`, nil, []string{"nothing outside itself"}},
		"json with a server": {`{"$ref":"https://example.com/schema.json"}`, nil, []string{"nothing outside itself"}},
		"json of no sense":   {`{"type":"number of things"}`, nil, []string{"configSchema"}},
		"cue of no sense":    {`"a: {"`, nil, []string{"configSchema"}},
		"cue with an import": {`"import \"example.com/x\"\n#Config: x.Run"`, nil, []string{"configSchema"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := &guests.Builder{}
			m.Memory(1, -1)
			m.Export("_start", 0, m.Func(nil, nil, nil))
			m.Export("memory", 2, 0)
			// Annotate refuses what it cannot read; a hostile module brings its section itself.
			doc, err := json.Marshal(withSchema(tt.schema))
			if err != nil {
				t.Fatal(err)
			}
			module := appendSection(m.Bytes(), wasm.MetadataSection, doc)
			_, err = load(t, module, wasm.Options{Config: tt.config})
			if tt.want == nil {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			var failure *wasm.Error
			if !errors.As(err, &failure) || failure.Kind != wasm.KindRequest {
				t.Fatalf("error is %v", err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error is %v, wanted %q in it", err, want)
				}
			}
		})
	}
}

// appendSection appends a custom section by hand.
func appendSection(module []byte, name string, body []byte) []byte {
	length := func(n int) []byte {
		return []byte{byte(n)&0x7f | 0x80, byte(n>>7)&0x7f | 0x80, byte(n >> 14)}
	}
	section := append(append(length(len(name)), name...), body...)
	return append(append(append(module, 0), length(len(section))...), section...)
}

func TestAnnotate(t *testing.T) {
	plain := guests.Command(1, func(p *guests.Program) []byte { return nil })
	meta := withSchema(`{"type":"object"}`)
	out, err := wasm.Annotate(plain, meta)
	if err != nil {
		t.Fatal(err)
	}
	if string(out[:len(plain)]) != string(plain) {
		t.Error("annotating changed what was there")
	}
	if got, err := wasm.ReadMetadata(out); err != nil || !reflect.DeepEqual(got, meta) {
		t.Errorf("read back %+v, %v", got, err)
	}
	for want, f := range map[string]func() ([]byte, error){
		"annotated already": func() ([]byte, error) { return wasm.Annotate(out, meta) },
		"not a WebAssembly": func() ([]byte, error) { return wasm.Annotate([]byte("x"), meta) },
		"metadata name":     func() ([]byte, error) { return wasm.Annotate(plain, hook.Metadata{}) },
		"configSchema":      func() ([]byte, error) { return wasm.Annotate(plain, withSchema(`{"type":7}`)) },
	} {
		if _, err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, wanted %q", err, want)
		}
	}
}

func TestInspect(t *testing.T) {
	module := annotated(t, guests.Command(3, func(p *guests.Program) []byte { return nil }))
	info, err := wasm.Inspect(module, wasm.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if info.Metadata.Name != "guest" || info.Size != len(module) || info.Memory != 3<<16 || info.Functions != 1 || info.Refused != "" ||
		strings.Join(info.Imports, " ") != "wasi_snapshot_preview1.fd_write wasi_snapshot_preview1.proc_exit wasi_snapshot_preview1.poll_oneoff wasi_snapshot_preview1.random_get" {
		t.Errorf("it is %+v", info)
	}
	if info, err := wasm.Inspect(module, wasm.Limits{Memory: 1 << 16}); err != nil || !strings.Contains(info.Refused, "memory") {
		t.Errorf("refused is %q, %v", info.Refused, err)
	}
	if _, err := wasm.Inspect([]byte("x"), wasm.Limits{}); err == nil {
		t.Error("text was inspected")
	}
}

func TestParseManifest(t *testing.T) {
	good := "name: a\nversion: 0.1.0\nabi: [v1]\nhooks: [{name: pre-deploy}]\n"
	if m, err := wasm.ParseManifest([]byte(good)); err != nil || m.Name != "a" {
		t.Errorf("read %+v, %v", m, err)
	}
	for _, bad := range []string{"", "name: a\nname: b\n", good + "extra: 1\n", "- a\n", "\t"} {
		if _, err := wasm.ParseManifest([]byte(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestParseConfigFlags(t *testing.T) {
	read := func(name string) ([]byte, error) {
		if name == "guard.yaml" {
			return []byte("data: false\nlabels: {a: b}\n"), nil
		}
		return nil, fmt.Errorf("no file %s", name)
	}
	got, err := wasm.ParseConfigFlags([]string{"guard=guard.yaml", "guard.data=true", "guard.kinds=[Secret, 'a=b']", "guard.labels.c=d", "other.n=7"}, read)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]any{
		"guard": {"data": true, "kinds": []any{"Secret", "a=b"}, "labels": map[string]any{"a": "b", "c": "d"}},
		"other": {"n": float64(7)},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read %#v, wanted %#v", got, want)
	}
	for flag, want := range map[string]string{
		"guard":           "neither",
		"=x":              "neither",
		"guard.=x":        "neither",
		"guard=none.yaml": "no file",
		"guard.kinds=[":   "reading the value",
		"guard.a..b=1":    "neither",
	} {
		if _, err := wasm.ParseConfigFlags([]string{flag}, read); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error is %v, wanted %q", flag, err, want)
		}
	}
	if _, err := wasm.ParseConfigFlags([]string{"guard.a=1", "guard.a.b=2"}, read); err == nil {
		t.Error("a key below a value was accepted")
	}
}
