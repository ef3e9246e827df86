package validate

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// What holds in a file that is not valid, at which severity: programs branch on these.
func TestResult(t *testing.T) {
	v := newValidator(t)
	result := v.File("zarf.yaml", []byte("kind: ZarfPackageConfig\nmetadata: {name: a}\ncomponents:\n  - {name: a, group: g}\n"), Options{})
	if result.Valid() {
		t.Error("a group of one is valid")
	}
	if e, w := len(result.Errors()), len(result.Warnings()); e != 1 || w != 1 {
		t.Errorf("got %d errors and %d warnings, want one of each:\n%s", e, w, lines(result))
	}
	var invalid *InvalidError
	if err := result.Err(); !errors.As(err, &invalid) || len(invalid.Diagnostics) != 1 {
		t.Errorf("got error %v, want an InvalidError with one diagnostic", err)
	}
	d := result.Errors()[0]
	if d.Pointer != "/components/0/group" || d.Line != 4 || d.Column != 15 || d.Rule != "group-single" {
		t.Errorf("got %+v", d)
	}
	if !v.File("zarf.yaml", []byte("kind: ZarfPackageConfig\ncomponents:\n  - {name: a, group: g}\n"), Options{SchemaOnly: true}).Valid() {
		t.Error("the schema alone refuses a group of one")
	}
}

// What Zarf built, and what this repository ships, is valid without a warning.
func TestShippedAndBuiltFilesAreValid(t *testing.T) {
	v := newValidator(t)
	check := func(name string, result Result) {
		if len(result.Diagnostics) > 0 {
			t.Errorf("%s:\n%s", name, lines(result))
		}
	}
	built, err := filepath.Glob(shared(t, "samples") + "/*zarf.yaml")
	if err != nil || len(built) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	for _, name := range built {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		check(name, v.File(filepath.Base(name), data, Options{Built: true}))
	}
	plugins, err := filepath.Glob("../../plugins/*/plugin.yaml")
	if err != nil || len(plugins) == 0 {
		t.Fatalf("no plugins: %v", err)
	}
	for _, name := range plugins {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		check(name, v.FileOf(PluginMetadata, name, data))
	}
}

func TestOneValidatorServesManyFilesAtOnce(t *testing.T) {
	v := newValidator(t)
	data, err := os.ReadFile(shared(t, "samples", "demo-0.1.0.zarf.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5 {
				if result := v.File("zarf.yaml", data, Options{}); !result.Valid() {
					t.Error(lines(result))
				}
			}
		})
	}
	wg.Wait()
}

func TestManyFaultsAreCutOff(t *testing.T) {
	v := newValidator(t)
	var b strings.Builder
	b.WriteString("kind: ZarfPackageConfig\ncomponents:\n")
	for range 3 * maxDiagnostics {
		b.WriteString("  - 1\n")
	}
	result := v.File("zarf.yaml", []byte(b.String()), Options{})
	if n := len(result.Diagnostics); n != maxDiagnostics+1 {
		t.Fatalf("got %d diagnostics, want %d and one that says so", n, maxDiagnostics)
	}
	if last := result.Diagnostics[maxDiagnostics]; last.Rule != "too-many" {
		t.Errorf("the last one is %v", last)
	}
}

func TestHostileFilesAreRefusedWithinLimits(t *testing.T) {
	bomb := "kind: ZarfPackageConfig\nx-0: &x0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n"
	for i := 1; i < 12; i++ {
		bomb += fmt.Sprintf("x-%d: &x%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*x%d, ", i-1), 10), ", "))
	}
	tests := []struct{ name, data, want string }{
		{"alias bomb", bomb, "once its aliases are expanded"},
		{"50 MB", strings.Repeat("#123456789\n", 50<<20/11), "more than the 1048576"},
		{"deep flow", "x: " + strings.Repeat("[", 500_000), "nested more than"},
		{"deep block", strings.Repeat("- ", 500_000) + "a", "nested more than"},
	}
	v := newValidator(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			result := v.File("zarf.yaml", []byte(test.data), Options{})
			if result.Valid() || !strings.Contains(lines(result), test.want) {
				t.Errorf("got %q, want an error with %q", lines(result), test.want)
			}
		})
	}
}

func TestDeployConfig(t *testing.T) {
	type config struct {
		SetVariables       map[string]string                    `json:"setVariables,omitempty"`
		Values             map[string]any                       `json:"values,omitempty"`
		NamespaceOverride  string                               `json:"namespaceOverride,omitempty"`
		ValuesOverridesMap map[string]map[string]map[string]any `json:"valuesOverridesMap,omitempty"`
	}
	v := newValidator(t)
	tests := []struct {
		name   string
		config any
		want   string // "" for a valid one
	}{
		{"empty", config{}, ""},
		{"full", config{
			SetVariables: map[string]string{"A": "1"}, Values: map[string]any{"web": map[string]any{"replicas": 3}},
			NamespaceOverride: "team-a", ValuesOverridesMap: map[string]map[string]map[string]any{"web": {"podinfo": {"big": json.Number("9007199254740993"), "nil": nil}}},
		}, ""},
		{"a namespace that is none", config{NamespaceOverride: "Team_A"}, "namespaceOverride: this value is not allowed here"},
		{"a variable that is no string", map[string]any{"setVariables": map[string]any{"PASSWORD": 12345}}, "setVariables.PASSWORD: want a string, got a number"},
		{"an unknown key", map[string]any{"setVariable": map[string]any{}}, `did you mean "setVariables"?`},
		{"what cannot be marshalled", map[string]any{"values": func() {}}, "unsupported type"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := v.DeployConfig(test.config)
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want %q", err, test.want)
			case err != nil && (strings.Contains(err.Error(), "12345") || strings.Contains(err.Error(), "Team_A")):
				t.Errorf("the error shows a value: %v", err)
			}
		})
	}
}

func TestRemoveConfig(t *testing.T) {
	v := newValidator(t)
	if err := v.RemoveConfig(map[string]any{"values": map[string]any{"keep": true}, "namespaceOverride": "a"}); err != nil {
		t.Error(err)
	}
	if err := v.RemoveConfig(map[string]any{"setVariables": map[string]any{}}); err == nil {
		t.Error("a removal takes variables")
	}
}

func TestNearest(t *testing.T) {
	keys := []string{"name", "charts", "manifests", "images", "onDeploy"}
	for word, want := range map[string]string{
		"chart": "charts", "nmae": "name", "ondeploy": "onDeploy", "manifest": "manifests", "image": "images", "bogusKey": "", "x": "",
	} {
		if got := nearest(word, keys); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}

func FuzzFile(f *testing.F) {
	v := newValidator(f)
	for i, s := range samples(f) {
		if i%25 != 0 {
			continue
		}
		data, err := os.ReadFile(shared(f, "corpus", s.path))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("<<: *x"))
	f.Add([]byte(`{"apiVersion": "zarf-host.dev/v1alpha1", "kind": "Plan", "prune": {"objects": [1]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, d := range v.File("zarf.yaml", data, Options{}).Diagnostics {
			if d.Message == "" || strings.Contains(d.Message, "disjunction") || strings.Contains(d.Message, "_|_") {
				t.Errorf("a user sees %q", d.Message)
			}
		}
		v.FileOf(DeployConfig, "deploy-config.yaml", data)
		v.Any("any.yaml", data, Options{})
	})
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		newValidator(b)
	}
}

func BenchmarkFile(b *testing.B) {
	v := newValidator(b)
	data, err := os.ReadFile(shared(b, "samples", "demo-0.1.0.zarf.yaml"))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		v.File("zarf.yaml", data, Options{})
	}
}
