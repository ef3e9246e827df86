package canary_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/config"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/internal/packagetest"
	"github.com/zarf-host/zarf-host/host/internal/testcluster"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/state"
)

func TestMain(m *testing.M) { os.Exit(testcluster.Main(m)) }

// The secrets, one for each way in. They share the word that is looked for.
const (
	canary     = "canary"
	inVariable = "variable-canary-1"
	inValue    = "value-canary-2"
	inOverride = "override-canary-3"
	inPassword = "password-canary-4"
	inQuery    = "query-canary-5"
	inSecret   = "secret-canary-6"
)

const definition = `
kind: ZarfPackageConfig
metadata: {name: @NS@, version: @VERSION@, yolo: true}
variables:
  - {name: TOKEN, default: ""}
values: {files: [defaults.yaml]}
components:
  - name: web
    required: true
    charts:
      - name: web
        version: @VERSION@
        localPath: chart
        namespace: @NS@
        values: [{sourcePath: .web.name, targetPath: .name}]
        variables: [{name: TOKEN, description: a token, path: token}]
    manifests:
      - {name: secret, namespace: @NS@, files: [secret.yaml]}
    actions:
      onDeploy:
        after: [{cmd: "@AFTER@"}]
`

func pack(t *testing.T, ns, version, after string, more map[string]string) string {
	t.Helper()
	fill := strings.NewReplacer("@NS@", ns, "@VERSION@", version, "@AFTER@", after)
	files := map[string]string{
		"defaults.yaml":     "web: {name: unnamed}\n",
		"chart/Chart.yaml":  fill.Replace("apiVersion: v2\nname: web\nversion: @VERSION@\n"),
		"chart/values.yaml": "name: x\ntoken: x\nextra: x\n",
		"chart/templates/web.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n" +
			"data: {name: {{ .Values.name | quote }}, token: {{ .Values.token | quote }}, extra: {{ .Values.extra | quote }}}\n",
		"secret.yaml": "apiVersion: v1\nkind: Secret\nmetadata:\n  name: hidden\n  annotations:\n" +
			"    kubectl.kubernetes.io/last-applied-configuration: " + inSecret + "\nstringData: {key: " + inSecret + "}\n",
	}
	for name, text := range more {
		files[name] = text
	}
	return packagetest.Build(t, t.TempDir(), fill.Replace(definition), files)
}

// ears hear everything that comes out of the engine.
type ears struct {
	mu    sync.Mutex
	heard []string
}

func (e *ears) hear(where string, what any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	text, err := json.Marshal(what)
	if err != nil {
		text = []byte(err.Error())
	}
	e.heard = append(e.heard, fmt.Sprintf("%s: %s\n%s: %+v", where, text, where, what))
}

func (e *ears) Emit(ev event.Event) { e.hear("event", ev) }

func (e *ears) Review(_ context.Context, r host.Review) (bool, error) {
	e.hear("review", r.Plan)
	return true, nil
}

// The ears are also a plugin at every hook.
func (e *ears) Name() string      { return "ears" }
func (e *ears) Info() plan.Plugin { return plan.Plugin{Name: "ears", Digest: "sha256:0"} }
func (e *ears) Hooks() []hook.Name {
	return []hook.Name{hook.PreDeploy, hook.PrePrune, hook.PostDeploy, hook.PreRemove, hook.PostRemove}
}

func (e *ears) Ask(_ context.Context, r hook.Request) (hook.Response, error) {
	e.hear("request "+string(r.Hook), r)
	e.hear("plan in request", string(r.Plan))
	return hook.Response{ID: r.ID, Verdict: hook.Allow}, nil
}

// silent fails the test for everything heard that holds a secret.
func (e *ears) silent(t *testing.T, atLeast int) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.heard) < atLeast {
		t.Errorf("only %d things were heard, which cannot be all", len(e.heard))
	}
	for _, text := range e.heard {
		if at := strings.Index(text, canary); at >= 0 {
			t.Errorf("a secret is in %s", text[max(0, at-300):min(len(text), at+100)])
		}
	}
}

// serve serves a package to whoever has the password.
func serve(t *testing.T, path string) (source, sum string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != inPassword || r.URL.Query().Get("sig") != inQuery {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		_, _ = w.Write(data) // the client notices what is missing
	}))
	t.Cleanup(server.Close)
	digest := sha256.Sum256(data)
	return strings.Replace(server.URL, "https://", "https://me:"+inPassword+"@", 1) + "/pkg.tar.zst?sig=" + inQuery, hex.EncodeToString(digest[:])
}

