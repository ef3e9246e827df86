package compose_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/compose"
	"github.com/zarf-host/zarf-host/host/spec"
)

// filled gives every field in a value something that is its own: texts are made of who and where.
func filled(v reflect.Value, who string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(who)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int:
		v.SetInt(int64(len(who)))
	case reflect.Struct:
		for i := range v.NumField() {
			filled(v.Field(i), who+"."+v.Type().Field(i).Name)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		filled(v.Index(0), who+"[0]")
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(v.Elem(), who)
	case reflect.Interface:
		v.Set(reflect.ValueOf(who))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
	default:
		panic("no value for a " + v.Kind().String())
	}
}

// texts are all texts in a value.
func texts(v reflect.Value) (out []string) {
	switch v.Kind() {
	case reflect.String:
		if v.String() != "" {
			out = append(out, v.String())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			out = append(out, texts(v.Field(i))...)
		}
	case reflect.Slice:
		for i := range v.Len() {
			out = append(out, texts(v.Index(i))...)
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			out = append(out, texts(v.Elem())...)
		}
	}
	return out
}

func component(t *testing.T, who string) spec.Component {
	t.Helper()
	var c spec.Component
	filled(reflect.ValueOf(&c).Elem(), who)
	c.Import = spec.Import{}
	return c
}

// K7: nothing that either of two components says is lost when one imports the other, but for what the
// other one says in its place.
func TestK7MergeIsTotal(t *testing.T) {
	child, parent := component(t, "child"), component(t, "parent")
	parent.Only.LocalOS = child.Only.LocalOS
	c, p := compose.New("child.yaml", ".", 0, child), compose.New("parent.yaml", ".", 0, parent)
	merged, err := compose.Merge(c, p)
	if err != nil {
		t.Fatal(err)
	}
	got := texts(reflect.ValueOf(merged.Component))
	for _, text := range texts(reflect.ValueOf(parent)) {
		if !slices.Contains(got, text) {
			t.Errorf("%s of the importing component is lost", text)
		}
	}
	// What the importing component says in the place of the imported one's.
	replaced := []string{"child.Name", "child.Description", "child.Group", "child.Only.", "Defaults."}
	for _, text := range texts(reflect.ValueOf(child)) {
		if slices.ContainsFunc(replaced, func(r string) bool { return strings.Contains(text, r) }) {
			continue
		}
		if !slices.Contains(got, text) {
			t.Errorf("%s of the imported component is lost", text)
		}
	}
}

// K7: charts and manifests of one name become one, with all that either says of it.
func TestK7MergeOfOneName(t *testing.T) {
	child, parent := component(t, "child"), component(t, "parent")
	parent.Only.LocalOS = child.Only.LocalOS
	parent.Charts[0].Name, parent.Manifests[0].Name = child.Charts[0].Name, child.Manifests[0].Name
	parent.Charts[0].LocalPath, child.Charts[0].URL = "", ""
	merged, err := compose.Merge(compose.New("c", ".", 0, child), compose.New("p", ".", 3, parent))
	if err != nil {
		t.Fatal(err)
	}
	if len(merged.Charts) != 1 || len(merged.Manifests) != 1 {
		t.Fatalf("%d charts and %d manifests, want one each", len(merged.Charts), len(merged.Manifests))
	}
	got := texts(reflect.ValueOf(merged.Component))
	for _, text := range append(texts(reflect.ValueOf(parent.Charts)), texts(reflect.ValueOf(parent.Manifests))...) {
		if !slices.Contains(got, text) {
			t.Errorf("%s of the importing component is lost", text)
		}
	}
	for _, list := range []string{"ValuesFiles", "TemplatedValuesFiles", "Variables", "Values"} {
		if n := reflect.ValueOf(merged.Charts[0]).FieldByName(list).Len(); n != 2 {
			t.Errorf("the chart has %d %s, want both", n, list)
		}
	}
	if merged.Charts[0].LocalPath != "" {
		t.Error("a chart that is given a url keeps its localPath too")
	}
	if got, want := merged.Place("charts", 0, "valuesFiles", 1), (compose.Place{Source: "p", Path: []any{"components", 3, "charts", 0, "valuesFiles", 0}}); !reflect.DeepEqual(got, want) {
		t.Errorf("the importing component's values file is at %v, want %v", got, want)
	}
	if got := merged.Place("charts", 0, "valuesFiles", 0); got.Source != "c" {
		t.Errorf("the imported component's values file is at %v", got)
	}
}

