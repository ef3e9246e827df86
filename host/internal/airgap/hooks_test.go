package airgap_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/state"
)

// answers is a plugin in Go that answers each hook as it is told, and allows what it is not told.
type answers struct {
	deny  hook.Name
	keep  []hook.Keep
	asked []hook.Request
}

func (a *answers) Name() string      { return "answers" }
func (a *answers) Info() plan.Plugin { return plan.Plugin{Name: "answers", Digest: "none"} }

func (a *answers) Hooks() []hook.Name {
	return []hook.Name{hook.PreDeploy, hook.PostDeploy, hook.PreRemove, hook.PostRemove}
}

func (a *answers) Ask(_ context.Context, r hook.Request) (hook.Response, error) {
	a.asked = append(a.asked, r)
	response := hook.Response{APIVersion: hook.APIVersion, Kind: hook.ResponseKind, ID: r.ID, Verdict: hook.Allow}
	if r.Hook == a.deny {
		response.Verdict = hook.Deny
		response.Findings = []hook.Finding{{Severity: hook.SeverityDeny, Message: "not today"}}
	}
	if r.Hook == hook.PreRemove {
		response.Keep = a.keep
	}
	return response, nil
}

func (a *answers) hooks() []hook.Name {
	var out []hook.Name
	for _, r := range a.asked {
		out = append(out, r.Hook)
	}
	return out
}

// The hooks after a deployment and around a removal, through a whole life of a package.
func TestHooksAroundALife(t *testing.T) {
	s := newSite(t)
	source := pack(t, `
kind: ZarfPackageConfig
metadata: {name: hooked, version: 0.1.0, yolo: true}
components:
  - name: web
    required: true
    manifests: [{name: m, namespace: hooked, files: [cm.yaml]}]
`, map[string]string{"cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: hooked}\n"})

	denies := &answers{deny: hook.PostDeploy}
	result, err := s.deploy(source, func(o *host.DeployOptions) { o.Plugins = []host.Plugin{denies} })
	var denied *hook.DeniedError
	if !errors.As(err, &denied) || result.Applied == nil || result.Applied.Outcome != state.Failed {
		t.Fatalf("post-deploy denies: %v, %+v", err, result.Applied)
	}
	live := func() error {
		_, err := s.Client().CoreV1().ConfigMaps("hooked").Get(t.Context(), "c", meta.GetOptions{})
		return err
	}
	if err := live(); err != nil {
		t.Errorf("a deny after a deployment undoes nothing: %v", err)
	}
	if last := denies.asked[len(denies.asked)-1]; last.Result == nil || last.Result.Outcome != string(state.Succeeded) || len(last.Result.Releases) != 1 {
		t.Errorf("post-deploy was told %+v", last.Result)
	}

	remove := func(p *answers) error {
		o := s.options()
		o.Plugins = []host.Plugin{p}
		_, err := host.Remove(t.Context(), host.RemoveOptions{Common: o, Target: "hooked"})
		return err
	}
	if err := remove(&answers{deny: hook.PreRemove}); !errors.As(err, &denied) {
		t.Errorf("pre-remove denies: %v", err)
	}
	if err := remove(&answers{keep: []hook.Keep{{Component: "web", Reason: "needed"}}}); err != nil {
		t.Errorf("pre-remove keeps: %v", err)
	}
	if err := live(); err != nil {
		t.Errorf("what was denied or kept is there: %v", err)
	}
	if s.record("hooked") == nil {
		t.Error("a kept component stays on record")
	}
	if err := remove(&answers{keep: []hook.Keep{{Component: "wep", Reason: "misspelt"}}}); !errors.As(err, &denied) {
		t.Errorf("keeping what is not there must not let anything go: %v", err)
	}
	last := &answers{}
	if err := remove(last); err != nil {
		t.Fatal(err)
	}
	if err := live(); !apierrors.IsNotFound(err) {
		t.Errorf("after the removal: %v", err)
	}
	if want := []hook.Name{hook.PreRemove, hook.PostRemove}; !slices.Equal(last.hooks(), want) {
		t.Errorf("asked at %v, want %v", last.hooks(), want)
	}
}
