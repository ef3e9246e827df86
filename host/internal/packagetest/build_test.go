package packagetest_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/definition"
	"github.com/zarf-host/zarf-host/host/internal/packagetest"
	"github.com/zarf-host/zarf-host/host/spec"
)

const authoredDefinition = `kind: ZarfPackageConfig
metadata:
  name: built
  version: 1.2.3
  annotations:
    org.example.key: "yes"
components:
- name: web
  required: true
  charts:
  - name: web
    version: 0.1.0
    localPath: chart/web
    namespace: web
    valuesFiles:
    - values/a.yaml
    templatedValuesFiles:
    - ./values/b.yaml
  - name: web-two
    localPath: ./chart/web
    namespace: web
  manifests:
  - name: maps
    files:
    - manifests/one.yaml
    - manifests/two.yaml
- name: tools
  files:
  - source: bin/run.sh
    target: /opt/run.sh
    executable: true
  - source: conf
    target: /etc/conf.d
- name: nothing
  actions:
    onDeploy:
      before:
      - cmd: echo hello
variables:
- name: GREETING
  default: hello
`

func authoredFiles() map[string]string {
	return map[string]string{
		"chart/web/Chart.yaml":        "apiVersion: v2\nname: web\nversion: 0.1.0\n",
		"chart/web/values.yaml":       "a: 1\n",
		"chart/web/templates/cm.yaml": "kind: ConfigMap\n",
		"values/a.yaml":               "a: 2\n",
		"values/b.yaml":               "b: 2\n",
		"manifests/one.yaml":          "kind: One\n",
		"manifests/two.yaml":          "kind: Two\n",
		"bin/run.sh":                  "#!/bin/sh\n",
		"conf/x.conf":                 "x\n",
		"conf/sub/y.conf":             "y\n",
	}
}

func TestBuildPacksWhatTheDefinitionNames(t *testing.T) {
	path := packagetest.Build(t, t.TempDir(), authoredDefinition, authoredFiles())
	if got, want := filepath.Base(path), "zarf-package-built-amd64-1.2.3.tar.zst"; got != want {
		t.Errorf("archive is called %q, want %q", got, want)
	}
	b := open(t, path)
	if !b.Verified() || b.Digest() == "" {
		t.Errorf("integrity is %+v, want it verified", b.Integrity())
	}
	files := b.Files()
	if last := files[len(files)-1].Path; last != "zarf.yaml" {
		t.Errorf("the last entry is %q, want zarf.yaml", last)
	}
	if b.Has("components/nothing.tar") {
		t.Error("a component without content has a tar")
	}
	got := map[string]string{}
	for _, c := range []string{"web", "tools", "nothing"} {
		for name, body := range contents(t, b, c) {
			got[c+":"+name] = body
		}
	}
	for _, chart := range []string{"web:charts/web-0.1.0.tgz", "web:charts/web-two.tgz"} {
		want := map[string]string{"web/Chart.yaml": authoredFiles()["chart/web/Chart.yaml"], "web/values.yaml": "a: 1\n", "web/templates/cm.yaml": "kind: ConfigMap\n"}
		if diff := cmp.Diff(want, unpackChart(t, got[chart])); diff != "" {
			t.Errorf("%s differs (-want +got):\n%s", chart, diff)
		}
		delete(got, chart)
	}
	want := map[string]string{
		"web:values/web-0.1.0-0":          "a: 2\n",
		"web:values/web-0.1.0-1":          "b: 2\n",
		"web:manifests/maps-0.yaml":       "kind: One\n",
		"web:manifests/maps-1.yaml":       "kind: Two\n",
		"tools:files/0/run.sh":            "#!/bin/sh\n",
		"tools:files/1/conf.d/x.conf":     "x\n",
		"tools:files/1/conf.d/sub/y.conf": "y\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("content differs (-want +got):\n%s", diff)
	}
}

