package policies_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/internal/guests"
	"github.com/zarf-host/zarf-host/host/internal/testcluster"
	"github.com/zarf-host/zarf-host/host/internal/testregistry"
	"github.com/zarf-host/zarf-host/host/wasm"
)

func TestMain(m *testing.M) { os.Exit(testcluster.Main(m)) }

const definition = `kind: ZarfPackageConfig
metadata: {name: ruled, version: 1.0.0, yolo: true}
components:
  - {name: one, required: true, manifests: [{name: m, namespace: ruled, files: [m.yaml]}]}
`

const vendorPolicy = `apiVersion: "zarf-host.dev/v1alpha1"
kind:       "Policy"
metadata: name: "vendor"
"package": metadata: vendor!: string @message("every package names its vendor")
`

const finePolicy = `apiVersion: zarf-host.dev/v1alpha1
kind: Policy
metadata: {name: fine}
package: {metadata: {version: 1.0.0}}
`

const traps = `apiVersion: zarf-host.dev/v1alpha1
kind: Policy
metadata: {name: traps}
plugins: [{name: trapping, source: trapping.wasm}]
`

// world is the program in a folder of its own.
type world struct {
	t   *testing.T
	dir string
	env []string
}

func newWorld(t *testing.T) world {
	t.Helper()
	root, err := guests.Root()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "zarf-host"), "./cmd/zarf-host")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the program: %v\n%s", err, out)
	}
	w := world{t: t, dir: dir, env: append(os.Environ(), "KUBECONFIG="+testcluster.Private(t).Kubeconfig(), "DOCKER_CONFIG="+t.TempDir())}
	for name, text := range map[string]string{
		"ruled/zarf.yaml": definition, "ruled/m.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n",
		"vendor.cue": vendorPolicy, "fine.yaml": finePolicy, "traps.yaml": traps,
	} {
		w.write(name, []byte(text))
	}
	w.run(0, "create", "ruled", "--confirm")
	return w
}

func (w world) write(name string, data []byte) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// run runs the program, which must end with an exit code and say certain things.
func (w world) run(code int, args ...string) (said string) {
	w.t.Helper()
	var out bytes.Buffer
	cmd := exec.CommandContext(w.t.Context(), filepath.Join(w.dir, "zarf-host"), args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = w.dir, w.env, &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		w.t.Fatalf("zarf-host %s: exit code %d, want %d\n%s", strings.Join(args, " "), got, code, out.String())
	}
	return out.String()
}

func (w world) want(said string, texts ...string) {
	w.t.Helper()
	for _, text := range texts {
		if !strings.Contains(said, text) {
			w.t.Errorf("it does not say %q:\n%s", text, said)
		}
	}
}

