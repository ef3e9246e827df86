package template

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/spec"
)

func declared(name, value string, more ...func(*spec.InteractiveVariable)) spec.InteractiveVariable {
	v := spec.InteractiveVariable{Variable: spec.Variable{Name: name}, Default: value}
	for _, f := range more {
		f(&v)
	}
	return v
}

func pattern(p string) func(*spec.InteractiveVariable) {
	return func(v *spec.InteractiveVariable) { v.Pattern = p }
}

func TestResolve(t *testing.T) {
	for _, tc := range []struct {
		name    string
		pkg     spec.Package
		set     map[string]string
		want    map[string]string // entry name -> value
		wantErr string
	}{
		{
			name: "default", pkg: spec.Package{Variables: []spec.InteractiveVariable{declared("A", "x")}},
			want: map[string]string{"ZARF_VAR_A": "x"},
		},
		{
			name: "set wins over default, in any case", set: map[string]string{"a": "y"},
			pkg:  spec.Package{Variables: []spec.InteractiveVariable{declared("A", "x")}},
			want: map[string]string{"ZARF_VAR_A": "y"},
		},
		{
			name: "empty set value wins too", set: map[string]string{"A": ""},
			pkg:  spec.Package{Variables: []spec.InteractiveVariable{declared("A", "x")}},
			want: map[string]string{"ZARF_VAR_A": ""},
		},
		{
			name: "no default means empty", pkg: spec.Package{Variables: []spec.InteractiveVariable{declared("A", "")}},
			want: map[string]string{"ZARF_VAR_A": ""},
		},
		{name: "undeclared", set: map[string]string{"other": "1"}, want: map[string]string{"ZARF_VAR_OTHER": "1"}},
		{
			name: "constant", pkg: spec.Package{Constants: []spec.Constant{{Name: "A", Value: "c"}}}, set: map[string]string{"A": "v"},
			want: map[string]string{"ZARF_CONST_A": "c", "ZARF_VAR_A": "v"},
		},
		{name: "two spellings", set: map[string]string{"a": "1", "A": "2"}, wantErr: `"A" is set twice`},
		{name: "two spellings, one value", set: map[string]string{"a": "1", "A": "1"}, want: map[string]string{"ZARF_VAR_A": "1"}},
		{
			name: "pattern holds for set values", set: map[string]string{"A": "hunter2"},
			pkg:     spec.Package{Variables: []spec.InteractiveVariable{declared("A", "ok", pattern("^ok$"))}},
			wantErr: `variable "A": its value does not match the pattern "^ok$"`,
		},
		{
			name:    "pattern holds for defaults",
			pkg:     spec.Package{Variables: []spec.InteractiveVariable{declared("A", "no", pattern("^ok$"))}},
			wantErr: `variable "A"`,
		},
		{
			name:    "pattern holds for constants",
			pkg:     spec.Package{Constants: []spec.Constant{{Name: "C", Value: "no", Pattern: "^ok$"}}},
			wantErr: `constant "C"`,
		},
		{
			name:    "invalid pattern",
			pkg:     spec.Package{Variables: []spec.InteractiveVariable{declared("A", "x", pattern("("))}},
			wantErr: "not a regular expression",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v, err := Resolve(tc.pkg, tc.set)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("error %v, want %q in it", err, tc.wantErr)
				}
				if strings.Contains(err.Error(), "hunter2") {
					t.Errorf("error %q shows a value", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for name, e := range v.entries {
				got[name] = e.Value
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSetKeepsSensitive(t *testing.T) {
	v := New()
	if err := v.Set(spec.Variable{Name: "token", Sensitive: true}, "first-secret"); err != nil {
		t.Fatal(err)
	}
	if err := v.Set(spec.Variable{Name: "TOKEN"}, "second-secret"); err != nil {
		t.Fatal(err)
	}
	if got := v.Mask("it is second-secret"); strings.Contains(got, "second") {
		t.Errorf("setting it again made the variable readable: %q", got)
	}
	if err := v.Set(spec.Variable{Name: "TOKEN", Pattern: "^x$"}, "y"); err == nil {
		t.Error("a value that does not match was accepted")
	}
	if got, _ := v.Value("token"); got != "second-secret" {
		t.Errorf("a refused value was stored: %q", got)
	}
}

func TestCloneIsIndependent(t *testing.T) {
	v := New()
	c := v.Clone()
	if err := c.Set(spec.Variable{Name: "A"}, "1"); err != nil {
		t.Fatal(err)
	}
	if _, ok := v.Value("A"); ok {
		t.Error("a change of the copy reached the original")
	}
}

func TestPrompts(t *testing.T) {
	ask := func(v *spec.InteractiveVariable) { v.Prompt = true }
	pkg := spec.Package{Variables: []spec.InteractiveVariable{declared("A", "", ask), declared("B", ""), declared("C", "x", ask)}}
	var got []string
	for _, v := range Prompts(pkg, map[string]string{"a": ""}) {
		got = append(got, v.Name)
	}
	if diff := cmp.Diff([]string{"C"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestEnviron(t *testing.T) {
	v, err := Resolve(spec.Package{Constants: []spec.Constant{{Name: "K", Value: "c"}}}, map[string]string{"Some_Name": "v"})
	if err != nil {
		t.Fatal(err)
	}
	v.SetBuiltins(map[string]Entry{"REGISTRY": {Value: "127.0.0.1:31999"}})
	want := []string{"TF_VAR_some_name=v", "ZARF_CONST_K=c", "ZARF_REGISTRY=127.0.0.1:31999", "ZARF_VAR_SOME_NAME=v"}
	if diff := cmp.Diff(want, v.Environ()); diff != "" {
		t.Error(diff)
	}
}

func TestExpand(t *testing.T) {
	v, err := Resolve(spec.Package{}, map[string]string{"NS": "team", "NS_TWO": "two"})
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		"${ZARF_VAR_NS}":           "team",
		"$ZARF_VAR_NS-x":           "team-x",
		"a${ZARF_VAR_NS}b":         "ateamb",
		"$ZARF_VAR_NS_TWO":         "two",
		"$ZARF_VAR_NOPE ${HOME} $": "$ZARF_VAR_NOPE ${HOME} $",
		"{.status.phase}=Ready":    "{.status.phase}=Ready",
	} {
		if got := v.Expand(in); got != want {
			t.Errorf("Expand(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestMask(t *testing.T) {
	v := New()
	for name, value := range map[string]string{"A": "abc", "B": "abcdef", "C": "1", "KEY": "-----BEGIN\n  line-two\n"} {
		if err := v.Set(spec.Variable{Name: name, Sensitive: true}, value); err != nil {
			t.Fatal(err)
		}
	}
	got := v.Mask("abcdef abc 1 line-two")
	if want := "**sanitized** **sanitized** 1 **sanitized**"; got != want {
		t.Errorf("masked %q, want %q", got, want)
	}
}
