package validate

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cuelang.org/go/cue/cuecontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/zarf-host/zarf-host/host/definition"
)

// compileJSON compiles an exported JSON schema with an independent validator.
func compileJSON(t testing.TB, v *Validator, name string) *jsonschema.Schema {
	t.Helper()
	s, err := FindSchema(name)
	if err != nil {
		t.Fatal(err)
	}
	text, err := v.Export(s, FormatJSONSchema)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("schema.json", document); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("schema.json")
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return compiled
}

// The exported JSON schemas give the verdicts of the corpus with a validator that is not ours.
func TestExportedSchemasJudgeAsTheCorpusSays(t *testing.T) {
	v := newValidator(t)
	compiled := map[string]*jsonschema.Schema{}
	for _, s := range Schemas() {
		compiled[s.Name] = compileJSON(t, v, s.Name)
	}
	judged := map[string]int{}
	for _, s := range samples(t) {
		data, err := os.ReadFile(filepath.Join(corpusFolder(t), s.path))
		if err != nil {
			t.Fatal(err)
		}
		docs, err := definition.ReadYAML(data)
		if err != nil || len(docs) != 1 {
			continue // what is no single document is no document of a JSON schema
		}
		root, err := newDocument(docs[0], strings.Split(string(data), "\n"))
		if err != nil {
			continue
		}
		name := "package"
		if e, ok := root.get("apiVersion"); ok && root.kind == mapKind {
			switch {
			case e.value.text == "zarf.dev/v1beta1":
				name = "package-v1beta1"
				if kind, ok := root.get("kind"); ok && kind.value.text == kindComponent {
					name = "component-v1beta1"
				}
			case e.value.text != "zarf.dev/v1alpha1":
				continue
			}
		}
		got := compiled[name].Validate(toJSON(root)) == nil
		judged[name+" "+s.verdict]++
		if got != (s.verdict == "valid") {
			t.Errorf("%s is %s, and the exported schema %s says valid=%v", s.path, s.verdict, name, got)
		}
	}
	for _, class := range []string{"package valid", "package invalid", "package-v1beta1 valid", "package-v1beta1 invalid"} {
		if judged[class] == 0 {
			t.Errorf("no file of class %q was judged", class)
		}
	}
	t.Log(judged)
}

// toJSON is a node as a JSON decoder would give it to a validator.
func toJSON(n *node) any {
	switch n.kind {
	case boolKind:
		return n.text == "true"
	case intKind, floatKind:
		if n.text == "NaN" || strings.HasSuffix(n.text, "Inf") {
			return json.Number("0.5")
		}
		return json.Number(n.text)
	case stringKind:
		return n.text
	case listKind:
		out := make([]any, len(n.items))
		for i, item := range n.items {
			out[i] = toJSON(item)
		}
		return out
	case mapKind:
		out := map[string]any{}
		for _, e := range n.keys {
			out[e.key] = toJSON(e.value)
		}
		return out
	}
	return nil
}

// Each format of each schema can be read by what reads that format, and says what the keys are for.
func TestEachSchemaIsExported(t *testing.T) {
	v := newValidator(t)
	for _, s := range Schemas() {
		t.Run(s.Name, func(t *testing.T) {
			text, err := v.Export(s, FormatCUE)
			if err != nil {
				t.Fatal(err)
			}
			if err := cuecontext.New().CompileBytes(text).Err(); err != nil {
				t.Errorf("the CUE does not compile: %v", err)
			}
			if text, err = v.Export(s, FormatOpenAPI); err != nil {
				t.Fatal(err)
			}
			var api struct {
				OpenAPI    string
				Components struct{ Schemas map[string]json.RawMessage }
			}
			if err := json.Unmarshal(text, &api); err != nil {
				t.Fatal(err)
			}
			if root := strings.TrimPrefix(s.definition, "#"); api.OpenAPI != "3.1.0" || api.Components.Schemas[root] == nil {
				t.Errorf("the OpenAPI document has no %s", root)
			}
			if text, err = v.Export(s, FormatJSONSchema); err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(text, []byte("#/components")) || !bytes.Contains(text, []byte(`"description"`)) {
				t.Error("the JSON schema refers elsewhere, or says nothing of its keys")
			}
		})
	}
	if _, err := v.Export(Schemas()[0], "xsd"); err == nil || !strings.Contains(err.Error(), `"jsonschema"`) {
		t.Errorf("got %v, want an error that names the formats", err)
	}
	if _, err := FindSchema("pakage"); err == nil || !strings.Contains(err.Error(), `did you mean "package"?`) {
		t.Errorf("got %v, want an error that names the nearest schema", err)
	}
}

// The example for editors has the schema that this program exports, and is valid by it; -update
// writes it anew.
func TestEditorExample(t *testing.T) {
	const folder = "../../examples/03-editor/"
	v := newValidator(t)
	s, err := FindSchema("package")
	if err != nil {
		t.Fatal(err)
	}
	want, err := v.Export(s, FormatJSONSchema)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(folder+"zarf.schema.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(folder + "zarf.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("the schema of the example is not the exported one: run the test with -update")
	}
	data, err := os.ReadFile(folder + "zarf.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if line, _, _ := strings.Cut(string(data), "\n"); line != "# yaml-language-server: $schema=zarf.schema.json" {
		t.Errorf("the first line is %q", line)
	}
	if result := v.File("zarf.yaml", data, Options{}); len(result.Diagnostics) > 0 {
		t.Error(lines(result))
	}
	if err := compileJSON(t, v, "package").Validate(tree(t, data)); err != nil {
		t.Error(err)
	}
}
