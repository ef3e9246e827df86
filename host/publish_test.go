package host

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/internal/faultproxy"
	"github.com/zarf-host/zarf-host/host/internal/packagetest"
	"github.com/zarf-host/zarf-host/host/internal/testregistry"
)

// What we publish is to the byte what Zarf publishes, and what comes back is what was published.
func TestPublishAsZarfDoes(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	const name = "zarf-package-demo-amd64-0.1.0.tar.zst"
	const digest = "sha256:ec03d45f448063f91a6d72624d30aba1a01d56d6b921208d073988de3a374f5a"
	set := PublishOptions{Source: shared(t, "packages", name), Target: "oci://" + r.Address() + "/pkg"}
	done, err := Publish(t.Context(), set)
	if err != nil {
		t.Fatal(err)
	}
	if done.Digest != digest || done.Reference != r.Address()+"/pkg/demo:0.1.0" || done.UploadedBlobs != 24 {
		t.Errorf("got %+v", done)
	}
	for path, sample := range map[string]string{"0.1.0": "oci-demo-0.1.0.index.json", digest: "oci-demo-0.1.0.manifest.json"} {
		want := readFile(t, shared(t, "samples", sample))
		if got := getManifest(t, r, "/v2/pkg/demo/manifests/"+path); got != want {
			t.Errorf("%s differs from Zarf's:\n%s", sample, cmp.Diff(want, got))
		}
	}
	if again, err := Publish(t.Context(), set); err != nil || again.UploadedBlobs != 0 || again.UploadedBytes != 0 {
		t.Errorf("the second time %d files were sent, %v", again.UploadedBlobs, err)
	}
	output := t.TempDir()
	pulled, err := Pull(t.Context(), PullOptions{Source: "oci://" + done.Reference, Output: output, Common: Common{Open: OpenOptions{Architecture: "amd64"}}})
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Base(pulled.File) != name || pulled.Digest != digest {
		t.Errorf("pulled %+v", pulled)
	}
	b, err := bundle.Open(t.Context(), pulled.File, bundle.Options{})
	if err != nil || b.Digest() != digest {
		t.Fatalf("what was pulled is %v", err)
	}
	_ = b.Close()
	if left, err := os.ReadDir(output); err != nil || len(left) != 1 {
		t.Errorf("pulling left %v", left)
	}
	// A new version sends only what is new in it.
	set.Source = shared(t, "packages", "zarf-package-demo-amd64-0.1.0-differential-0.2.0.tar.zst")
	next, err := Publish(t.Context(), set)
	if err != nil || next.Reference != r.Address()+"/pkg/demo:0.2.0-differential-0.1.0" || next.UploadedBlobs >= 20 {
		t.Errorf("got %+v, %v", next, err)
	}
}

func getManifest(t *testing.T, r *testregistry.Registry, path string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.URL()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", bundle.IndexMediaType+", "+bundle.ManifestMediaType)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func builtFor(t *testing.T, architecture string) string {
	t.Helper()
	return packagetest.BuildWith(t, t.TempDir(), head+"components: [{name: a}]\n", nil, packagetest.Options{Architecture: architecture})
}

