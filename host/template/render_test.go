package template

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/spec"
)

func objects(t testing.TB) Objects {
	t.Helper()
	v, err := Resolve(spec.Package{
		Variables: []spec.InteractiveVariable{
			{Variable: spec.Variable{Name: "NAME"}, Default: "podinfo"},
			{Variable: spec.Variable{Name: "TOKEN", Sensitive: true}, Default: "hunter2hunter2hunter2hunter2"},
			{Variable: spec.Variable{Name: "BRACES"}, Default: "{{ broken hunter2"},
		},
		Constants: []spec.Constant{{Name: "TIER", Value: "gold"}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return Objects{
		Values: map[string]any{
			"web":    map[string]any{"replicas": json.Number("3"), "name": "shop", "nothing": nil, "list": []any{"a", "b"}},
			"big":    json.Number("9007199254740993"),
			"bigger": json.Number("98765432109876543210"),
			"secret": "hunter2",
		},
		Variables: v,
		Package: &spec.Package{Metadata: spec.Metadata{Name: "demo"}, Components: []spec.Component{
			{Name: "base", Images: []string{"pause:1"}},
		}},
		State: &State{
			Distro:   "k3s",
			Registry: StateRegistry{Address: "127.0.0.1:31999", PushPassword: "hunter2"},
			Git:      StateGit{PullPassword: "hunter2"},
			Agent:    StateAgent{CA: "Y2E="},
		},
	}
}

func TestRender(t *testing.T) {
	for _, tc := range []struct {
		name, in, want string
		access         []spec.StateAccessKey
		wantErr        string
	}{
		{name: "values", in: "replicas: {{ .Values.web.replicas }}", want: "replicas: 3"},
		{name: "numbers compare", in: "{{ if gt .Values.web.replicas 2 }}many{{ end }} {{ add .Values.web.replicas 1 }}", want: "many 4"},
		{name: "large integers keep their digits", in: "{{ .Values.big }} {{ .Values.bigger }} {{ toJson .Values.big }}", want: "9007199254740993 98765432109876543210 9007199254740993"},
		{name: "variables and constants", in: "{{ .Variables.NAME }} {{ .Constants.TIER }}", want: "podinfo gold"},
		{name: "package", in: `{{ .Pkg.Metadata.Name }} {{ index (.Pkg.GetComponent "base").Images 0 }}`, want: "demo pause:1"},
		{name: "state", in: "{{ .State.Distro }} {{ .State.Registry.Address }} {{ .State.Registry.MTLSEnabled }}", want: "k3s 127.0.0.1:31999 false"},
		{name: "credentials that were asked for", access: []spec.StateAccessKey{AccessRegistryCredentials, AccessAgentCerts},
			in: "{{ .State.Registry.PushPassword }} {{ .State.Agent.CA }}", want: "hunter2 Y2E="},
		{name: "text templates come first", in: `{{ "###ZARF_VAR_NAME###" | upper }} ###ZARF_CONST_TIER###`, want: "PODINFO gold"},
		{name: "sprig and Helm's conversions", in: "{{ .Values.web.list | toYaml | nindent 2 }} {{ (fromYaml \"a: 1\").a }} {{ (fromJson `{\"b\":2}`).b }} {{ (fromToml \"c = 3\").c }}",
			want: "\n  - a\n  - b 1 2 3"},
		{name: "toYamlPretty", in: "{{ toYamlPretty (dict \"l\" (list 1 2)) }}", want: "l:\n  - 1\n  - 2"},
		{name: "definitions", in: `{{ define "x" }}{{ .Values.web.name }}{{ end }}{{ template "x" . }}`, want: "shop"},

		{name: "missing", in: "\n{{ .Values.web.no }}", wantErr: `line 2, at .Values.web.no: there is no "no"`},
		{name: "null has nothing below", in: "{{ .Values.web.nothing.x }}", wantErr: "nil pointer evaluating"},
		{name: "credentials without stateAccess", in: "{{ .State.Registry.PushPassword }}", wantErr: "stateAccess"},
		{name: "credentials of another key", access: []spec.StateAccessKey{AccessGitCredentials}, in: "{{ .State.Registry.PushPassword }}", wantErr: "stateAccess"},
		{name: "no such component", in: `{{ (.Pkg.GetComponent "no").Images }}`, wantErr: "calling GetComponent fails"},
		{name: "this machine's environment", in: `{{ env "HOME" }}`, wantErr: `function "env" not defined`},
		{name: "and the rest of it", in: `{{ expandenv "$HOME" }}`, wantErr: `function "expandenv" not defined`},
		{name: "and its network", in: `{{ getHostByName "localhost" }}`, wantErr: `function "getHostByName" not defined`},
		{name: "syntax", in: "a\n{{ if }}", wantErr: "2: missing value for if"},
		{name: "comparing what cannot be", in: "{{ gt .Values.secret 1 }}", wantErr: "incompatible types for comparison"},
		{name: "the author's own refusal", in: `{{ fail (printf "name %s with %s" .Values.web.name .Variables.TOKEN) }}`, wantErr: "name shop with **sanitized**"},
		{name: "too much", in: `{{ range until 4096 }}{{ "0123456789abcdef" | repeat 4096 }}{{ end }}`, wantErr: "more than 64 MiB"},

		// What text/template says of these holds the value.
		{name: "an argument of another type", in: "{{ mustRegexMatch .Values.secret .Values.web }}", wantErr: "wrong type"},
		{name: "a function that quotes more", in: "{{ .Values.secret | mustToDate \"2006\" }}", wantErr: "calling mustToDate fails"},
		{name: "range", in: "{{ range (printf \"%s\" .Values.secret | len | float64) }}{{ end }}", wantErr: "range can't iterate over it"},
		{name: "a text that was filled in", in: `{{ "###ZARF_VAR_TOKEN###" | mustToDate "2006" }}`, wantErr: "line 1: calling mustToDate fails"},
		{name: "a variable that is no template", in: "###ZARF_VAR_BRACES###", wantErr: "what a variable filled in makes it none"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := objects(t)
			o.Access = tc.access
			got, err := o.Render([]byte(tc.in), nil)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("error %v, want %q in it", err, tc.wantErr)
				}
				if strings.Contains(err.Error(), "hunter2") {
					t.Errorf("a secret got into the error: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestExecuteFillsNothingAndHasNoPackage(t *testing.T) {
	o := objects(t)
	o.Package, o.State = nil, nil
	got, err := o.Execute([]byte("echo ###ZARF_VAR_NAME### {{ .Values.web.name }}"))
	if err != nil || string(got) != "echo ###ZARF_VAR_NAME### shop" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, text := range []string{"{{ .Pkg.Metadata.Name }}", "{{ .State.Distro }}"} {
		if _, err := o.Execute([]byte(text)); err == nil {
			t.Errorf("%s was executed", text)
		}
	}
}

func TestInspect(t *testing.T) {
	for _, tc := range []struct {
		name, in  string
		actions   []spec.Action
		missing   []string
		unsettled []string
		wantErr   string
	}{
		{name: "everything there", in: "{{ .Values.web.replicas }} {{ .Values.web.nothing }} {{ .Variables.NAME }} {{ .Constants.TIER }} {{ .Pkg.Metadata.Name }} {{ .State.Distro }}"},
		{name: "values", in: "{{ .Values.no }}\n{{ .Values.web.no.deeper }}\n{{ .Values.web.name.first }} {{ .Values.web.nothing.x }}",
			missing: []string{"1 .Values.no", "2 .Values.web.no.deeper", "3 .Values.web.name.first", "3 .Values.web.nothing.x"}},
		{name: "variables, constants, state", in: "{{ .Variables.NO }}{{ .Constants.NO }}{{ .State.Registry.PushPassword }}{{ .Values }}",
			missing: []string{"1 .Variables.NO", "1 .Constants.NO", "1 .State.Registry.PushPassword"}},
		{name: "branches that may not run", in: "{{ if false }}{{ .Values.no }}{{ else }}{{ .Values.neither }}{{ end }}", missing: []string{"1 .Values.no", "1 .Values.neither"}},
		{name: "pipes, arguments, parentheses", in: "{{ .Values.a | default (quote .Values.b) }}{{ (.Values.c).d }}{{ $x := .Values.e }}",
			missing: []string{"1 .Values.a", "1 .Values.b", "1 .Values.c.d", "1 .Values.e"}},
		{name: "another dot", in: "{{ with .Values.web }}{{ .Values.theirs }}{{ $.Values.no }}{{ else }}{{ .Values.neither }}{{ end }}", missing: []string{"1 .Values.no", "1 .Values.neither"}},
		{name: "the same dot", in: "{{ with . }}{{ .Values.no }}{{ end }}{{ with $ }}{{ .Values.neither }}{{ end }}", missing: []string{"1 .Values.no", "1 .Values.neither"}},
		{name: "range", in: "{{ range .Values.no }}{{ .Values.theirs }}{{ end }}", missing: []string{"1 .Values.no"}},
		{name: "definitions", in: "{{ define \"x\" }}{{ .Values.no }}{{ end }}{{ template \"x\" . }}", missing: []string{"1 .Values.no"}},
		{name: "what actions set", in: "{{ .Values.db.password }} {{ .Values.db }} {{ .Values.web.name }} {{ .Variables.LATER }} {{ .Values.no }}",
			actions: []spec.Action{
				{SetValues: []spec.SetValue{{Key: ".db.password"}}},
				{SetVariables: []spec.Variable{{Name: "later"}}},
			},
			missing: []string{"1 .Values.no"},
			unsettled: []string{
				".Values.db is set by an action", ".Values.db.password is set by an action", ".Variables.LATER is set by an action",
			}},
		{name: "an action that sets the whole", in: "{{ .Values.anything }}", actions: []spec.Action{{SetValues: []spec.SetValue{{Key: "."}}}},
			unsettled: []string{".Values.anything is set by an action"}},
		{name: "functions", in: "{{ randAlphaNum 5 }}{{ now }}{{ now }}{{ upper \"a\" }}",
			unsettled: []string{"now gives something else each time", "randAlphaNum gives something else each time"}},
		{name: "no template", in: "{{ .Values.", wantErr: "reading its Go template: 1: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := objects(t).Inspect([]byte(tc.in), SettableBy(tc.actions), true, nil)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("error %v, want %q in it", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var missing []string
			for _, r := range got.Missing {
				missing = append(missing, string(rune('0'+r.Line))+" "+r.String())
			}
			if diff := cmp.Diff(tc.missing, missing); diff != "" {
				t.Errorf("missing (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.unsettled, got.Unsettled); diff != "" {
				t.Errorf("unsettled (-want +got):\n%s", diff)
			}
		})
	}
}

func TestExplainSaysWhatToDo(t *testing.T) {
	with, without := objects(t), objects(t)
	without.State = nil
	for _, tc := range []struct {
		objects Objects
		path    string
		want    string
	}{
		{with, "Values.web.no", "--set-values web.no=VALUE"},
		{with, "Variables.NO", "--set-variables NO=VALUE"},
		{with, "State.Registry.PushPassword", "stateAccess"},
		{with, "State.No", "does not exist"},
		{without, "State.Distro", "no state of Zarf is known"},
		{without, "Pkg.Metadata", "actions have no .Pkg"},
	} {
		if got := tc.objects.Explain(Reference{Path: strings.Split(tc.path, ".")}); !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q in it", tc.path, got, tc.want)
		}
	}
}

// What Inspect calls complete may fail for other reasons, but never for a missing key.
func FuzzInspect(f *testing.F) {
	for _, seed := range []string{
		"{{ .Values.web.name }}", "{{ if .Values.no }}{{ .Values.web.no }}{{ end }}", "{{ with .Values.web }}{{ $.Values.secret }}{{ end }}",
		"{{ range $i, $v := .Values.web.list }}{{ $v }}{{ end }}", "{{ define \"x\" }}{{ . }}{{ end }}{{ template \"x\" .Values }}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if strings.Contains(string(in), "repeat") || strings.Contains(string(in), "until") || strings.Contains(string(in), "gen") {
			t.Skip("it may take long, which is no fault of reading it")
		}
		o := objects(t)
		if _, err := o.Inspect(in, Settable{}, true, nil); err != nil && strings.Contains(err.Error(), "hunter2") && !strings.Contains(string(in), "hunter2") {
			t.Errorf("a secret got into the error: %v", err)
		}
	})
}
