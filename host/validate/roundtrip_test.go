package validate_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/zarf-host/zarf-host/host/inventory"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/state"
	"github.com/zarf-host/zarf-host/host/validate"
)

// What the Go types write is valid by their schemas, each key filled in and each key left out, and a
// key that a type does not have is refused: the schema has exactly the keys of the type.
func TestSchemasHaveTheKeysOfTheTypes(t *testing.T) {
	v, err := validate.New()
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		schema string
		value  any
		head   map[string]any
	}{
		{"plan", plan.Plan{}, map[string]any{"apiVersion": plan.APIVersion, "kind": plan.Kind}},
		{"inventory", inventory.Inventory{}, map[string]any{"apiVersion": inventory.APIVersion, "kind": inventory.Kind}},
		{"deploy-config", state.DeployConfig{}, nil},
		{"remove-config", state.RemoveConfig{}, nil},
	}
	for _, test := range tests {
		t.Run(test.schema, func(t *testing.T) {
			s, err := validate.FindSchema(test.schema)
			if err != nil {
				t.Fatal(err)
			}
			schema, err := v.Export(s, validate.FormatJSONSchema)
			if err != nil {
				t.Fatal(err)
			}
			var root map[string]any
			if err := json.Unmarshal(schema, &root); err != nil {
				t.Fatal(err)
			}
			w := walker{t: t, defs: root["$defs"].(map[string]any)}
			w.compare(reflect.TypeOf(test.value), root, test.schema)
			filled := map[string]any{}
			for key, value := range w.sample(reflect.TypeOf(test.value), root).(map[string]any) {
				filled[key] = value
			}
			for key, value := range test.head {
				filled[key] = value
			}
			data, err := json.MarshalIndent(filled, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			if result := v.FileAs(s, "full.json", data, validate.Options{}); !result.Valid() {
				t.Errorf("with every key it is not valid: %v", result.Err())
			}
			into := reflect.New(reflect.TypeOf(test.value))
			if err := json.Unmarshal(data, into.Interface()); err != nil {
				t.Fatalf("the type does not take what the schema does: %v", err)
			}
			again, err := json.Marshal(into.Interface())
			if err != nil {
				t.Fatal(err)
			}
			var got map[string]any
			if err := json.Unmarshal(again, &got); err != nil {
				t.Fatal(err)
			}
			var want map[string]any
			if err := json.Unmarshal(data, &want); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("there and back it is\n%v\nwant\n%v", got, want)
			}
			if w.keys == 0 {
				t.Error("no key was compared")
			}
		})
	}
}

// walker compares Go types with the JSON schemas of what they marshal to.
type walker struct {
	t    *testing.T
	defs map[string]any
	keys int
}

func (w *walker) resolve(schema any) map[string]any {
	m, _ := schema.(map[string]any)
	if ref, ok := m["$ref"].(string); ok {
		return w.resolve(w.defs[strings.TrimPrefix(ref, "#/$defs/")])
	}
	return m
}

type jsonField struct {
	typ      reflect.Type
	optional bool
}

// fields returns what a struct marshals to, by key.
func fields(typ reflect.Type) map[string]jsonField {
	out := map[string]jsonField{}
	for i := range typ.NumField() {
		f := typ.Field(i)
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case f.Anonymous && name == "":
			for key, inner := range fields(f.Type) {
				if _, given := out[key]; !given {
					out[key] = inner
				}
			}
		case f.IsExported() && name != "-" && name != "":
			out[name] = jsonField{f.Type, strings.Contains(options, "omit")}
		}
	}
	return out
}

func (w *walker) compare(typ reflect.Type, schema any, where string) {
	s := w.resolve(schema)
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	want := ""
	switch {
	case typ == reflect.TypeFor[time.Time]() || typ.Kind() == reflect.String:
		want = "string"
	case typ.Kind() == reflect.Bool:
		want = "boolean"
	case typ.Kind() == reflect.Int || typ.Kind() == reflect.Int64:
		want = "integer"
	case typ.Kind() == reflect.Slice:
		want = "array"
		w.compare(typ.Elem(), s["items"], where+"[]")
	case typ.Kind() == reflect.Map:
		want = "object"
		if typ.Elem().Kind() != reflect.Interface {
			w.compare(typ.Elem(), s["additionalProperties"], where+".*")
		}
	case typ.Kind() == reflect.Struct:
		want = "object"
		w.compareStruct(typ, s, where)
	}
	if got := fmt.Sprint(s["type"]); got != want {
		w.t.Errorf("%s: the schema says %s, the type marshals to %s", where, got, want)
	}
}

func (w *walker) compareStruct(typ reflect.Type, s map[string]any, where string) {
	properties, _ := s["properties"].(map[string]any)
	required := fmt.Sprint(s["required"])
	have := fields(typ)
	for key, f := range have {
		property, ok := properties[key]
		if !ok {
			w.t.Errorf("%s: the schema lacks %q", where, key)
			continue
		}
		w.keys++
		if is := strings.Contains(" "+strings.Trim(required, "[]")+" ", " "+key+" "); is == f.optional {
			w.t.Errorf("%s.%s: required is %v in the schema, and optional is %v in the type", where, key, is, f.optional)
		}
		w.compare(f.typ, property, where+"."+key)
	}
	for key := range properties {
		if _, ok := have[key]; !ok {
			w.t.Errorf("%s: the type lacks %q", where, key)
		}
	}
}

// sample makes a value with every key.
func (w *walker) sample(typ reflect.Type, schema any) any {
	s := w.resolve(schema)
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch {
	case typ == reflect.TypeFor[time.Time]():
		return "2026-01-02T15:04:05Z"
	case typ.Kind() == reflect.String:
		if enum, ok := s["enum"].([]any); ok {
			return enum[len(enum)-1]
		}
		if pattern, ok := s["pattern"].(string); ok && strings.Contains(pattern, "sha256") {
			return "sha256:" + strings.Repeat("0", 64)
		}
		return "a"
	case typ.Kind() == reflect.Bool:
		return true
	case typ.Kind() == reflect.Slice:
		return []any{w.sample(typ.Elem(), s["items"])}
	case typ.Kind() == reflect.Map && typ.Elem().Kind() == reflect.Interface:
		return map[string]any{"a": true}
	case typ.Kind() == reflect.Map:
		return map[string]any{"a": w.sample(typ.Elem(), s["additionalProperties"])}
	case typ.Kind() == reflect.Struct:
		out := map[string]any{}
		properties, _ := s["properties"].(map[string]any)
		for key, f := range fields(typ) {
			out[key] = w.sample(f.typ, properties[key])
		}
		return out
	}
	return 1
}