// Packages of several architectures share a tag, also those that are published at the same moment.
func TestPublishForSeveralArchitectures(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	architectures := []string{"amd64", "arm64", "riscv64", "ppc64le"}
	var all sync.WaitGroup
	for _, architecture := range architectures {
		source := builtFor(t, architecture)
		all.Go(func() {
			if _, err := Publish(t.Context(), PublishOptions{Source: source, Target: "oci://" + r.Address()}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, architecture := range architectures {
		p, err := Open(t.Context(), "oci://"+r.Address()+"/made:1.0.0", OpenOptions{Architecture: architecture})
		if err != nil {
			t.Errorf("%s got lost: %v", architecture, err)
			continue
		}
		_ = p.Close()
	}
}

func TestPublishGoesOnAfterFaults(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	proxy := r.Proxy(t)
	for _, status := range []int{500, 503} {
		proxy.Inject(faultproxy.Rule{
			Match: func(r faultproxy.Request) bool { return r.Method == http.MethodPut || r.Method == http.MethodPost }, Times: 1, Fault: faultproxy.Status(status),
		})
	}
	set := PublishOptions{
		Source: shared(t, "packages", "zarf-package-yolo-demo-amd64-0.1.0.tar.zst"), Target: "oci://" + strings.TrimPrefix(proxy.URL(), "http://"),
		Common: Common{Patience: Patience{Backoff: 1}},
	}
	if _, err := Publish(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	if r.Digest(t, "yolo-demo", "0.1.0") == "" {
		t.Error("the registry does not have it")
	}
}

func TestPublishRefuses(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{User: "u", Password: "secret"})
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	target := "oci://" + r.Address()
	for name, test := range map[string]struct {
		set  PublishOptions
		want string
	}{
		"no login":       {PublishOptions{Source: builtFor(t, "amd64"), Target: target}, "credential not found"},
		"no scheme":      {PublishOptions{Source: builtFor(t, "amd64"), Target: r.Address()}, "is no oci:// path"},
		"credentials":    {PublishOptions{Source: builtFor(t, "amd64"), Target: "oci://u:secret@" + r.Address()}, "credentials"},
		"no package":     {PublishOptions{Source: "nosuch.tar.zst", Target: target}, "no such file"},
		"no version":     {PublishOptions{Source: authored(t, "kind: ZarfPackageConfig\nmetadata: {name: x}\ncomponents: [{name: a}]\n", nil), Target: target}, "no version"},
		"no tag":         {PublishOptions{Source: builtFor(t, "amd64"), Target: target, Tag: "a b"}, "invalid reference"},
		"values":         {PublishOptions{Source: authored(t, head+"components: [{name: a}]\nvalues: {files: [v]}\n", map[string]string{"v": ""}), Target: target}, ":4:1: values: a skeleton cannot bring values"},
		"image archives": {PublishOptions{Source: authored(t, head+"components: [{name: a, imageArchives: [{path: x, images: ['a:1']}]}]\n", nil), Target: target}, "components[0].imageArchives: a skeleton cannot bring"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Publish(t.Context(), test.set)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
		})
	}
}

// A skeleton brings what its components name on disk; whoever imports it, wherever, gets that.
func TestSkeletonIsImported(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	lib := authored(t, "kind: ZarfPackageConfig\nmetadata: {name: lib, version: 1.0.0}\n"+`
components:
- name: web
  charts: [{name: web, version: 0.1.0, localPath: chart, namespace: web, valuesFiles: [v.yaml]}]
  manifests: [{name: m, files: [cm.yaml], kustomizations: [kust]}]
  files: [{source: f, target: "###ZARF_PKG_TMPL_TARGET###", executable: true}, {source: d, target: d}]
  actions: {onCreate: {before: [{cmd: "ls ../files > seen || true"}]}}
  import: {path: below, name: base}
- {name: arm, only: {cluster: {architecture: arm64}}}
variables: [{name: FROM_LIB, default: x}]
`, map[string]string{
		"chart/Chart.yaml": "apiVersion: v2\nname: web\nversion: 0.1.0\n", "chart/templates/cm.yaml": configMap, "v.yaml": "v: 1\n",
		"cm.yaml": configMap, "kust/kustomization.yaml": "resources: [cm.yaml]\nnamePrefix: x-\n", "kust/cm.yaml": configMap, "f": "f", "d/e": "e",
		"below/zarf.yaml": head + "components: [{name: base, description: below, repos: ['https://example.test/r.git']}]\n",
	})
	done, err := Publish(t.Context(), PublishOptions{Source: lib, Target: "oci://" + r.Address() + "/skeletons"})
	if err != nil {
		t.Fatal(err)
	}
	if !done.Skeleton || done.Reference != r.Address()+"/skeletons/lib:1.0.0" {
		t.Errorf("got %+v", done)
	}
	importing := head + `
components:
- name: web
  required: true
  import: {url: "oci://` + done.Reference + `"}
- name: other
  import: {url: "oci://` + done.Reference + `", name: web}
  files: [{source: own, target: own}]
`
	dir := authored(t, importing, map[string]string{"own": "own"})
	// Its repository cannot be cloned, so it is resolved alone.
	if _, err := Create(t.Context(), CreateOptions{Dir: dir, Output: t.TempDir(), Set: map[string]string{"target": "bin/f"}}); err == nil || !strings.Contains(err.Error(), "oci://"+done.Reference) || !strings.Contains(err.Error(), "components[0].repos[0]") {
		t.Errorf("a fault of what was imported is shown as %v", err)
	}
	put(t, filepath.Join(lib, "below", "zarf.yaml"), head+"components: [{name: base, description: below}]\n")
	if _, err := Publish(t.Context(), PublishOptions{Source: lib, Target: "oci://" + r.Address() + "/skeletons"}); err != nil {
		t.Fatal(err)
	}
	b, made := made(t, CreateOptions{Dir: dir, Set: map[string]string{"target": "bin/f"}})
	got := contents(t, b, "other")
	if got["charts/web-0.1.0.tgz"] == "" {
		t.Error("the chart is not there")
	}
	delete(got, "charts/web-0.1.0.tgz")
	if diff := cmp.Diff(map[string]string{
		"values/web-0.1.0-0": "v: 1\n", "manifests/m-0.yaml": configMap, "manifests/m-1.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x-a\n",
		"files/0/f": "f", "files/1/d/e": "e", "files/2/own": "own",
	}, got); diff != "" {
		t.Errorf("what was imported differs:\n%s", diff)
	}
	if v := made.Definition.Variables; len(v) != 1 || v[0].Name != "FROM_LIB" {
		t.Errorf("the variables are %+v", v)
	}
	if text := string(b.DefinitionBytes()); strings.Contains(text, os.TempDir()) {
		t.Errorf("a path of this machine got into the package:\n%s", text)
	}
	// The same skeleton gives the same package.
	_, again := createdTwice(t, dir)
	if again[0] != again[1] {
		t.Error("two packages of one skeleton differ")
	}
}

func createdTwice(t *testing.T, dir string) (*bundle.Bundle, [2]string) {
	t.Helper()
	var out [2]string
	var last *bundle.Bundle
	for i := range out {
		b, done := made(t, CreateOptions{Dir: dir, Set: map[string]string{"target": "bin/f"}, BuildTime: fixedTime})
		last, out[i] = b, readFile(t, done.Files[0])
	}
	return last, out
}

func TestPublishIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("enough")
	cancel(stop)
	_, err := Publish(ctx, PublishOptions{Source: builtFor(t, "amd64"), Target: "oci://127.0.0.1:1/x"})
	if !errors.Is(err, stop) && !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
