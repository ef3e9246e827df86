package host

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/plan"
)

const head = "kind: ZarfPackageConfig\nmetadata: {name: made, version: 1.0.0}\n"

// authored writes an author's files into a folder, with a zarf.yaml of the components.
func authored(t *testing.T, zarf string, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "zarf.yaml"), zarf)
	for name, content := range files {
		put(t, filepath.Join(dir, name), content)
	}
	return dir
}

func put(t *testing.T, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// made creates a package, which it must, and opens it.
func made(t *testing.T, o CreateOptions) (*bundle.Bundle, Created) {
	t.Helper()
	if o.Output == "" {
		o.Output = t.TempDir()
	}
	if o.Architecture == "" {
		o.Architecture = "amd64"
	}
	done, err := Create(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	b, err := bundle.Open(t.Context(), done.Files[0], bundle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	if !b.Verified() || b.Digest() != done.Digest {
		t.Errorf("integrity is %+v, create said %s", b.Integrity(), done.Digest)
	}
	return b, done
}

func contents(t *testing.T, b *bundle.Bundle, component string) map[string]string {
	t.Helper()
	files, err := b.ReadComponent(t.Context(), component, func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for name, data := range files {
		out[name] = string(data)
	}
	return out
}

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"

var fixedTime = time.Unix(1_790_000_000, 0).UTC()

func TestCreateGathersWhatADefinitionNames(t *testing.T) {
	server := httptest.NewServer(http.FileServer(http.Dir(authored(t, "", map[string]string{"cm.yaml": configMap, "values.yaml": "v: web\n", "tool": "tool"}))))
	defer server.Close()
	dir := authored(t, head+`
components:
- name: web
  required: true
  charts:
  - {name: web, version: 0.1.0, localPath: chart, namespace: web, valuesFiles: [v.yaml, '`+server.URL+`/values.yaml'], templatedValuesFiles: [t.yaml]}
  - {name: bare, localPath: chart, namespace: web}
  manifests:
  - {name: m, files: [cm.yaml, '`+server.URL+`/cm.yaml'], kustomizations: [kust]}
- name: tools
  files:
  - {source: run.sh, target: bin/run.sh, executable: true}
  - {source: folder, target: etc/folder}
  - {source: '`+server.URL+`/tool', target: tool, shasum: 3e6f3c5c6f5a1d4bdcfd7b5a1c9cb6ff8e1b2a52f6b7d8f6e5bd3d6c1c5e3a11}
  dataInjections:
  - {source: folder, target: {namespace: n, selector: a=b, container: c, path: /data}}
- name: nothing
values: {files: [values/one.yaml, values/two.yaml], schema: schema.json}
documentation: {readme: docs/README.md, other: more/README.md}
`, map[string]string{
		"chart/Chart.yaml": "apiVersion: v2\nname: web\nversion: 0.1.0\n", "chart/templates/cm.yaml": configMap, "chart/.helmignore": "secret\n", "chart/secret": "x",
		"v.yaml": "v: 1\n", "t.yaml": "t: 1\n", "cm.yaml": configMap, "kust/kustomization.yaml": "resources: [cm.yaml]\nnamePrefix: x-\n", "kust/cm.yaml": configMap,
		"run.sh": "#!/bin/sh\n", "folder/a": "a", "folder/b/c": "c", "values/one.yaml": "a: 1\nb: 1\n", "values/two.yaml": "b: 2\n", "schema.json": `{"type": "object"}`,
		"docs/README.md": "readme", "more/README.md": "more",
	})
	right := strings.Replace(readFile(t, filepath.Join(dir, "zarf.yaml")), "3e6f3c5c6f5a1d4bdcfd7b5a1c9cb6ff8e1b2a52f6b7d8f6e5bd3d6c1c5e3a11", sumHex("tool"), 1)
	put(t, filepath.Join(dir, "zarf.yaml"), right)
	b, done := made(t, CreateOptions{Dir: dir})

	if got, want := filepath.Base(done.Files[0]), "zarf-package-made-amd64-1.0.0.tar.zst"; got != want {
		t.Errorf("it is called %q, want %q", got, want)
	}
	web := contents(t, b, "web")
	chart := web["charts/web-0.1.0.tgz"]
	if chart == "" || chart != web["charts/bare.tgz"] {
		t.Errorf("the charts are %d and %d bytes, want the same", len(chart), len(web["charts/bare.tgz"]))
	}
	delete(web, "charts/web-0.1.0.tgz")
	delete(web, "charts/bare.tgz")
	if diff := cmp.Diff(map[string]string{
		"values/web-0.1.0-0": "v: 1\n", "values/web-0.1.0-1": "v: web\n", "values/web-0.1.0-2": "t: 1\n",
		"manifests/m-0.yaml": configMap, "manifests/m-1.yaml": configMap,
		"manifests/kustomization-m-0.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x-a\n",
	}, web); diff != "" {
		t.Errorf("component web differs:\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{
		"files/0/run.sh": "#!/bin/sh\n", "files/1/folder/a": "a", "files/1/folder/b/c": "c", "files/2/tool": "tool", "data/0/data/a": "a", "data/0/data/b/c": "c",
	}, contents(t, b, "tools")); diff != "" {
		t.Errorf("component tools differs:\n%s", diff)
	}
	if b.Has("components/nothing.tar") {
		t.Error("a component without content has a tar")
	}
	values, err := b.ReadFile(t.Context(), "values.yaml")
	if err != nil || string(values) != "a: 1\nb: 2\n" {
		t.Errorf("the values are %q, %v", values, err)
	}
	pkg := b.Definition()
	if pkg.Build.Version != "v0.84.0+zarf-host.dev" || pkg.Build.Signed == nil || *pkg.Build.Signed || len(pkg.Build.ProvenanceFiles) != 1 {
		t.Errorf("the build is %+v", pkg.Build)
	}
	var requirements []string
	for _, r := range pkg.Build.VersionRequirements {
		requirements = append(requirements, r.Version)
	}
	if diff := cmp.Diff([]string{"v0.65.0", "v0.78.0"}, requirements); diff != "" {
		t.Errorf("the required versions differ:\n%s", diff)
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func sumHex(text string) string { return bundle.NewContent("", []byte(text)).SHA256 }

func TestCreateReproducibly(t *testing.T) {
	files := map[string]string{"chart/Chart.yaml": "apiVersion: v2\nname: web\nversion: 0.1.0\n", "chart/templates/cm.yaml": configMap, "f": "x"}
	definition := head + "components:\n- name: a\n  charts: [{name: web, version: 0.1.0, localPath: chart, namespace: n}]\n  files: [{source: f, target: f}]\n"
	when := time.Unix(1_790_000_000, 0).UTC()
	cache := t.TempDir()
	var all []string
	for i := range 3 {
		dir := authored(t, definition, files)
		if err := os.Chtimes(filepath.Join(dir, "f"), when, when.Add(time.Duration(i)*time.Hour)); err != nil {
			t.Fatal(err)
		}
		o := CreateOptions{Dir: dir, BuildTime: when}
		if i > 0 {
			o.CacheDir = cache
		}
		_, done := made(t, o)
		all = append(all, readFile(t, done.Files[0]))
	}
	if all[0] != all[1] || all[1] != all[2] {
		t.Error("the same inputs gave different bytes")
	}
}

func TestCreateTakesWhatFits(t *testing.T) {
	dir := authored(t, head+`
components:
- {name: common}
- {name: db, only: {flavor: small}, description: small}
- {name: db, only: {flavor: big}, description: "###ZARF_PKG_TMPL_SIZE### on ###ZARF_PKG_ARCH### for ###ZARF_COMPONENT_NAME###"}
- {name: arm, only: {cluster: {architecture: arm64}}}
`, nil)
	b, done := made(t, CreateOptions{Dir: dir, Flavor: "big", Set: map[string]string{"size": "huge"}})
	var got []string
	for _, c := range b.Definition().Components {
		got = append(got, c.Name+":"+c.Description)
	}
	if diff := cmp.Diff([]string{"common:", "db:huge on amd64 for db"}, got); diff != "" {
		t.Error(diff)
	}
	if name := filepath.Base(done.Files[0]); name != "zarf-package-made-amd64-1.0.0-big.tar.zst" {
		t.Errorf("it is called %s", name)
	}
	// What is not taken needs no template.
	b, _ = made(t, CreateOptions{Dir: dir, Architecture: "arm64", Flavor: "small"})
	if n := len(b.Definition().Components); n != 3 {
		t.Errorf("%d components, want 3", n)
	}
}

// K6: two components that import one shared component are fine.
func TestK6DiamondImports(t *testing.T) {
	dir := authored(t, head+`
components:
- {name: left, import: {path: left}}
- {name: right, import: {path: right, name: other}}
variables: [{name: SHARED, default: mine}]
values: {files: [top.yaml]}
`, map[string]string{
		"left/zarf.yaml":   head + "components: [{name: left, import: {path: ../shared, name: base}, files: [{source: l, target: l}]}]\nvariables: [{name: LEFT}]\nvalues: {files: [left.yaml]}\n",
		"right/zarf.yaml":  head + "components: [{name: other, import: {path: ../shared, name: base}, files: [{source: r, target: r}]}]\n",
		"shared/zarf.yaml": head + "components: [{name: base, files: [{source: s, target: s}], actions: {onCreate: {before: [{cmd: pwd > where}]}}}]\nvariables: [{name: SHARED, default: theirs}]\nconstants: [{name: C, value: c}]\nvalues: {files: [shared.yaml]}\n",
		"left/l":           "left", "right/r": "right", "shared/s": "shared", "left/left.yaml": "a: left\n", "shared/shared.yaml": "a: shared\nb: shared\n", "top.yaml": "c: top\n",
	})
	var warned []string
	b, _ := made(t, CreateOptions{Dir: dir, Common: Common{Sink: event.Func(func(e event.Event) {
		if e.Level == event.Warn {
			warned = append(warned, e.Message)
		}
	})}})
	if diff := cmp.Diff(map[string]string{"files/0/s": "shared", "files/1/l": "left"}, contents(t, b, "left")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"files/0/s": "shared", "files/1/r": "right"}, contents(t, b, "right")); diff != "" {
		t.Error(diff)
	}
	pkg := b.Definition()
	if len(pkg.Variables) != 2 || pkg.Variables[0].Default != "mine" || len(pkg.Constants) != 1 {
		t.Errorf("variables are %+v, constants %+v", pkg.Variables, pkg.Constants)
	}
	values, err := b.ReadFile(t.Context(), "values.yaml")
	if err != nil || string(values) != "a: left\nb: shared\nc: top\n" {
		t.Errorf("the values are %q, %v", values, err)
	}
	// G9: what two of them set is said.
	if !slices.ContainsFunc(warned, func(w string) bool {
		return strings.Contains(w, "value a is set by") && strings.Contains(w, filepath.Join("shared", "zarf.yaml"))
	}) {
		t.Errorf("nobody said that two files set one value: %q", warned)
	}
	// The action of the shared component ran where its author wrote it.
	if _, err := os.Stat(filepath.Join(dir, "shared", "where")); err != nil {
		t.Error(err)
	}
}

// Whatever an author wrote that cannot be made a package is shown with its place, and leaves nothing.
func TestCreateShowsThePlaceOfAFault(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	defer gone.Close()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	component := func(rest string) string { return head + "components:\n- name: a\n" + rest }
	for name, test := range map[string]struct {
		zarf  string
		files map[string]string
		prep  func(t *testing.T, dir string)
		want  []string
	}{
		"a file that is not there": {zarf: component("  files:\n  - {source: gone, target: x}\n"), want: []string{":6:6: components[0].files[0].source", "gone"}},
		"K6 imports in a circle": {
			zarf:  component("  import: {path: b}\n"),
			files: map[string]string{"b/zarf.yaml": component("  import: {path: ../c}\n"), "c/zarf.yaml": component("  import: {path: ../b}\n")},
			want:  []string{"/c/zarf.yaml:5:12: components[0].import.path", "circle: b → c → b"},
		},
		"an import of itself":   {zarf: component("  import: {path: .}\n"), want: []string{":5:12: components[0].import.path", "circle: . → ."}},
		"an import of nothing":  {zarf: component("  import: {path: b}\n"), want: []string{":5:12: components[0].import.path", "no such file"}},
		"an import of a file":   {zarf: component("  import: {path: f}\n"), files: map[string]string{"f": ""}, want: []string{"components[0].import.path", "is no folder"}},
		"an import of no name":  {zarf: component("  import: {path: b}\n"), files: map[string]string{"b/zarf.yaml": head + "components: [{name: x}]\n"}, want: []string{":5:12", `has no component "a"`, "it has x"}},
		"a fault in an import":  {zarf: component("  import: {path: b}\n"), files: map[string]string{"b/zarf.yaml": component("  file: []\n")}, want: []string{"b/zarf.yaml:5:3: components[0].file", `did you mean "files"`}},
		"an import over http":   {zarf: component("  import: {url: https://x.test/y}\n"), want: []string{"components[0].import.url"}},
		"a wrong shasum":        {zarf: component("  files:\n  - {source: f, target: x, shasum: " + strings.Repeat("a", 64) + "}\n"), files: map[string]string{"f": "x"}, want: []string{":6:6: components[0].files[0].source", "its shasum is 2d711642", "not aaaa"}},
		"an address without it": {zarf: component("  manifests:\n  - {name: m, files: ['" + gone.URL + "/x']}\n"), want: []string{":6:23: components[0].manifests[0].files[0]", "404"}},
		"a server that is down": {zarf: component("  files:\n  - {source: '" + closed.URL + "/x', target: x}\n"), want: []string{":6:6: components[0].files[0].source", "refused"}},
		"I1 a link out of the folder": {
			zarf: component("  files:\n  - {source: link, target: x}\n"), want: []string{"components[0].files[0].source", "leads out of the folder"},
			prep: func(t *testing.T, dir string) { link(t, "/etc/passwd", filepath.Join(dir, "link")) },
		},
		"I1 a link out of it in a folder": {
			zarf: component("  dataInjections:\n  - {source: d, target: {namespace: n, selector: s, container: c, path: /x}}\n"), files: map[string]string{"d/x": ""}, want: []string{"components[0].dataInjections[0].source", "leads out of the folder"},
			prep: func(t *testing.T, dir string) { link(t, "../../..", filepath.Join(dir, "d", "up")) },
		},
		"I8 a link out of a chart": {
			zarf: component("  charts: [{name: c, localPath: c, namespace: n}]\n"), files: map[string]string{"c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n"},
			prep: func(t *testing.T, dir string) { link(t, "/etc/passwd", filepath.Join(dir, "c", "x")) }, want: []string{"/zarf.yaml:5:22: components[0].charts[0].localPath", "leads out of the folder"},
		},
		"a link around in a circle": {
			zarf: component("  files: [{source: d, target: x}]\n"), files: map[string]string{"d/e/f": ""}, want: []string{"components[0].files[0].source", "a folder that it lies in"},
			prep: func(t *testing.T, dir string) { link(t, "../..", filepath.Join(dir, "d", "e", "up")) },
		},
		"a device":                  {zarf: component("  files: [{source: /dev/zero, target: x}]\n"), want: []string{"components[0].files[0].source", "is no file"}},
		"a chart that is none":      {zarf: component("  charts: [{name: c, localPath: c, namespace: n}]\n"), files: map[string]string{"c/x": ""}, want: []string{"components[0].charts[0].localPath", "Chart.yaml"}},
		"a kustomization gone":      {zarf: component("  manifests: [{name: m, kustomizations: [k]}]\n"), want: []string{"components[0].manifests[0].kustomizations[0]"}},
		"an action that fails":      {zarf: component("  actions: {onCreate: {before: [{cmd: exit 7}], onFailure: [{cmd: touch failed}]}}\n"), want: []string{"components[0].actions.onCreate.before", "exit code 7"}},
		"nothing at extractPath":    {zarf: component("  files: [{source: f.tar, target: x, extractPath: y}]\n"), files: map[string]string{"f.tar": strings.Repeat("\x00", 1024)}, want: []string{"components[0].files[0].source", `no "y"`}},
		"values that are none":      {zarf: component("") + "values: {files: [v]}\n", files: map[string]string{"v": "- a\n"}, want: []string{":5:18: values.files[0]"}},
		"a schema that is none":     {zarf: component("") + "values: {schema: s}\n", files: map[string]string{"s": "{"}, want: []string{":5:10: values.schema"}},
		"documentation gone":        {zarf: component("") + "documentation: {a: b}\n", want: []string{":5:17: documentation.a"}},
		"a template that is unset":  {zarf: component("  description: '###ZARF_PKG_TMPL_X###'\n"), want: []string{"###ZARF_PKG_TMPL_X###"}},
		"two components of a name":  {zarf: head + "components:\n- {name: a}\n- {name: a, only: {flavor: x}}\n", want: []string{":5:4: components[1].name", "in this build already", ":4:4: components[0].name"}},
		"no component that fits":    {zarf: head + "components: [{name: a, only: {flavor: y}}]\n", want: []string{"no component fits"}},
		"an image that is no name":  {zarf: component("  images: ['A B']\n"), want: []string{":5:12: components[0].images[0]"}},
		"a registry that is down":   {zarf: component("  images: ['" + strings.TrimPrefix(closed.URL, "http://") + "/x:1']\n"), want: []string{":5:12: components[0].images[0]", "refused"}},
		"an image archive gone":     {zarf: component("  imageArchives: [{path: x.tar, images: ['a:1']}]\n"), want: []string{":5:20: components[0].imageArchives[0].path"}},
		"an archive without it":     {zarf: component("  imageArchives: [{path: x.tar, images: ['a:1']}]\n"), files: map[string]string{"x.tar": strings.Repeat("\x00", 1024)}, want: []string{"components[0].imageArchives[0].images[0]", "neither an index.json"}},
		"a repository without host": {zarf: component("  repos: ['file:///no/such/repo.git']\n"), want: []string{":5:11: components[0].repos[0]"}},
		"a definition with a fault": {zarf: component("  chart: []\n"), want: []string{":5:3: components[0].chart", `did you mean "charts"`}},
		"an import's chart": { // without a namespace of its own or of what imports it
			zarf: component("  import: {path: b}\n"), want: []string{"/b/zarf.yaml:5:12: components[0].charts[0]", "names no namespace"},
			files: map[string]string{"b/zarf.yaml": component("  charts: [{name: c, localPath: c}]\n")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := authored(t, test.zarf, test.files)
			if test.prep != nil {
				test.prep(t, dir)
			}
			output, temp := t.TempDir(), t.TempDir()
			set := CreateOptions{Dir: dir, Output: output, Architecture: "amd64", Flavor: "x", Common: Common{TempDir: temp}}
			_, err := Create(t.Context(), set)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error lacks %q:\n%v", want, err)
				}
			}
			for _, folder := range []string{output, temp} {
				if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
					t.Errorf("%s was left with %v, %v", folder, left, err)
				}
			}
			if strings.Contains(name, "action") {
				if _, err := os.Stat(filepath.Join(dir, "failed")); err != nil {
					t.Errorf("the actions for a failure did not run: %v", err)
				}
			}
		})
	}
}

func link(t *testing.T, to, at string) {
	t.Helper()
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
}

// I8: a link that stays in the package's folder is followed, in a chart too.
func TestI8LinksInsideAreFollowed(t *testing.T) {
	dir := authored(t, head+"components:\n- name: a\n  charts: [{name: c, localPath: c, namespace: n}]\n  files: [{source: d, target: d}]\n", map[string]string{
		"c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n", "shared/cm.yaml": configMap, "d/x": "x",
	})
	if err := os.Mkdir(filepath.Join(dir, "c", "templates"), 0o755); err != nil {
		t.Fatal(err)
	}
	link(t, "../../shared/cm.yaml", filepath.Join(dir, "c", "templates", "cm.yaml"))
	link(t, "../shared", filepath.Join(dir, "d", "more"))
	b, _ := made(t, CreateOptions{Dir: dir})
	if got := contents(t, b, "a")["files/0/d/more/cm.yaml"]; got != configMap {
		t.Errorf("what a link leads to is %q", got)
	}
}

func TestCreateReplacesAsAWhole(t *testing.T) {
	dir := authored(t, head+"components: [{name: a}]\n", nil)
	output := t.TempDir()
	file := filepath.Join(output, "zarf-package-made-amd64-1.0.0.tar.zst")
	put(t, file, "what was there")
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("enough")
	set := CreateOptions{Dir: dir, Output: output, Architecture: "amd64", Common: Common{Plugins: []Plugin{askedToCreate{func() { cancel(stop) }, hook.Allow}}}}
	if _, err := Create(ctx, set); !errors.Is(err, stop) {
		t.Errorf("got %v, want the cause", err)
	}
	if got := readFile(t, file); got != "what was there" {
		t.Errorf("a package that was not made left %q", got)
	}
	set.Plugins = nil
	if _, err := Create(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(output); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// askedToCreate is a plugin that answers at pre-create.
type askedToCreate struct {
	seen    func()
	verdict hook.Verdict
}

func (askedToCreate) Name() string       { return "gate" }
func (askedToCreate) Info() plan.Plugin  { return plan.Plugin{Name: "gate"} }
func (askedToCreate) Hooks() []hook.Name { return []hook.Name{hook.PreCreate} }

func (a askedToCreate) Ask(_ context.Context, r hook.Request) (hook.Response, error) {
	a.seen()
	if r.Package == nil || r.Package.Metadata.Name != "made" || r.Package.Build.Timestamp == "" || r.Operation.Name != hook.OperationCreate {
		return hook.Response{}, fmt.Errorf("the request is %+v", r)
	}
	return hook.Response{ID: r.ID, Verdict: a.verdict}, nil
}

func TestCreateAsksPlugins(t *testing.T) {
	dir := authored(t, head+"components: [{name: a}]\n", nil)
	output := t.TempDir()
	set := CreateOptions{Dir: dir, Output: output, Common: Common{Plugins: []Plugin{askedToCreate{func() {}, hook.Deny}}}}
	_, err := Create(t.Context(), set)
	var denied *hook.DeniedError
	if !errors.As(err, &denied) {
		t.Errorf("got %v, want a deny", err)
	}
	if left, err := os.ReadDir(output); err != nil || len(left) != 0 {
		t.Errorf("a package that was denied left %v, %v", left, err)
	}
	set.Plugins = []Plugin{askedToCreate{func() {}, hook.Warn}}
	if done, err := Create(t.Context(), set); err != nil || len(done.Outcomes) != 1 || done.Outcomes[0].Verdict != hook.Warn {
		t.Errorf("got %+v, %v", done.Outcomes, err)
	}
}

func TestCreateSplits(t *testing.T) {
	dir := authored(t, head+"components: [{name: a, files: [{source: f, target: f}]}]\n", map[string]string{"f": strings.Repeat("0123456789abcdef", 10)})
	b, done := made(t, CreateOptions{Dir: dir, MaxBytes: 400})
	if len(done.Files) < 3 || !strings.HasSuffix(done.Files[0], ".part000") {
		t.Errorf("it was written as %v", done.Files)
	}
	if got := contents(t, b, "a")["files/0/f"]; len(got) != 160 {
		t.Errorf("the file has %d bytes", len(got))
	}
	entries, err := os.ReadDir(filepath.Dir(done.Files[0]))
	if err != nil || len(entries) != len(done.Files) {
		t.Errorf("%d files are there, %d were written, %v", len(entries), len(done.Files), err)
	}
}
