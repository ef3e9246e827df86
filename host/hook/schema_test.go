package hook_test

import (
	"encoding/json"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/parser"
	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/schema"
)

// definition is a part of the plugin schema.
func definition(t testing.TB, name string) cue.Value {
	t.Helper()
	files, err := fs.Glob(schema.FS, "plugin/*.cue")
	if err != nil || len(files) == 0 {
		t.Fatalf("the schema has no files: %v", err)
	}
	inst := build.NewContext().NewInstance("plugin", nil)
	for _, file := range files {
		data, err := fs.ReadFile(schema.FS, file)
		if err != nil {
			t.Fatal(err)
		}
		syntax, err := parser.ParseFile(path.Base(file), data)
		if err != nil {
			t.Fatal(err)
		}
		if err := inst.AddSyntax(syntax); err != nil {
			t.Fatal(err)
		}
	}
	v := cuecontext.New().BuildInstance(inst).LookupPath(cue.ParsePath(name))
	if err := v.Err(); err != nil {
		t.Fatal(err)
	}
	return v
}

func accepts(v cue.Value, doc []byte) error {
	return v.Unify(v.Context().CompileBytes(doc)).Validate(cue.Concrete(true), cue.Final()) //nolint:staticcheck // all values are of one context
}

// request is what a host writes: MarshalJSON's document, whose fields are those of Request.
type requestDocument struct {
	APIVersion string
	Kind       string
	hook.Request
}

// TestTypesAndSchemaAreOne: every field of the Go types is in the schema and the other way round, but
// where the schema leaves a part open on purpose.
func TestTypesAndSchemaAreOne(t *testing.T) {
	for name, typ := range map[string]reflect.Type{
		"#HookRequest":  reflect.TypeFor[requestDocument](),
		"#HookResponse": reflect.TypeFor[hook.Response](),
		"#Metadata":     reflect.TypeFor[hook.Metadata](),
	} {
		compared := compare(t, name, typ, definition(t, name))
		if compared < 8 {
			t.Errorf("%s: only %d fields were compared", name, compared)
		}
	}
}

func compare(t *testing.T, at string, typ reflect.Type, v cue.Value) int {
	t.Helper()
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		if typ == reflect.TypeFor[json.RawMessage]() {
			return 0
		}
		if typ.Kind() == reflect.Slice {
			v = v.LookupPath(cue.MakePath(cue.AnyIndex))
		}
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || typ == reflect.TypeFor[time.Time]() {
		return 0
	}
	inSchema := map[string]cue.Value{}
	fields, err := v.Fields(cue.Optional(true))
	if err != nil {
		t.Errorf("%s: %v", at, err)
		return 0
	}
	for fields.Next() {
		inSchema[fields.Selector().Unquoted()] = fields.Value()
	}
	if len(inSchema) == 0 {
		return 0 // open: such as a component of a package, which has a schema of its own
	}
	count := 0
	for name, field := range jsonFields(typ) {
		value, ok := inSchema[name]
		if !ok {
			t.Errorf("%s.%s is not in the schema", at, name)
			continue
		}
		delete(inSchema, name)
		count += 1 + compare(t, at+"."+name, field, value)
	}
	for name := range inSchema {
		t.Errorf("%s.%s is in the schema only", at, name)
	}
	return count
}

// jsonFields are a struct's fields by their names in JSON; without tags as Request's document has them.
func jsonFields(typ reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(typ) {
		if f.Anonymous || !f.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name != "":
		case f.Name == "ID" || f.Name == "APIVersion":
			name = map[string]string{"ID": "id", "APIVersion": "apiVersion"}[f.Name]
		default:
			name = strings.ToLower(f.Name[:1]) + f.Name[1:]
		}
		out[name] = f.Type
	}
	return out
}

// fill sets every field of a value, so that a round trip loses none.
func fill(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)))
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), depth+1)
			}
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(`{"n":9007199254740993}`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth+1)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		fill(value, depth+1)
		v.SetMapIndex(reflect.ValueOf("key").Convert(v.Type().Key()), value)
	case reflect.Interface:
		v.Set(reflect.ValueOf("any"))
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(7)
	case reflect.Uint64, reflect.Uint32:
		v.SetUint(7)
	}
}

// TestRequestRoundTrip: a request of every hook with every field is accepted by the schema and read as
// it was.
func TestRequestRoundTrip(t *testing.T) {
	def := definition(t, "#HookRequest")
	for _, point := range hook.Points() {
		var r hook.Request
		fill(reflect.ValueOf(&r).Elem(), 0)
		r.Hook, r.Operation.Name = point.Name, hook.OperationDeploy
		for i := range r.Collisions {
			r.Collisions[i].Verdict = hook.Warn
		}
		doc, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := accepts(def, doc); err != nil {
			t.Errorf("%s: the schema refuses it: %v", point.Name, err)
		}
		back, err := hook.ParseRequest(doc)
		if err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(back)
		if err != nil || string(again) != string(doc) {
			t.Errorf("%s: read and written again it is\n%s, wanted\n%s", point.Name, again, doc)
		}
	}
}