// The definition in the package is the author's, with a build section and nothing else changed.
func TestBuildKeepsTheDefinition(t *testing.T) {
	b := open(t, packagetest.Build(t, t.TempDir(), authoredDefinition, authoredFiles()))
	pkg := b.Definition()
	if pkg.Build.Version != "v0.84.0" || pkg.Build.Architecture != "amd64" || pkg.Metadata.AggregateChecksum == "" ||
		len(pkg.Build.Migrations) != 2 || pkg.Build.Signed == nil || *pkg.Build.Signed {
		t.Errorf("build section is %+v", pkg.Build)
	}
	authored, err := definition.Parse([]byte(authoredDefinition))
	if err != nil {
		t.Fatal(err)
	}
	stripped := b.Definition()
	stripped.Build, authored.Build = spec.Build{}, spec.Build{}
	stripped.Metadata.Architecture, stripped.Metadata.AggregateChecksum = "", ""
	if diff := cmp.Diff(*authored, stripped); diff != "" {
		t.Errorf("definition differs (-authored +built):\n%s", diff)
	}
	again, err := packagetest.Marshal(&pkg)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(b.DefinitionBytes()), string(again)); diff != "" {
		t.Errorf("definition changes when it is written again (-first +second):\n%s", diff)
	}
}

func TestBuildIsDeterministic(t *testing.T) {
	one, two := packagetest.Build(t, t.TempDir(), authoredDefinition, authoredFiles()), packagetest.Build(t, t.TempDir(), authoredDefinition, authoredFiles())
	a, err := os.ReadFile(one)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(two)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) {
		t.Error("the same package was written in two ways")
	}
}

func TestWriteDirEqualsBuild(t *testing.T) {
	src := t.TempDir()
	for name, content := range authoredFiles() {
		write(t, filepath.Join(src, name), content)
	}
	write(t, filepath.Join(src, "zarf.yaml"), authoredDefinition)
	path, err := packagetest.WriteDir(src, t.TempDir(), packagetest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	built := packagetest.Build(t, t.TempDir(), authoredDefinition, authoredFiles())
	if got, want := open(t, path).Digest(), open(t, built).Digest(); got != want {
		t.Errorf("digest is %s, want %s", got, want)
	}
}

func TestWriteNamesWhatItDoesNotPack(t *testing.T) {
	const head = "kind: ZarfPackageConfig\nmetadata:\n  name: x\n"
	for body, want := range map[string]string{
		"components:\n- name: c\n  images: [a:1]\n":                                                           `component "c": images`,
		"components:\n- name: c\n  imageArchives:\n  - path: x.tar\n    images: [a:1]\n":                      `component "c": imageArchives`,
		"components:\n- name: c\n  repos: [https://example.test/r.git]\n":                                     `component "c": repos`,
		"components:\n- name: c\n  import:\n    path: ../x\n":                                                 `component "c": import`,
		"components:\n- name: c\n  manifests:\n  - name: m\n    kustomizations: [k]\n":                        `manifest "m": kustomizations`,
		"components:\n- name: c\n  manifests:\n  - name: m\n    files: [https://example.test/x.yaml]\n":       `manifest "m": file from "https://example.test/x.yaml"`,
		"components:\n- name: c\n  manifests:\n  - name: m\n    files: [gone.yaml]\n":                         `manifest "m": no file "gone.yaml"`,
		"components:\n- name: c\n  charts:\n  - name: h\n    namespace: n\n    url: https://example.test/h\n": `chart "h": no localPath`,
		"components:\n- name: c\n  charts:\n  - name: h\n    namespace: n\n    localPath: gone\n":             `chart "h": no file "gone/Chart.yaml"`,
		"components:\n- name: c\n  files:\n  - source: gone\n    target: x\n":                                 `no file or folder "gone"`,
		"components:\n- name: c\nvalues:\n  files: [v.yaml, w.yaml]\n":                                        `values`,
	} {
		_, err := packagetest.Write(t.TempDir(), packagetest.Package{Definition: head + body}, packagetest.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("writing\n%s gives %v, want %q", body, err, want)
		}
	}
}

func contents(t *testing.T, b *bundle.Bundle, component string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := b.Component(context.Background(), component, func(e bundle.Entry, r io.Reader) error {
		if !e.Mode.IsRegular() {
			return nil
		}
		data, err := io.ReadAll(r)
		out[e.Path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func unpackChart(t *testing.T, data string) map[string]string {
	t.Helper()
	zr, err := gzip.NewReader(strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		out[h.Name] = string(body)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
