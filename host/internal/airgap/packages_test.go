package airgap_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/internal/testregistry"
)

// allButRepo selects what this version deploys of demo: everything but the git repositories.
const allButRepo = "same-only,archive,tools"

// tags are the tags of a sample that was taken of Zarf's registry.
func tags(t testing.TB, sample string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for line := range strings.Lines(string(read(t, shared(t, sample)))) {
		var tag, sum string
		if _, err := fmt.Sscan(line, &tag, &sum); err != nil {
			t.Fatal(err)
		}
		out[tag] = sum
	}
	return out
}

// TestDemo initialises a cluster and deploys what Zarf built, then the difference to its next
// version: the registry and the records are those that Zarf left (ZARF-FACTS (j), D1 and E1).
func TestDemo(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{User: "u", Password: "p"})
	s := newSite(t)
	s.init(r.Address(), "u", "p")

	s.mustDeploy(shared(t, "packages/zarf-package-demo-amd64-0.1.0.tar.zst"), components(allButRepo))
	if diff := cmp.Diff(tags(t, "samples/cluster/D1.tags"), r.Tags(t)); diff != "" {
		t.Errorf("the registry is not what Zarf makes of it (-Zarf +ours):\n%s", diff)
	}
	// An image with a digest has no tag, also where its reference names one (D11).
	if r.Digest(t, "demo/extra", "sha256:24cfab4612f7410e724f75c88f2db2bb5e3a74897570ad5d98c21bccaa6d6a5c") == "" {
		t.Error("an image that was named by its digest is not there by its digest")
	}
	like(t, s.record("demo"), object(t, read(t, shared(t, "samples/cluster/D1.json"))))
	s.pullSecret("demo", r.Address(), "u", "p")
	data, err := s.Client().CoreV1().ConfigMaps("demo").Get(t.Context(), "base-cm", meta.GetOptions{})
	if err != nil || data.Data["registry"] != r.Address() || data.Data["greeting"] != "hello" || data.Data["tier"] != "gold" {
		t.Errorf("templates of the state: %v, %v", data.Data, err)
	}
	for name, mode := range map[string]os.FileMode{"demo-out/README.md": 0o600, "demo-out/script.sh": 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}

	s.mustDeploy(shared(t, "packages/zarf-package-demo-amd64-0.1.0-differential-0.2.0.tar.zst"), components(allButRepo))
	if diff := cmp.Diff(tags(t, "samples/cluster/E1.tags"), r.Tags(t)); diff != "" {
		t.Errorf("after the difference, the registry is not what Zarf makes of it (-Zarf +ours):\n%s", diff)
	}
}

// A package in a registry deploys as the archive does, though only what its components need is
// fetched.
func TestDemoFromRegistry(t *testing.T) {
	source := testregistry.Start(t, testregistry.Options{})
	ref := source.Publish(t, shared(t, "packages/zarf-package-demo-amd64-0.1.0.tar.zst"))
	r := testregistry.Start(t, testregistry.Options{User: "u", Password: "p"})
	s := newSite(t)
	s.init(r.Address(), "u", "p")

	s.mustDeploy("oci://"+ref, components(allButRepo), func(o *host.DeployOptions) { o.Open.Architecture = "amd64" })
	if diff := cmp.Diff(tags(t, "samples/cluster/D1.tags"), r.Tags(t)); diff != "" {
		t.Errorf("the registry is not what Zarf makes of it (-Zarf +ours):\n%s", diff)
	}
	if got := s.record("demo")["digest"]; got != "sha256:ec03d45f448063f91a6d72624d30aba1a01d56d6b921208d073988de3a374f5a" {
		t.Errorf("digest %v", got)
	}
}