func TestMergeSaysWhereThingsAre(t *testing.T) {
	child := spec.Component{Name: "a", Files: []spec.File{{Source: "x"}}, Images: []string{"i:1"}}
	parent := spec.Component{Name: "b", Files: []spec.File{{Source: "y"}, {Source: "https://z.test/f"}}, Repos: []string{"r", "s"}}
	merged, err := compose.Merge(compose.New("lib/zarf.yaml", "lib", 1, child), compose.New("zarf.yaml", ".", 4, parent))
	if err != nil {
		t.Fatal(err)
	}
	var sources []string
	for _, f := range merged.Files {
		sources = append(sources, f.Source)
	}
	if diff := cmp.Diff([]string{"lib/x", "y", "https://z.test/f"}, sources); diff != "" {
		t.Error(diff)
	}
	for i, want := range []string{"lib/zarf.yaml [components 1 files 0 source]", "zarf.yaml [components 4 files 0 source]", "zarf.yaml [components 4 files 1 source]"} {
		at := merged.Place("files", i, "source")
		if got := fmt.Sprintf("%s %v", at.Source, at.Path); got != want {
			t.Errorf("file %d is at %s, want %s", i, got, want)
		}
	}
	left := merged.WithoutRepos(func(_ int, repo string) bool { return repo == "r" })
	if at := left.Place("repos", 0); len(left.Repos) != 1 || fmt.Sprint(at.Path) != "[components 4 repos 1]" {
		t.Errorf("the repository that is left is at %v", at)
	}
	if len(merged.Repos) != 2 {
		t.Error("leaving one out changed the component that it was left out of")
	}
}

func TestMergeRefusesAnotherSystem(t *testing.T) {
	linux, windows := spec.Component{Only: spec.OnlyTarget{LocalOS: "linux"}}, spec.Component{Only: spec.OnlyTarget{LocalOS: "windows"}}
	if _, err := compose.Merge(compose.New("a", ".", 0, linux), compose.New("b", ".", 0, windows)); err == nil {
		t.Error("no error")
	}
}

func TestFits(t *testing.T) {
	c := func(arch, flavor string) spec.Component {
		return spec.Component{Only: spec.OnlyTarget{Flavor: flavor, Cluster: spec.OnlyCluster{Architecture: arch}}}
	}
	for _, test := range []struct {
		c    spec.Component
		want bool
	}{
		{c("", ""), true}, {c("amd64", ""), true}, {c("arm64", ""), false}, {c("", "big"), true}, {c("", "small"), false}, {c("arm64", "big"), false},
	} {
		if got := compose.Fits(test.c, "amd64", "big"); got != test.want {
			t.Errorf("%+v: %v", test.c.Only, got)
		}
	}
	if compose.Fits(c("", "big"), "amd64", "") {
		t.Error("a component for a flavor fits a build without one")
	}
}

// Templates reach every text of a component, in whatever field.
func TestTemplatesReachEveryField(t *testing.T) {
	c := component(t, "###ZARF_PKG_TMPL_WHO### in ###ZARF_PKG_ARCH###")
	tm := compose.NewTemplates("arm64", map[string]string{"who": "me"})
	for _, text := range texts(reflect.ValueOf(tm.Component(c))) {
		if !strings.HasPrefix(text, "me in arm64") {
			t.Errorf("%q was not filled", text)
		}
	}
	if strings.HasPrefix(c.Images[0], "me") {
		t.Error("filling changed what it was given")
	}
	got := tm.Package(spec.Package{Metadata: spec.Metadata{
		Annotations: map[string]string{"a": "###ZARF_PKG_VAR_WHO###"}, Version: "###ZARF_PKG_TMPL_NO###", Description: "###ZARF_COMPONENT_NAME### ###ZARF_VAR_X###",
	}})
	if got.Metadata.Annotations["a"] != "me" || got.Metadata.Description != "###ZARF_COMPONENT_NAME### ###ZARF_VAR_X###" {
		t.Errorf("got %+v", got.Metadata)
	}
	if diff := cmp.Diff([]string{"NO"}, tm.Missing()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"WHO"}, tm.Deprecated()); diff != "" {
		t.Error(diff)
	}
	if named := tm.Component(spec.Component{Name: "web", Description: "###ZARF_COMPONENT_NAME###"}); named.Description != "web" {
		t.Errorf("the name of the component became %q", named.Description)
	}
}

func TestMergeSchemas(t *testing.T) {
	under := map[string]any{"required": []any{"a"}, "properties": map[string]any{"a": map[string]any{"type": "string"}}}
	over := map[string]any{"required": []any{"b", "a"}, "properties": map[string]any{"b": map[string]any{"type": "integer"}}}
	want := map[string]any{"required": []any{"a", "b"}, "properties": map[string]any{
		"a": map[string]any{"type": "string"}, "b": map[string]any{"type": "integer"},
	}}
	if diff := cmp.Diff(want, compose.MergeSchemas(under, over)); diff != "" {
		t.Error(diff)
	}
}
