package host

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/chart"
	"github.com/zarf-host/zarf-host/host/config"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/internal/packagetest"
	"github.com/zarf-host/zarf-host/host/state"
	"github.com/zarf-host/zarf-host/host/template"
	"github.com/zarf-host/zarf-host/host/value"
)

// shared finds a file of the folder that lies beside the repository.
func shared(t *testing.T, elem ...string) string {
	t.Helper()
	path := filepath.Join(append([]string{"..", "..", "shared"}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// supplied are values as --values would supply them.
func supplied(t *testing.T, text string) []config.Layer {
	t.Helper()
	values, err := value.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return []config.Layer{{Origin: config.OriginFlag, Config: state.DeployConfig{Values: values}}}
}

// resolved takes a deployment as far as it gets without a cluster.
func resolved(t *testing.T, o DeployOptions) (*deployment, error) {
	t.Helper()
	o.Common = o.defaulted()
	d := &deployment{DeployOptions: o, start: o.Now(), secrets: &mask{}}
	t.Cleanup(d.close)
	if err := d.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := d.resolve(t.Context()); err != nil {
		return d, err
	}
	return d, d.preflightValues()
}

// wanted is the release of a chart, or of manifests, as it would be installed now.
func wanted(t *testing.T, d *deployment, name string) chart.Wanted {
	t.Helper()
	i := slices.IndexFunc(d.wanted, func(r release) bool { return r.chart == name })
	if i < 0 {
		t.Fatalf("no release for %q", name)
	}
	w, err := d.wanted[i].wanted()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// rendered is what a release installs, all of its objects as text.
func rendered(t *testing.T, w chart.Wanted) string {
	t.Helper()
	client, err := chart.New(chart.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := client.Render(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, d := range r.Objects {
		out.Write(d.Body)
	}
	return out.String()
}

func TestDemoMapsItsValuesIntoItsChart(t *testing.T) {
	demo := shared(t, "packages", "zarf-package-demo-amd64-0.1.0.tar.zst")
	for _, tc := range []struct{ name, values, replicas string }{
		{name: "the package's own", replicas: "2"},
		{name: "supplied", values: "web: {replicas: 9007199254740993}", replicas: "9007199254740993"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d, err := resolved(t, DeployOptions{Source: demo, Connected: true, Components: "base,web,tools", Layers: supplied(t, tc.values)})
			if err != nil {
				t.Fatal(err)
			}
			text := rendered(t, wanted(t, d, "web"))
			for _, want := range []string{`replicas: "` + tc.replicas + `"`, "greeting: hello"} {
				if !strings.Contains(text, want) {
					t.Errorf("no %s in\n%s", want, text)
				}
			}
			// What is recorded is what was supplied, never the package's defaults.
			if got := len(d.resolved.Config.Values); (got > 0) != (tc.values != "") {
				t.Errorf("%d values would be recorded", got)
			}
		})
	}
}

const shop = `kind: ZarfPackageConfig
metadata: {name: shop, version: 1.0.0, architecture: amd64}
variables:
- {name: GREETING, default: hello}
- {name: TOKEN, sensitive: true, default: hunter2}
components:
- name: web
  required: true
  manifests:
  - name: plain
    namespace: shop
    files: [plain.yaml]
  - name: config
    namespace: shop
    template: true
    files: [config.yaml]
  charts:
  - name: web
    version: 0.1.0
    localPath: chart
    namespace: shop
    valuesFiles: [first.yaml]
    templatedValuesFiles: [second.yaml]
    variables: [{name: GREETING, path: greeting}, {name: GREETING, path: over.variable}]
    values:
    - {sourcePath: .web.replicas, targetPath: .replicas}
    - {sourcePath: .web.extra, targetPath: .over, excludePaths: [.web.extra.secret]}
`

func shopFiles() map[string]string {
	return map[string]string{
		"plain.yaml":              "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\ndata: {text: '{{ .Values.web.name }}'}\n",
		"config.yaml":             "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ .Values.web.name }}\"}\ndata: {who: \"{{ .Pkg.Metadata.Name }} {{ .Variables.GREETING }} ###ZARF_VAR_GREETING###\"}\n",
		"first.yaml":              "greeting: first\nreplicas: 1\nfile: first\nover: {file: first, variable: first, mapping: first, library: first}\n",
		"second.yaml":             "file: second {{ .Values.web.name }} ###ZARF_VAR_GREETING###\nover: {file: second}\n",
		"chart/Chart.yaml":        "apiVersion: v2\nname: web\nversion: 0.1.0\n",
		"chart/templates/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n",
	}
}

const shopValues = "web: {name: store, replicas: 2, extra: {mapping: mapped, variable: mapped, library: mapped, secret: hunter2}}\n"

const shopSchema = `{"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"web": {"type": "object", "required": ["name"],
  "properties": {"replicas": {"type": "integer", "maximum": 5}}}}}`

// built writes a package with values beside its components.
func built(t *testing.T, definition string, files map[string]string, values, schema string) string {
	t.Helper()
	return packagetest.BuildWith(t, t.TempDir(), definition, files, packagetest.Options{
		Content: func(entries []packagetest.Entry) []packagetest.Entry {
			if values != "" {
				entries = append(entries, packagetest.Entry{Name: "values.yaml", Mode: 0o600, Body: []byte(values)})
			}
			if schema != "" {
				entries = append(entries, packagetest.Entry{Name: "values.schema.json", Mode: 0o600, Body: []byte(schema)})
			}
			return entries
		},
	})
}

func TestOrderOfAChartsValues(t *testing.T) {
	layers := supplied(t, "web: {name: shop}")
	layers[0].Config.ValuesOverridesMap = state.ValuesOverrides{"web": {"web": {"over": map[string]any{"library": json.Number("7")}}}}
	d, err := resolved(t, DeployOptions{Source: built(t, shop, shopFiles(), shopValues, shopSchema), Layers: layers})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"greeting": "hello", "replicas": int64(2), "file": "second shop hello",
		"over": map[string]any{"file": "second", "variable": "mapped", "mapping": "mapped", "library": int64(7)},
	}
	if diff := cmp.Diff(want, wanted(t, d, "web").Values); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if text := rendered(t, wanted(t, d, "config")); !strings.Contains(text, "name: shop") || !strings.Contains(text, "who: shop hello hello") {
		t.Errorf("the Go template rendered to\n%s", text)
	}
	if text := rendered(t, wanted(t, d, "plain")); !strings.Contains(text, "{{ .Values.web.name }}") {
		t.Errorf("what is no Go template was executed:\n%s", text)
	}
}

func TestValuesAreRefusedBeforeAnythingChanges(t *testing.T) {
	for _, tc := range []struct {
		name, supplied, own string
		file, content       string
		skip                bool
		want                []string
	}{
		{name: "as the package has them", own: shopValues},
		{name: "G3: a key that the schema requires", own: "web: {replicas: 1, extra: {}}",
			want: []string{`.web: lacks "name"`}},
		{name: "a type", own: shopValues, supplied: "web: {replicas: hunter2}", want: []string{".web.replicas: must be integer, not string"}},
		{name: "the schema left out", own: shopValues, supplied: "web: {replicas: 6}", skip: true},
		{name: "references", own: shopValues, file: "config.yaml", content: "a: {{ .Values.web.no }}\nb: {{ .Variables.NO }}",
			want: []string{
				`component "web", manifest "config", file "config.yaml", line 1: .Values.web.no is given nowhere`,
				`line 2: .Variables.NO is set nowhere`,
			}},
		{name: "a state that is not known", own: shopValues, file: "config.yaml", content: "a: {{ .State.Distro }}",
			want: []string{`file "config.yaml", line 1: .State.Distro does not exist`}},
		{name: "a values file's reference", own: shopValues, file: "second.yaml", content: "a: {{ .Values.no }}",
			want: []string{`chart "web", values file "second.yaml", line 1: .Values.no is given nowhere: give it with --set-values no=VALUE`}},
		{name: "no template", own: shopValues, file: "config.yaml", content: "a: {{ if }}", want: []string{"reading its Go template: 1: missing value for if"}},
		{name: "a source of a mapping", own: "web: {name: store, extra: {}}", want: []string{`chart "web": the value .web.replicas, sourcePath of a chart, is given nowhere`}},
		{name: "values that are none", own: "- hunter2", want: []string{"the top of the values must be a map"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			files := shopFiles()
			if tc.file != "" {
				files[tc.file] = tc.content
			}
			_, err := resolved(t, DeployOptions{
				Source: built(t, shop, files, tc.own, shopSchema), Layers: supplied(t, tc.supplied), SkipValuesSchema: tc.skip,
			})
			if len(tc.want) == 0 {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			for _, want := range tc.want {
				if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
					t.Errorf("got %v, want %q in it and no value", err, want)
				}
			}
		})
	}
}

// What an action sets is in later actions, files and templates of the operation, and nothing of it
// is missed by the preflight.
func TestActionsSetValues(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out.txt")
	definition := `kind: ZarfPackageConfig
metadata: {name: acts, version: 1.0.0, architecture: amd64}
components:
- name: one
  required: true
  actions:
    onDeploy:
      before:
      - {cmd: "echo '{\"port\": 9007199254740993}'", setValues: [{key: .db, type: json}]}
      - {cmd: "echo {{ .Values.db.port }} {{ .Values.name }}", template: true, setValues: [{key: .both}]}
  files: [{source: f.txt, target: "` + out + `", template: true}]
- name: two
  required: true
  actions:
    onDeploy:
      before:
      - {cmd: "test '{{ .Values.both }}' = '9007199254740993 shop'", template: true}
      - {cmd: "test '{{ .Variables.LATE }}' = set", template: true}
      after:
      - {cmd: "echo set", setVariables: [{name: LATE}]}
`
	definition = strings.Replace(definition, "      - {cmd: \"test '{{ .Variables.LATE }}' = set\", template: true}\n", "", 1)
	source := built(t, definition, map[string]string{"f.txt": "{{ .Values.both }}\n"}, "", "")
	if _, err := Deploy(t.Context(), DeployOptions{Source: source, Layers: supplied(t, "name: shop"), Common: Common{Executable: os.Args[0]}}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(out)
	if err != nil || string(data) != "9007199254740993 shop\n" {
		t.Errorf("got %q, %v", data, err)
	}
}

func TestActionsWithoutTheirValuesAreRefused(t *testing.T) {
	const definition = `kind: ZarfPackageConfig
metadata: {name: acts, version: 1.0.0, architecture: amd64}
components:
- name: one
  required: true
  actions:
    onDeploy:
      before: [{cmd: "touch %s"}]
      onFailure: [{cmd: "echo {{ .Values.no }} {{ .Pkg.Metadata.Name }}", template: true}]
    onRemove:
      before: [{cmd: "echo {{ .Values.name }} > %s", template: true}]
`
	mark := filepath.Join(t.TempDir(), "mark")
	source := built(t, strings.ReplaceAll(definition, "%s", mark), nil, "", "")
	common := Common{Sink: event.Discard, Executable: os.Args[0]}
	_, err := Deploy(t.Context(), DeployOptions{Source: source, Common: common})
	var preflight *PreflightError
	if !errors.As(err, &preflight) || !strings.Contains(err.Error(), "onDeploy.onFailure[0]: .Values.no is given nowhere") ||
		!strings.Contains(err.Error(), "actions have no .Pkg") {
		t.Errorf("got %v", err)
	}
	if _, err := Remove(t.Context(), RemoveOptions{Target: source, Common: common}); !errors.As(err, &preflight) ||
		!strings.Contains(err.Error(), "onRemove.before[0]: .Values.name is given nowhere") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(mark); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("an action ran: %v", err)
	}
	remove := RemoveOptions{Target: source, Common: common, RemoveConfig: state.RemoveConfig{Values: state.Values{"name": "shop"}}}
	if _, err := Remove(t.Context(), remove); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(mark); err != nil || string(data) != "shop\n" {
		t.Errorf("got %q, %v", data, err)
	}
}

// What is known only when a release is applied says so, and is no preflight problem.
func TestWhatActionsSetIsKnownAfterApply(t *testing.T) {
	definition := shop + `  actions:
    onDeploy:
      before:
      - {cmd: "echo x", setValues: [{key: .late}, {key: .web.replicas}], setVariables: [{name: GREETING}]}
`
	files := shopFiles()
	files["config.yaml"] += "# {{ .Values.late.deeper }} {{ now }}\n"
	d, err := resolved(t, DeployOptions{Source: built(t, definition, files, shopValues, shopSchema)})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, r := range d.wanted {
		got[r.chart] = r.unsettled(d.settable)
	}
	want := map[string][]string{
		"plain": nil,
		"config": {
			"manifests/config-0.yaml: .Values.late.deeper is set by an action",
			"manifests/config-0.yaml: .Variables.GREETING is set by an action",
			"manifests/config-0.yaml: now gives something else each time",
		},
		"web": {
			"variable GREETING is set by an action", "variable GREETING is set by an action",
			"the value .web.replicas is set by an action",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if none := d.wanted[0].unsettled(template.Settable{}); len(none) != 0 {
		t.Errorf("nothing is set, but %v", none)
	}
}

// .State is judged once the cluster was asked, and by what the component's stateAccess asks for.
func TestReferencesToTheStateWaitForTheCluster(t *testing.T) {
	files := shopFiles()
	files["config.yaml"] = "# {{ .State.Registry.Address }} {{ .State.Registry.PushPassword }}\n" + files["config.yaml"]
	source := built(t, shop, files, shopValues, "")
	d := &deployment{DeployOptions: DeployOptions{Source: source, Common: Common{}.defaulted()}}
	t.Cleanup(d.close)
	if err := errors.Join(d.open(t.Context()), d.resolve(t.Context())); err != nil {
		t.Fatalf("before the cluster was asked: %v", err)
	}
	d.templates.state = &template.State{Registry: template.StateRegistry{Address: "registry:5000", PushPassword: "hunter2"}}
	if err := d.preflightValues(); err == nil || !strings.Contains(err.Error(), "stateAccess") || strings.Contains(err.Error(), "Address") {
		t.Errorf("got %v", err)
	}
	d.selected[0].StateAccess = append(d.selected[0].StateAccess, template.AccessRegistryCredentials)
	if err := d.preflightValues(); err != nil {
		t.Errorf("with stateAccess: %v", err)
	}
}
