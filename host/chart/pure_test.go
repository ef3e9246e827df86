package chart

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/zarf-host/zarf-host/host/internal/testcluster"
	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/state"
)

func TestMain(m *testing.M) { os.Exit(testcluster.Main(m)) }

// archive packs a chart named app from its files.
func archive(t testing.TB, version string, files map[string]string) []byte {
	t.Helper()
	all := map[string]string{"Chart.yaml": "apiVersion: v2\nname: app\nversion: " + version + "\n"}
	maps.Copy(all, files)
	var out bytes.Buffer
	zw := gzip.NewWriter(&out)
	tw := tar.NewWriter(zw)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := tw.WriteHeader(&tar.Header{Name: "app/" + name, Mode: 0o644, Size: int64(len(all[name]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write([]byte(all[name])); err != nil {
			t.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// shared returns a file of the folder beside the repository that all work from.
func shared(t testing.TB, path ...string) []byte {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if filepath.Dir(dir) == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	data, err := os.ReadFile(filepath.Join(append([]string{dir, "..", "shared"}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// zarfReleases are the release Secrets of a file in samples/after-zarf.
func zarfReleases(t testing.TB, name string) []corev1.Secret {
	t.Helper()
	var list corev1.SecretList
	if err := yaml.Unmarshal(shared(t, "samples", "after-zarf", name+".releases.yaml"), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) == 0 {
		t.Fatalf("no releases in %s", name)
	}
	return list.Items
}

func offline(t testing.TB) *Client {
	t.Helper()
	c, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func byBuiltins(gvk schema.GroupVersionKind) (bool, error) {
	return !clusterScoped(gvk.GroupKind()), nil
}

func TestManifestReleaseNameIsZarfs(t *testing.T) {
	for _, file := range []string{"yolo-demo", "drop-demo-upgraded", "fail-demo-and-drop-demo"} {
		for _, secret := range zarfReleases(t, file) {
			rel, err := decodeSecret(&secret)
			if err != nil {
				t.Fatal(err)
			}
			// raw-<package>-<component>-<manifest>, where the packages have one hyphen each.
			parts := strings.SplitN(strings.TrimPrefix(rel.Chart.Name(), "raw-"), "-", 4)
			if got := ManifestReleaseName(parts[0]+"-"+parts[1], parts[2], parts[3]); got != rel.Name {
				t.Errorf("release of %s is %q, want %q", rel.Chart.Name(), got, rel.Name)
			}
		}
	}
}

func TestReleaseName(t *testing.T) {
	if got := ReleaseName(spec.Chart{Name: "a"}); got != "a" {
		t.Errorf("got %q", got)
	}
	if got := ReleaseName(spec.Chart{Name: "a", ReleaseName: "b"}); got != "b" {
		t.Errorf("got %q", got)
	}
}

func TestHistoryOfZarf(t *testing.T) {
	byRelease := map[object.Release][]*helmrelease.Release{}
	for _, secret := range zarfReleases(t, "drop-demo-upgraded") {
		rel, err := decodeSecret(&secret)
		if err != nil {
			t.Fatal(err)
		}
		r := object.Release{Namespace: secret.Namespace, Name: rel.Name}
		byRelease[r] = append(byRelease[r], rel)
	}
	upgraded := object.Release{Namespace: "drop-ns", Name: ManifestReleaseName("drop-demo", "one", "a")}
	h, err := history(upgraded, byRelease[upgraded], byBuiltins)
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Revisions) != 2 || h.Package() != "drop-demo" {
		t.Fatalf("got %d revisions of package %q", len(h.Revisions), h.Package())
	}
	deployed, ok := h.Deployed()
	if !ok || deployed.Number != 2 || deployed.ChartName != "raw-drop-demo-one-a" {
		t.Errorf("deployed is %+v", deployed)
	}
	if h.Revisions[0].Status != "superseded" || h.Revisions[0].Objects[0].Body != nil {
		t.Errorf("first revision is %+v", h.Revisions[0])
	}
	var names []string
	for _, d := range h.ObjectsSinceDeployed() {
		names = append(names, d.Ref.String())
	}
	if want := []string{"ConfigMap/drop-ns/cm-x"}; !cmp.Equal(names, want) {
		t.Errorf("objects are %v, want %v", names, want)
	}
}

// A manifest that Zarf deployed counts as unchanged although Zarf names its templates after a
// temporary folder and its version after the time.
func TestContentOfZarfsManifestsIsOurs(t *testing.T) {
	secret := zarfReleases(t, "yolo-demo")[0]
	rel, err := decodeSecret(&secret)
	if err != nil {
		t.Fatal(err)
	}
	w := FromManifest("yolo-demo", "second", spec.Manifest{Name: "cm2", Namespace: "yolo-ns"},
		[][]byte{[]byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm2-x}\ndata: {a: b}\n")}, time.Unix(1, 0))
	if w.Release.Name != rel.Name {
		t.Fatalf("the sample is of another release: %s", rel.Name)
	}
	theirs, err := contentDigest(rel.Chart, rel.Config, true)
	if err != nil {
		t.Fatal(err)
	}
	ours, err := contentDigest(w.Generated.chart(), nil, true)
	if err != nil {
		t.Fatal(err)
	}
	if ours != theirs {
		t.Error("the digests differ")
	}
	r, err := offline(t).Render(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	rev, err := revision(rel, "yolo-ns", byBuiltins)
	if err != nil {
		t.Fatal(err)
	}
	if !equalDocuments(r.Objects, rev.Objects) {
		t.Errorf("the manifests differ:\n%s\n%s", r.Objects[0].Body, rev.Objects[0].Body)
	}
}

func TestFromManifest(t *testing.T) {
	w := FromManifest("p", "c", spec.Manifest{Name: "m", NoWait: true, ServerSideApply: "auto"},
		[][]byte{[]byte("kind: A"), []byte("kind: B")}, time.Unix(1796066441, 0))
	want := Wanted{
		Release: object.Release{Namespace: "default", Name: ManifestReleaseName("p", "c", "m")},
		Generated: &Generated{Name: "raw-p-c-m", Version: "0.1.1796066441", Files: []GeneratedFile{
			{Name: "m-0.yaml", Data: []byte("kind: A")}, {Name: "m-1.yaml", Data: []byte("kind: B")},
		}},
		Package: "p", NoWait: true, ServerSideApply: "auto",
	}
	if diff := cmp.Diff(want, w, cmp.AllowUnexported(Wanted{})); diff != "" {
		t.Error(diff)
	}
}

func TestMergeValues(t *testing.T) {
	got, err := MergeValues([][]byte{
		[]byte("a: {x: 1, l: [1, 2]}\nc: {d: e}\n---\nb: 8080\n"),
		[]byte("a: {l: [3]}\nc: null\n"),
		nil,
	}, map[string]any{"a": map[string]any{"z": "over"}, "b2": true})
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	const want = "a:\n  l:\n  - 3\n  x: 1\n  z: over\nb: 8080\nb2: true\nc: null\n"
	if string(text) != want {
		t.Errorf("got:\n%s\nwant:\n%s", text, want)
	}
}

func TestMergeValuesQuotesNothing(t *testing.T) {
	_, err := MergeValues([][]byte{[]byte("a: 1\nhunter2: [")}, nil)
	if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "line ") {
		t.Errorf("got %v", err)
	}
	if _, err = MergeValues([][]byte{[]byte("[hunter2]")}, nil); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}

func TestMergeValuesSharesNothing(t *testing.T) {
	overlay := map[string]any{"a": map[string]any{"b": "c"}}
	got, err := MergeValues(nil, overlay)
	if err != nil {
		t.Fatal(err)
	}
	got["a"].(map[string]any)["b"] = "changed"
	if overlay["a"].(map[string]any)["b"] != "c" {
		t.Error("the overlay was changed")
	}
}

const manyKinds = `
apiVersion: v1
kind: Namespace
metadata: {name: extra, labels: {mine: "yes"}}
---
# only a comment
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: one, namespace: elsewhere}
  data: {v: "###ZARF_VAR_V###"}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: two}
  spec: {template: {metadata: {labels: {app: x}}, spec: {containers: []}}}
---
apiVersion: v1
kind: Service
metadata:
  name: three
  labels: {zarf.dev/connect-name: web}
  annotations: {zarf.dev/connect-description: The web, zarf.dev/connect-url: /x}
spec: {ports: [{port: 80}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: four}
spec: {template: {spec: {}}}
`

func TestPostRender(t *testing.T) {
	out, err := postRender(Wanted{
		Release:           object.Release{Namespace: "home", Name: "r"},
		Package:           "pkg",
		NamespaceOverride: "home",
		IgnoreAgent:       true,
		Fill: func(text []byte) ([]byte, error) {
			return bytes.ReplaceAll(text, []byte("###ZARF_VAR_V###"), []byte("filled")), nil
		},
	}, manyKinds)
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"zarf.dev/package": "pkg", "zarf.dev/namespace-override": "home", "zarf.dev/agent": "ignore"}
	var names []string
	for _, obj := range out.objects {
		names = append(names, obj.GetKind()+"/"+obj.GetName())
		for name, value := range labels {
			if obj.GetLabels()[name] != value {
				t.Errorf("%s has labels %v", obj.GetName(), obj.GetLabels())
			}
		}
	}
	if want := []string{"ConfigMap/one", "Deployment/two", "Service/three", "Job/four"}; !cmp.Equal(names, want) {
		t.Fatalf("got %v, want %v", names, want)
	}
	template, _, _ := unstructured.NestedStringMap(out.objects[1].Object, "spec", "template", "metadata", "labels")
	if template["zarf.dev/package"] != "pkg" || template["app"] != "x" {
		t.Errorf("the pod template has labels %v", template)
	}
	if _, found, _ := unstructured.NestedMap(out.objects[3].Object, "spec", "template", "metadata"); found {
		t.Error("a pod template without labels got some")
	}
	if v, _, _ := unstructured.NestedString(out.objects[0].Object, "data", "v"); v != "filled" {
		t.Errorf("the variable is %q", v)
	}
	if want := []string{"elsewhere", "extra", "home"}; !cmp.Equal(out.namespaceNames(), want) {
		t.Errorf("namespaces are %v, want %v", out.namespaceNames(), want)
	}
	wantLabels := map[string]string{"mine": "yes", "app.kubernetes.io/managed-by": "zarf", "zarf.dev/agent": "mutate"}
	if got := out.namespaces["extra"].GetLabels(); !cmp.Equal(got, wantLabels) {
		t.Errorf("the namespace has labels %v", got)
	}
	if want := (state.ConnectStrings{"web": {Description: "The web", URL: "/x"}}); !cmp.Equal(out.connect, want) {
		t.Errorf("connect strings are %v", out.connect)
	}
	again, err := postRender(Wanted{Release: object.Release{Namespace: "home"}}, join(out.pieces))
	if err != nil || len(again.objects) != 4 {
		t.Errorf("the result is no manifest: %d objects, %v", len(again.objects), err)
	}
}

func TestRenderOffline(t *testing.T) {
	w := Wanted{
		Release: object.Release{Namespace: "ns", Name: "rel"},
		Package: "pkg",
		Values:  map[string]any{"size": 3},
		Archive: archive(t, "1.2.3", map[string]string{
			"templates/cm.yaml":   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}-{{ .Release.Revision }}}\ndata: {size: \"{{ .Values.size }}\"}\n",
			"templates/cr.yaml":   "apiVersion: example.dev/v1\nkind: Thing\nmetadata: {name: t}\n",
			"templates/when.yaml": "{{ include \"when\" . }}",
			"templates/_h.tpl":    "{{ define \"when\" }}apiVersion: v1\nkind: ConfigMap\nmetadata: {name: when}\ndata: {at: {{ now | quote }}}\n{{ end }}",
			"templates/role.yaml": "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: role}\n",
			"templates/rand.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: rand}\ndata: {v: {{ tpl .Values.text . | quote }}}\n",
			"templates/sum.yaml":  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: sum, annotations: {sum: {{ include (print $.Template.BasePath \"/when.yaml\") . | sha256sum }}}}\n",
			"templates/NOTES.txt": "notes",
			"templates/hook.yaml": "apiVersion: batch/v1\nkind: Job\nmetadata: {name: hook, annotations: {helm.sh/hook: pre-install}}\n",
			"crds/thing.yaml":     "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.dev}\nspec: {group: example.dev, scope: Cluster, names: {kind: Thing, plural: things}}\n",
			"values.yaml":         "size: 1\ntext: \"{{ uuidv4 }}\"\n",
		}),
	}
	r, err := offline(t).Render(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, d := range r.Objects {
		got[d.Ref.String()] = d.KnownAfterApply
		if d.Name == "rel-1" && !strings.Contains(string(d.Body), `size: "3"`) {
			t.Errorf("values did not reach the template:\n%s", d.Body)
		}
	}
	want := map[string]string{
		"ConfigMap/ns/rel-1": "its template uses field .Release.Revision",
		"ConfigMap/ns/when":  "its template uses function now",
		"ConfigMap/ns/rand":  "its template uses function uuidv4",
		"ConfigMap/ns/sum":   "its template uses function now",
		"ClusterRole/role":   "",
		"Thing/t":            "", // as its CRD says
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(r.Hooks) != 1 || r.Hooks[0].Labels["zarf.dev/package"] != "" || len(r.CRDs) != 1 {
		t.Errorf("hooks %v, CRDs %v", r.Hooks, r.CRDs)
	}
	if r.ChartName != "app" || r.ChartVersion != "1.2.3" || !cmp.Equal(r.Namespaces, []string{"ns"}) {
		t.Errorf("got %s %s in %v", r.ChartName, r.ChartVersion, r.Namespaces)
	}
}

func TestAsksForAPIs(t *testing.T) {
	for text, want := range map[string]bool{"{{ .Capabilities.APIVersions }}": true, "{{ .Values.x }}": false} {
		ch, err := Wanted{Archive: archive(t, "1.0.0", map[string]string{"charts/sub/Chart.yaml": "apiVersion: v2\nname: sub\nversion: 1.0.0\n", "charts/sub/templates/a.yaml": text})}.load()
		if err != nil {
			t.Fatal(err)
		}
		if got := asksForAPIs(ch); got != want {
			t.Errorf("%s: got %t", text, got)
		}
	}
}

func TestRenderFindsWhatDiffers(t *testing.T) {
	n := 0
	w := Wanted{
		Release: object.Release{Namespace: "ns", Name: "rel"},
		Archive: archive(t, "1.0.0", map[string]string{
			"templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {v: \"###ZARF_VAR_N###\"}\n",
			"templates/b.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n",
		}),
		Fill: func(text []byte) ([]byte, error) {
			if bytes.Contains(text, []byte("###")) {
				n++
			}
			return bytes.ReplaceAll(text, []byte("###ZARF_VAR_N###"), []byte(strings.Repeat("x", n))), nil
		},
	}
	r, err := offline(t).Render(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	if r.Objects[0].KnownAfterApply == "" || r.Objects[1].KnownAfterApply != "" {
		t.Errorf("got %q and %q", r.Objects[0].KnownAfterApply, r.Objects[1].KnownAfterApply)
	}
}

func TestRenderRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		w    Wanted
		want string
	}{
		"nothing":       {Wanted{}, "neither a chart nor manifests"},
		"no chart":      {Wanted{Archive: []byte("x")}, "reading the chart"},
		"no kind":       {Wanted{Archive: archive(t, "1.0.0", map[string]string{"templates/a.yaml": "a: b"})}, "has no kind"},
		"no name":       {Wanted{Archive: archive(t, "1.0.0", map[string]string{"templates/a.yaml": "kind: ConfigMap"})}, "has no name"},
		"bad YAML":      {Wanted{Archive: archive(t, "1.0.0", map[string]string{"templates/a.yaml": "a: ["})}, "YAML"},
		"new cluster":   {Wanted{Archive: archive(t, "1.0.0\nkubeVersion: '>= 99.0.0'", nil)}, "needs Kubernetes >= 99.0.0"},
		"bool label":    {Wanted{Archive: archive(t, "1.0.0", map[string]string{"templates/a.yaml": "kind: A\nmetadata: {name: a, labels: {x: true}}"})}, "quote it"},
		"bad SSA":       {Wanted{ServerSideApply: "yes", Archive: archive(t, "1.0.0", nil)}, "serverSideApply"},
		"broken schema": {Wanted{Archive: archive(t, "1.0.0", map[string]string{"values.schema.json": `{"required":["x"]}`})}, "x"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := offline(t).Render(t.Context(), test.w)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
	w := Wanted{SkipSchemaValidation: true, Archive: archive(t, "1.0.0", map[string]string{"values.schema.json": `{"required":["x"]}`})}
	if _, err := offline(t).Render(t.Context(), w); err != nil {
		t.Errorf("the schema was validated: %v", err)
	}
}

func TestOfflineClientRefusesTheRest(t *testing.T) {
	ctx := context.Background()
	c := offline(t)
	if _, err := c.Apply(ctx, Wanted{}, ApplyOptions{}); err == nil {
		t.Error("Apply went on without a cluster")
	}
	if _, err := c.History(ctx, object.Release{}); err == nil {
		t.Error("History went on without a cluster")
	}
	if _, err := c.Observe(ctx, nil); err == nil {
		t.Error("Observe went on without a cluster")
	}
}