func TestResponseRoundTrip(t *testing.T) {
	def := definition(t, "#HookResponse")
	object := &hook.Object{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: "db", Name: "pg"}
	for _, point := range hook.Points() {
		for _, verdict := range point.Verdicts {
			severity := hook.SeverityWarn
			r := hook.Response{APIVersion: hook.APIVersion, Kind: hook.ResponseKind, ID: "r1", Verdict: verdict,
				Findings: []hook.Finding{{Severity: severity, Message: "m", Object: object, Path: "p", Remedy: "r"}}}
			want := hook.Expect{ID: "r1", Hook: point.Name}
			if point.Keep {
				r.Keep = []hook.Keep{{Component: "c", Reason: "r"}, {Chart: "ns/c", Reason: "r"}, {Image: "i", Reason: "r"}, {Object: object, Reason: "r"}}
			}
			if point.Collisions {
				want.Collisions = []string{"c1"}
				r.Collisions = []hook.CollisionAnswer{{ID: "c1", Verdict: verdict, Message: "m"}}
			}
			doc, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			if err := accepts(def, doc); err != nil {
				t.Errorf("%s: the schema refuses %s: %v", point.Name, doc, err)
			}
			back, err := hook.DecodeResponse(doc, want)
			if err != nil {
				t.Errorf("%s: %v", point.Name, err)
			}
			if diff := cmp.Diff(r, back); diff != "" {
				t.Errorf("%s: a round trip changes it (-want +got):\n%s", point.Name, diff)
			}
		}
	}
}

// TestSchemaAndDecoderAgree: what the schema refuses the decoder refuses, and what it accepts of the
// form of a response the decoder accepts.
func TestSchemaAndDecoderAgree(t *testing.T) {
	def := definition(t, "#HookResponse")
	good := `{"apiVersion":"hooks.zarf-host.dev/v1","kind":"HookResponse","id":"r1","verdict":"deny","findings":[{"severity":"deny","message":"m"}],"keep":[{"component":"c","reason":"r"}]}`
	for _, tt := range []struct {
		from, to string
		ok       bool
	}{
		{"", "", true},
		{`,"keep":[{"component":"c","reason":"r"}]`, "", true},
		{`"component":"c"`, `"object":{"apiVersion":"v1","kind":"Secret","name":"a"}`, true},
		{"/v1", "/v2", false},
		{"HookResponse", "HookRequest", false},
		{`"verdict"`, `"Verdict"`, false},
		{`"verdict":"deny"`, `"verdict":"maybe"`, false},
		{`"verdict":"deny",`, ``, false},
		{`"id":"r1",`, ``, false},
		{`"severity":"deny"`, `"severity":"fatal"`, false},
		{`,"message":"m"`, ``, false},
		{`"message"`, `"mesage"`, false},
		{`"component":"c",`, ``, false},
		{`"component":"c"`, `"component":"c","chart":"n/c"`, false},
		{`,"reason":"r"`, ``, false},
		{`"component":"c"`, `"object":{"kind":"Secret","name":"a"}`, false},
		{`"findings":[`, `"findings":7,"x":[`, false},
	} {
		doc := strings.Replace(good, tt.from, tt.to, 1)
		_, decoded := hook.DecodeResponse([]byte(doc), hook.Expect{ID: "r1", Hook: hook.PrePrune})
		if schema := accepts(def, []byte(doc)); (schema == nil) != tt.ok || (decoded == nil) != tt.ok {
			t.Errorf("%s: schema says %v, decoder says %v, wanted ok %t", doc, schema, decoded, tt.ok)
		}
	}
}

func TestMetadataRoundTrip(t *testing.T) {
	def := definition(t, "#Metadata")
	m := hook.Metadata{Name: "guard", Version: "1.0.0", ABI: []string{"v1"}, Fuel: 5, ConfigSchema: json.RawMessage(`{"type":"object"}`),
		Capabilities: []hook.Capability{hook.K8sGet, hook.K8sList, hook.PackageFile, hook.ConfigRead, hook.SecretsRead}}
	for _, point := range hook.Points() {
		m.Hooks = append(m.Hooks, hook.Use{Name: point.Name, Inputs: hook.Inputs{"plan.prune.objects", "deployConfig.values"}})
	}
	doc, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := accepts(def, doc); err != nil {
		t.Errorf("the schema refuses it: %v", err)
	}
	back, err := hook.ParseMetadata(doc)
	if err != nil || !cmp.Equal(m, back) {
		t.Errorf("read as %+v, %v", back, err)
	}
	for _, tt := range [][2]string{{`"guard"`, `"Guard"`}, {`"pre-prune"`, `"pre-lunch"`}, {`"k8s:get"`, `"k8s:delete"`}, {`"plan.prune.objects"`, `"plam.x"`}, {`"fuel"`, `"fule"`}} {
		bad := strings.ReplaceAll(string(doc), tt[0], tt[1])
		_, parsed := hook.ParseMetadata([]byte(bad))
		if schema := accepts(def, []byte(bad)); schema == nil || parsed == nil {
			t.Errorf("%s: schema says %v, Go says %v", tt[1], schema, parsed)
		}
	}
	// Every capability and hook that Go knows is one for the schema: the document above has them all.
	if got := slices.Sorted(slices.Values(m.Capabilities)); len(slices.Compact(got)) != 5 {
		t.Errorf("capabilities are %v", got)
	}
}