// like holds a record against one of Zarf's. What is left out differs by what is ours (events, what
// was configured), by when the package was built, and by how generations are counted.
func like(t testing.TB, ours, zarf map[string]any) {
	t.Helper()
	pick := func(r map[string]any) map[string]any {
		var deployed []any
		for _, c := range r["deployedComponents"].([]any) {
			c := c.(map[string]any)
			deployed = append(deployed, map[string]any{"name": c["name"], "status": c["status"], "charts": append([]any{}, list(c["installedCharts"])...)})
		}
		data := r["data"].(map[string]any)
		metadata := data["metadata"].(map[string]any)
		delete(metadata, "aggregateChecksum")
		var defined []any
		for _, c := range data["components"].([]any) {
			c := c.(map[string]any)
			if c["name"] == "repo" {
				continue // it was not selected; Zarf leaves such components out
			}
			for _, m := range list(c["manifests"]) {
				delete(m.(map[string]any), "files") // Zarf records the names inside of the package
			}
			defined = append(defined, c)
		}
		return map[string]any{
			"name": r["name"], "deployed": deployed, "connectStrings": r["connectStrings"], "connectivity": r["packageConnectivity"],
			"kind": data["kind"], "metadata": metadata, "components": defined, "variables": data["variables"],
			"constants": data["constants"], "values": data["values"], "documentation": data["documentation"],
		}
	}
	if diff := cmp.Diff(pick(zarf), pick(ours)); diff != "" {
		t.Errorf("the record is not what Zarf makes of it (-Zarf +ours):\n%s", diff)
	}
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// pullSecret holds the Secret that pods pull with in a namespace.
func (s *site) pullSecret(namespace, address, user, password string) {
	s.t.Helper()
	secret, err := s.Client().CoreV1().Secrets(namespace).Get(s.t.Context(), "private-registry", meta.GetOptions{})
	if err != nil {
		s.t.Error(err)
		return
	}
	auth := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	want := fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, address, auth)
	if got := string(secret.Data[".dockerconfigjson"]); got != want || secret.Type != "kubernetes.io/dockerconfigjson" || secret.Labels["app.kubernetes.io/managed-by"] != "zarf" {
		s.t.Errorf("the Secret to pull with in namespace %q: %s %s, labels %v\nwant %s", namespace, secret.Type, got, secret.Labels, want)
	}
}

// TestPackages deploys the other packages that Zarf built.
func TestPackages(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{User: "u", Password: "p"})
	s := newSite(t)
	s.init(r.Address(), "u", "p")
	for _, tt := range []struct{ name, file, record, charts string }{
		{"v1beta1, with an image", "zarf-package-beta-demo-amd64-0.1.0.tar.zst", "beta-demo", "one:1"},
		{"yolo", "zarf-package-yolo-demo-amd64-0.1.0.tar.zst", "yolo-demo", "first:1 second:1"},
		{"signed", "signed-yolo-demo.tar.zst", "yolo-demo", "first:1 second:1"},
		{"what the next version drops", "zarf-package-drop-demo-amd64-0.1.0.tar.zst", "drop-demo", "one:2 two:2 three:1"},
		{"split", "split/zarf-package-demo-amd64-0.1.0.tar.zst.part000", "demo", "base:1 web:1 pinned:0 tools:0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := &site{Cluster: s.Cluster, t: t, kubeconfig: s.kubeconfig, common: s.common}
			in.mustDeploy(shared(t, "packages/"+tt.file))
			var got []string
			for _, c := range in.record(tt.record)["deployedComponents"].([]any) {
				c := c.(map[string]any)
				if c["status"] != "Succeeded" {
					t.Errorf("component %v: %v", c["name"], c["status"])
				}
				got = append(got, fmt.Sprintf("%v:%d", c["name"], len(list(c["installedCharts"]))))
			}
			if charts := strings.Join(got, " "); charts != tt.charts {
				t.Errorf("deployed %s, want %s", charts, tt.charts)
			}
		})
	}
	if got := r.Digest(t, "demo/pause", "1.0.0-zarf-156212889"); got != "sha256:a08140453de1b6c1609f444c4fec18c194a2fd0c88a05ef9a6eaa77e2b1b8399" {
		t.Errorf("the image of beta-demo is %q", got)
	}
}

// TestFailDemo deploys a package whose second component has a broken manifest: as with Zarf, its
// third one is never reached.
func TestFailDemo(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSite(t)
	s.init(r.Address(), "u", "p")
	_, err := s.deploy(shared(t, "packages/zarf-package-fail-demo-amd64-0.1.0.tar.zst"))
	if err == nil || !strings.Contains(err.Error(), `"bad"`) {
		t.Fatalf("got %v", err)
	}
	t.Log(err)
	if len(r.Tags(t)) > 0 {
		t.Error("it pushed something")
	}
}

// TestInitPackage: an init package may be looked into, and is not deployed.
func TestInitPackage(t *testing.T) {
	s := newSite(t)
	file := shared(t, "packages/zarf-init-minimal.tar.zst")
	got, err := host.Inspect(t.Context(), host.InspectOptions{Target: file})
	if err != nil || got.Definition.Metadata.Name != "init" || !got.Verified ||
		got.Digest != "sha256:5f192da717eba454238d4c344b8c24d1795a2e800d908468467f9bbdd2c5e3ee" {
		t.Errorf("inspecting: %+v, %v", got, err)
	}
	_, err = host.Deploy(t.Context(), host.DeployOptions{Common: s.options(), Source: file})
	var refused *host.PreflightError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "an init package sets up Zarf's own services") {
		t.Errorf("got %v", err)
	}
}