func TestSecretsStaySecret(t *testing.T) {
	c := testcluster.Shared(t)
	ns := c.Namespace(t)
	e := &ears{}
	where := cluster.Options{Loader: clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: c.Kubeconfig()}, &clientcmd.ConfigOverrides{})}
	common := host.Common{Cluster: where, Sink: e, Reviewer: e, Plugins: []host.Plugin{e}, User: "tester"}
	deploy := func(path string, change func(*host.DeployOptions)) (host.Result, error) {
		source, sum := serve(t, path)
		o := host.DeployOptions{Common: common, Source: source}
		o.Open = host.OpenOptions{SHA256: sum, InsecureSkipTLSVerify: true}
		if change != nil {
			change(&o)
		}
		result, err := host.Deploy(t.Context(), o)
		e.hear("plan", result.Plan)
		e.hear("outcomes", result.Outcomes)
		if result.Applied != nil {
			e.hear("applied", result.Applied.Components)
			e.hear("record as it is printed", fmt.Sprintf("%+v %v", result.Applied.Record, result.Applied.Record.Package.Public()))
		}
		if err != nil {
			e.hear("error", err.Error())
		}
		return result, err
	}
	supplied := func(o *host.DeployOptions) {
		o.Layers = []config.Layer{{Origin: config.OriginFlag, Config: state.DeployConfig{
			SetVariables:       map[string]string{"TOKEN": inVariable},
			Values:             state.Values{"web": map[string]any{"name": inValue}},
			ValuesOverridesMap: state.ValuesOverrides{"web": {"web": {"extra": inOverride}}},
		}}}
	}
	again := func(o *host.DeployOptions) { o.ReuseConfig = true }
	first := pack(t, ns, "1.0.0", "true", nil)
	if _, err := deploy(first, func(o *host.DeployOptions) { supplied(o); o.DryRun = true }); err != nil {
		t.Fatal(err)
	}
	if _, err := deploy(first, supplied); err != nil {
		t.Fatal(err)
	}
	has(t, c, ns)

	// An upgrade that fails, one whose manifest the API server refuses, one that cannot be fetched.
	if _, err := deploy(pack(t, ns, "2.0.0", "false", nil), again); err == nil {
		t.Error("a failing action is no failure")
	}
	if _, err := deploy(pack(t, ns, "2.0.1", "true", map[string]string{
		"chart/templates/service.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {type: {{ .Values.token | quote }}, ports: [{port: 80}]}\n",
	}), again); err == nil {
		t.Error("a refused object is no failure")
	}
	if _, err := deploy(first, func(o *host.DeployOptions) { o.Open.SHA256 = strings.Repeat("0", 64) }); err == nil {
		t.Error("another archive than the wanted one is no failure")
	}
	if _, err := deploy(first, func(o *host.DeployOptions) { o.Source = strings.Replace(o.Source, "sig=", "no=", 1) }); err == nil {
		t.Error("an archive that cannot be fetched is no failure")
	}

	// What was supplied survives all of that, and being used again.
	if _, err := deploy(pack(t, ns, "3.0.0", "true", nil), again); err != nil {
		t.Fatal(err)
	}
	has(t, c, ns)

	listed, err := host.List(t.Context(), where)
	e.hear("list", listed)
	s, statusErr := host.GetStatus(t.Context(), where, ns, "")
	e.hear("status", s)
	events, historyErr := host.History(t.Context(), where, ns, "")
	e.hear("history", events)
	inspected, inspectErr := host.Inspect(t.Context(), host.InspectOptions{Target: ns, Cluster: where})
	e.hear("inspect", inspected.Definition)
	removed, removeErr := host.Remove(t.Context(), host.RemoveOptions{Common: common, Target: ns})
	e.hear("removal", removed.Plan)
	if err := errors.Join(err, statusErr, historyErr, inspectErr, removeErr); err != nil {
		t.Error(err)
	}
	e.silent(t, 60)
}

// has holds that the secrets are where they belong.
func has(t *testing.T, c *testcluster.Cluster, ns string) {
	t.Helper()
	config, err := c.Client().CoreV1().ConfigMaps(ns).Get(t.Context(), "web", meta.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := config.Data; got["name"] != inValue || got["token"] != inVariable || got["extra"] != inOverride {
		t.Errorf("deployed with %v", got)
	}
	record, err := c.Client().CoreV1().Secrets("zarf").Get(t.Context(), "zarf-package-"+ns, meta.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{state.DataKey, state.OwnKey} {
		text := string(record.Data[key])
		for _, secret := range []string{inVariable, inValue, inOverride} {
			if !strings.Contains(text, secret) {
				t.Errorf("%s is not in key %q, so that it cannot be used again", secret, key)
			}
		}
		for _, secret := range []string{inPassword, inQuery} {
			if strings.Contains(text, secret) {
				t.Errorf("%s is in key %q", secret, key)
			}
		}
	}
}
