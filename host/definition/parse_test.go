package definition

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host/spec"
)

const head = "kind: ZarfPackageConfig\nmetadata:\n  name: demo\n"

func TestParseReadsYAMLAsZarfDoes(t *testing.T) {
	tests := []struct {
		name, yaml string
		want       string // the JSON holds this
	}{
		{"a date is a string", head + "  version: 2024-01-02\n", `"version":"2024-01-02"`},
		{"an exponent is a string", head + "  version: 1e3\n", `"version":"1e3"`},
		{"a number becomes text, and loses what it looked like", head + "  version: 1.10\n", `"version":"1.1"`},
		{"an octal number", head + "components: [{name: a, scripts: {timeoutSeconds: 010}}]", `"timeoutSeconds":8`},
		{"underscores in a number", head + "components: [{name: a, scripts: {timeoutSeconds: 1_000}}]", `"timeoutSeconds":1000`},
		{"unknown keys are left out", head + "x-note: {a: 1}\ncomponents: [{name: a, x-note: b}]", `"components":[{"name":"a","only"`},
		{"variables keep all of their fields", head + "variables: [{name: A, sensitive: true, autoIndent: true, pattern: p, type: file, description: d, default: e, prompt: true}]",
			`"variables":[{"name":"A","sensitive":true,"autoIndent":true,"pattern":"p","type":"file","description":"d","default":"e","prompt":true}]`},
		{"any value", head + "components: [{name: a, actions: {onDeploy: {after: [{setValues: [{key: k, value: {big: 9007199254740993, f: 1.5, nil: null, on: true, list: [1]}}]}]}}}]",
			`"value":{"big":9007199254740993,"f":1.5,"list":[1],"nil":null,"on":true}`},
		{"aliases and merges", head + "x-a: &a {namespace: n}\ncomponents: [{name: a, charts: [{<<: *a, name: c}]}]", `"charts":[{"name":"c","namespace":"n"}]`},
		{"CRLF", strings.ReplaceAll(head, "\n", "\r\n") + "  description: a\r\n", `"name":"demo","description":"a"`},
		{"JSON", `{"kind": "ZarfPackageConfig", "metadata": {"name": "demo"}}`, `"name":"demo"`},
		{"apiVersion stays absent", head, `{"kind":"ZarfPackageConfig"`},
		{"the v1alpha1 document counts", "apiVersion: zarf.dev/v1beta1\nkind: ZarfPackageConfig\nmetadata: {name: beta}\n---\napiVersion: zarf.dev/v1alpha1\n" + head, `"metadata":{"name":"demo"}`},
		{"documents of other versions do not", "apiVersion: zarf.dev/v9\n---\n" + head, `"metadata":{"name":"demo"}`},
		{"many maps and deep columns are no nesting", head + "  annotations:\n" + staircase(1500), `"kind"`},
		{"empty documents do not", "# nothing\n---\n" + head + "---\n", `"metadata":{"name":"demo"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			pkg, err := Parse([]byte(test.yaml))
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(pkg)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(got), test.want) {
				t.Errorf("got %s, want it to hold %s", got, test.want)
			}
		})
	}
}

// staircase is a map whose colons each stand further to the right than the one before.
func staircase(keys int) string {
	var b strings.Builder
	for i := range keys {
		fmt.Fprintf(&b, "    %s%d: v\n", strings.Repeat("k", i%400), i)
	}
	return b.String()
}

func TestParseErrors(t *testing.T) {
	bomb := "x-0: &x0 {name: a}\n"
	for i := 1; i < 8; i++ {
		bomb += fmt.Sprintf("x-%d: &x%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*x%d, ", i-1), 20), ", "))
	}
	tests := []struct {
		name, yaml, want string
		line             int
	}{
		{"a type that does not fit", head + "components:\n  - name: a\n    required: yes\n", "cannot unmarshal string", 6},
		{"a list that is a map", head + "components:\n  a: b\n", "mapping was used where sequence is expected", 5},
		{"an integer beyond 64 bits", head + "components: [{name: a, scripts: {timeoutSeconds: 99999999999999999999}}]", "overflow", 4},
		{"a key given twice", "kind: a\nkind: b\n", "already defined", 2},
		{"a merged key given again", head + "x-a: &a {name: n}\ncomponents:\n  - <<: *a\n    name: b\n", "duplicate key", 7},
		{"a tab", head + "\tversion: a\n", "cannot start any token", 4},
		{"only a comment", "# nothing\n", "no package definition found", 0},
		{"nothing", "", "no package definition found", 0},
		{"null", "~\n", "null was used where mapping is expected", 1},
		{"a scalar", "hello\n", "string was used where mapping is expected", 1},
		{"an unknown apiVersion", "apiVersion: zarf.dev/v2\n" + head, `unknown apiVersion "zarf.dev/v2"`, 1},
		{"two documents of one version", head + "---\n" + head, "a second document", 5},
		{"an alias without an anchor", "a: *nope\n", "names no anchor", 1},
		{"an alias inside its anchor", "a: &a [*a]\n", "inside its own anchor", 1},
		{"an alias bomb", bomb, "once its aliases are expanded", 0},
		{"deep flow nesting", "x-a: " + strings.Repeat("[", 100_000), "nested more than 1000", 1},
		{"deep block nesting", strings.Repeat("- ", 100_000) + "a", "nested more than 1000", 1},
		{"a huge map", "x-a:\n" + strings.Repeat("  ? a\n", 3000), "a map has more than 2000 keys", 0},
		{"a huge flow map", "x-a: {" + strings.Repeat("a, ", 3000) + "}", "a map has more than 2000 keys", 1},
		{"many documents", strings.Repeat("---\na\n", 1000), "more than 100 YAML documents", 0},
		{"too many bytes", strings.Repeat("#", MaxBytes+1), "1048577 bytes", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse([]byte(test.yaml))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, want an error with %q", err, test.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("the error has several lines: %v", err)
			}
			var at *Error
			if !errors.As(err, &at) {
				t.Fatalf("got a %T", err)
			}
			if test.line != 0 && at.Line != test.line {
				t.Errorf("got line %d, want %d", at.Line, test.line)
			}
		})
	}
}

func TestParseUnbuiltV1Beta1(t *testing.T) {
	_, err := Parse([]byte("apiVersion: zarf.dev/v1beta1\n" + head))
	var unbuilt *UnbuiltV1Beta1Error
	if !errors.As(err, &unbuilt) || unbuilt.Hint() == "" {
		t.Errorf("got %v, want an UnbuiltV1Beta1Error with a hint", err)
	}
}

// N18: what Zarf's decoder takes or refuses, file by file as EDGE.tsv says. Three verdicts there
// are of files that the parser refuses before it decodes, and one is a panic in Zarf.
func TestEdgeFilesDecodeAsInZarf(t *testing.T) {
	table, err := os.ReadFile(shared(t, "corpus", "EDGE.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	tested := 0
	for _, line := range strings.Split(strings.TrimSpace(string(table)), "\n")[1:] {
		columns := strings.Split(line, "\t")
		if columns[3] == "yaml-error" || strings.HasPrefix(columns[4], "PANIC") || strings.HasPrefix(columns[2], "v1beta1") {
			continue
		}
		data, err := os.ReadFile(shared(t, "corpus", filepath.FromSlash(columns[0])))
		if err != nil {
			t.Fatal(err)
		}
		tested++
		if _, err := Parse(data); (err == nil) != (columns[4] == "ok") {
			t.Errorf("%s (%s): got %v, Zarf says %s", columns[0], columns[1], err, columns[4])
		}
	}
	if tested < 50 {
		t.Errorf("only %d files were tested", tested)
	}
}

func TestMigrations(t *testing.T) {
	const scripts = `
components:
  - name: a
    scripts: {showOutput: true, timeoutSeconds: 7, retry: true, prepare: [p], before: [b], after: [c, d]}
    actions:
      onDeploy:
        before: [{cmd: first, setVariable: OLD}]
        after: [{cmd: x, setVariable: OLD, setVariables: [{name: NEW}]}]
`
	first, err := Parse([]byte(head + scripts))
	if err != nil {
		t.Fatal(err)
	}
	c := first.Components[0]
	defaults := spec.ActionDefaults{MaxTotalSeconds: 7, MaxRetries: 10000}
	got, _ := json.Marshal(c.Actions)
	want, _ := json.Marshal(spec.Actions{
		OnCreate: spec.ActionSet{Defaults: defaults, Before: []spec.Action{{Cmd: "p"}}},
		OnDeploy: spec.ActionSet{
			Defaults: defaults,
			Before:   []spec.Action{{Cmd: "first", SetVariable: "OLD", SetVariables: []spec.Variable{{Name: "OLD"}}}, {Cmd: "b"}},
			After:    []spec.Action{{Cmd: "x", SetVariable: "OLD", SetVariables: []spec.Variable{{Name: "NEW"}}}, {Cmd: "c"}, {Cmd: "d"}},
		},
	})
	if string(got) != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if len(c.Scripts.Prepare) != 1 {
		t.Error("the first reading dropped the deprecated form, which create still writes")
	}
	if m := strings.Join(first.Build.Migrations, ","); m != "scripts-to-actions,pluralize-set-variable" {
		t.Errorf("build.migrations is %s", m)
	}

	second, err := Parse([]byte(head + "build: {migrations: [scripts-to-actions, pluralize-set-variable]}" + scripts))
	if err != nil {
		t.Fatal(err)
	}
	c = second.Components[0]
	if len(c.Scripts.Prepare) != 0 || len(c.Actions.OnCreate.Before) != 0 || c.Actions.OnDeploy.Before[0].SetVariable != "" {
		t.Errorf("a migrated definition was migrated again: %+v", c)
	}
}

func TestV1Alpha1BesideV1Beta1IsNotMigrated(t *testing.T) {
	pkg, err := Parse([]byte(head + "---\napiVersion: zarf.dev/v1beta1\n" + head))
	if err != nil {
		t.Fatal(err)
	}
	if pkg.Build.Migrations != nil {
		t.Errorf("build.migrations is %v, where Zarf records none", pkg.Build.Migrations)
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"demo-0.1.0.zarf.yaml", "v1beta1-built.zarf.yaml", "signed.zarf.yaml"} {
		data, err := os.ReadFile(shared(f, "samples", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("a: &a {<<: *a}"))
	f.Add([]byte("!!binary x"))
	f.Add([]byte("? - a\n: - b\n---\n--- |\n x"))
	f.Fuzz(func(t *testing.T, data []byte) {
		pkg, err := Parse(data)
		if err != nil {
			return
		}
		if _, err := json.Marshal(pkg); err != nil {
			t.Errorf("what was read cannot be written: %v", err)
		}
	})
}