// recorded returns a key of the package's record, empty where there is none.
func (w world) recorded(key string) string {
	w.t.Helper()
	secrets, err := testcluster.Private(w.t).Client().CoreV1().Secrets("zarf").List(context.Background(), meta.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, s := range secrets.Items {
		if s.Name == "zarf-package-ruled" {
			return string(s.Data[key])
		}
	}
	return ""
}

// A policy that is applied to a cluster holds for everyone who deploys there, though no flag names it.
func TestClusterPolicy(t *testing.T) {
	w := newWorld(t)
	archive, err := filepath.Glob(filepath.Join(w.dir, "zarf-package-ruled-*.tar.zst"))
	if err != nil || len(archive) != 1 {
		t.Fatalf("the package is %q, %v", archive, err)
	}
	pkg := archive[0]

	w.want(w.run(1, "policy", "apply", "traps.yaml", "--confirm"), "is a file, which a cluster does not have")
	w.want(w.run(0, "policy", "apply", "vendor.cue", "--confirm"), "policy vendor (sha256:")
	w.want(w.run(0, "policy", "show"), "vendor sha256:")
	w.want(w.run(0, "policy", "show", "vendor"), "every package names its vendor")
	w.want(w.run(3, "deploy", pkg, "--confirm"), "deny policy vendor: zarf.yaml:", "metadata.vendor: every package names its vendor")
	w.want(w.run(3, "plan", pkg), "metadata.vendor: every package names its vendor")
	if w.recorded("data") != "" {
		t.Error("a denied deployment left a record")
	}

	// On request, what needs no cluster by itself.
	w.want(w.run(1, "validate", "ruled/zarf.yaml", "--cluster-policies"), "zarf.yaml:2:1: metadata.vendor: policy vendor: every package names its vendor")
	w.run(0, "validate", "ruled/zarf.yaml")

	// Who may not read the policies learns it before anything changes.
	w.want(w.run(5, "deploy", pkg, "--confirm", "--as", "nobody"), `configmaps in namespace "zarf"`)
	w.run(0, "policy", "remove", "vendor", "--confirm")
	w.want(w.run(1, "policy", "remove", "vendor", "--confirm"), "has no policy of that name")

	// Its plugins come by digest from a registry. One that cannot be had is a deny.
	registry := testregistry.Start(t, testregistry.Options{})
	w.write("trapping.wasm", trapping(t))
	w.run(0, "plugin", "push", "trapping.wasm", "oci://"+registry.Address()+"/plugins/trapping:1")
	w.run(0, "policy", "apply", "traps.yaml", "--confirm", "--plugin", "trapping=oci://"+registry.Address()+"/plugins/trapping:1")
	w.want(w.run(0, "policy", "show", "traps"), "digest: sha256:", "@sha256:")
	w.want(w.run(3, "deploy", pkg, "--confirm"), "denied at pre-deploy by traps/trapping")
	registry.Kill()
	w.want(w.run(3, "deploy", pkg, "--confirm"), `denied by policy "traps", whose plugin "trapping" cannot be had`)
	if w.recorded("data") != "" {
		t.Error("a denied deployment left a record")
	}
	w.run(0, "policy", "remove", "traps", "--confirm")

	// The record names what took part; the values of a map are fixed.
	w.run(0, "policy", "apply", "fine.yaml", "--confirm")
	w.want(w.run(0, "deploy", pkg, "--confirm"), "policy fine (sha256:", `policy "fine" (sha256:`)
	if own := w.recorded("zarf-host"); !strings.Contains(own, `"policies":[{"name":"fine","digest":"sha256:`) {
		t.Errorf("the record does not name the policy: %s", own)
	}
	w.run(0, "remove", "ruled", "--confirm")
}

// trapping is a plugin that fails at pre-deploy.
func trapping(t *testing.T) []byte {
	t.Helper()
	module, ok := guests.Failing("trapping")
	if !ok {
		t.Fatal("there is no failing guest of that name")
	}
	out, err := wasm.Annotate(module, hook.Metadata{Name: "trapping", Version: "0.0.1", ABI: []string{"v1"}, Hooks: []hook.Use{{Name: hook.PreDeploy}}})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The shipped policies say what their tests want of them.
func TestShippedPolicies(t *testing.T) {
	w := newWorld(t)
	root, err := guests.Root()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"policy", "test"}
	for _, name := range []string{"guard", "window"} {
		module, err := guests.Build(t.Context(), filepath.Join("plugins", name))
		if err != nil {
			t.Fatal(err)
		}
		manifest, err := os.ReadFile(filepath.Join(root, "plugins", name, "plugin.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		metadata, err := wasm.ParseManifest(manifest)
		if err != nil {
			t.Fatal(err)
		}
		if module, err = wasm.Annotate(module, metadata); err != nil {
			t.Fatal(err)
		}
		w.write(name+".wasm", module)
		args = append(args, "--plugin", name+"="+filepath.Join(w.dir, name+".wasm"))
	}
	folders, err := filepath.Glob(filepath.Join(root, "policies", "*"))
	if err != nil || len(folders) < 8 {
		t.Fatalf("the policies are %q, %v", folders, err)
	}
	said := w.run(0, append(args, folders...)...)
	if strings.Count(said, "ok ") < 2*len(folders) {
		t.Errorf("a policy has no test of what it allows, or of what it denies:\n%s", said)
	}
}
