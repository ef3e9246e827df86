package airgap_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/internal/testregistry"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/state"
)

// TestPruneUnreadable: nobody knows what a package needs whose record cannot be read. The rest of a
// prune goes on without images.
func TestPruneUnreadable(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSite(t)
	s.init(r.Address(), "u", "p")
	s.mustDeploy(images(t, "shop", "1.0.0", "web x:1", "db db:1"))
	secrets := s.Client().CoreV1().Secrets(state.Namespace)
	_, err := secrets.Create(t.Context(), &core.Secret{
		ObjectMeta: meta.ObjectMeta{Name: "zarf-package-broken", Labels: map[string]string{state.PackageLabel: "broken"}},
		Data:       map[string][]byte{state.DataKey: []byte("{no json")},
	}, meta.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := secrets.Delete(context.WithoutCancel(t.Context()), "zarf-package-broken", meta.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	before := s.own("shop")
	v2 := images(t, "shop", "2.0.0", "web x:2")
	for name, try := range map[string]func() (host.Result, error){
		"deploy": func() (host.Result, error) { return s.deploy(v2, prune(plan.ScopeClusterResources, plan.ScopeImages)) },
		"remove": func() (host.Result, error) { return s.removeWith("shop") },
	} {
		_, err := try()
		var refused *host.PreflightError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), `"zarf-package-broken"`) {
			t.Errorf("%s: %v", name, err)
		}
		hinted(t, err, "leave images out of --prune")
	}
	if diff := cmp.Diff(before, s.own("shop")); diff != "" || named(t, r) != "db:1 x:1" {
		t.Errorf("something was changed: %s", diff)
	}
	s.mustDeploy(v2, prune(plan.ScopeClusterResources))
	if got := named(t, r); got != "db:1 x:1 x:2" || len(s.record("shop")["deployedComponents"].([]any)) != 1 {
		t.Errorf("without images: the registry has %s, the record %v", got, s.record("shop")["deployedComponents"])
	}
}

// TestPruneRights: who may not read the other packages' records prunes no images, and everything else.
func TestPruneRights(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSite(t)
	s.init(r.Address(), "u", "p")
	s.mustDeploy(images(t, "shop", "1.0.0", "web x:1"))
	const user = "narrow"
	s.kubeconfig = s.User(t, user)
	everything := []string{"*"}
	s.Allow(t, user, "shop", rbac.PolicyRule{Verbs: everything, APIGroups: everything, Resources: everything})
	s.Allow(t, user, state.Namespace,
		rbac.PolicyRule{Verbs: []string{"get", "create", "update", "patch", "delete"}, APIGroups: everything, Resources: []string{"secrets", "leases"}},
		rbac.PolicyRule{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"configmaps"}}) // the policies of the cluster
	s.Allow(t, user, "", rbac.PolicyRule{Verbs: []string{"get", "list"}, APIGroups: []string{""}, Resources: []string{"namespaces"}})
	v2 := images(t, "shop", "2.0.0", "web x:2")
	for name, try := range map[string]func() (host.Result, error){
		"deploy": func() (host.Result, error) { return s.deploy(v2, pruneImages) },
		"remove": func() (host.Result, error) { return s.removeWith("shop") },
	} {
		_, err := try()
		var refused *host.PreflightError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), "cannot list") || !strings.Contains(err.Error(), "secrets") ||
			!strings.Contains(err.Error(), `in the namespace "zarf"`) {
			t.Errorf("%s: %v", name, err)
		}
		hinted(t, err, "leave images out of --prune")
	}
	if got := named(t, r); got != "x:1" {
		t.Errorf("something was changed: the registry has %s", got)
	}
	s.mustDeploy(v2)
	if got := named(t, r); got != "x:1 x:2" {
		t.Errorf("without images: the registry has %s", got)
	}
}

// TestPrunePods: what a pod runs that no record knows of stays, and is said; once it is gone the next
// prune takes it.
func TestPrunePods(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSite(t)
	s.init(r.Address(), "u", "p")
	s.mustDeploy(images(t, "shop", "1.0.0", "web x:1"))
	var tag string
	for name := range r.Tags(t) {
		if strings.Contains(name, "-zarf-") {
			tag = name
		}
	}
	ns := s.Namespace(t)
	pods := s.Client().CoreV1().Pods(ns)
	_, err := pods.Create(t.Context(), &core.Pod{
		ObjectMeta: meta.ObjectMeta{Name: "by-hand"},
		Spec:       core.PodSpec{Containers: []core.Container{{Name: "c", Image: r.Address() + "/" + tag}}},
	}, meta.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	v2 := images(t, "shop", "2.0.0", "web x:2")
	result := s.mustDeploy(v2, pruneImages)
	if r.Digest(t, "x", strings.TrimPrefix(tag, "x:")) == "" {
		t.Error("an image that a pod runs went")
	}
	if why := kept(result.Plan)[r.Address()+"/"+tag]; why != fmt.Sprintf("pod: a pod in namespace %q runs it", ns) {
		t.Errorf("it is kept by %q", why)
	}
	zero := int64(0)
	if err := pods.Delete(t.Context(), "by-hand", meta.DeleteOptions{GracePeriodSeconds: &zero}); err != nil {
		t.Fatal(err)
	}
	s.mustDeploy(v2, pruneImages)
	if got := named(t, r); got != "x:2" {
		t.Errorf("after the pod went the registry has %s", got)
	}
}

// TestPruneHooks: pre-prune is asked about images, on deploy and remove, and keeps them.
func TestPruneHooks(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSite(t)
	s.init(r.Address(), "u", "p")
	s.mustDeploy(images(t, "shop", "1.0.0", "web x:1 y:1"))
	guard := &keeper{image: r.Address() + "/x:1"}
	plugins := func(o *host.DeployOptions) { o.Plugins = []host.Plugin{guard} }
	result := s.mustDeploy(images(t, "shop", "2.0.0", "web z:1"), pruneImages, plugins)
	if r.Digest(t, "x", "1") == "" || r.Digest(t, "y", "1") != "" {
		t.Errorf("the registry has %v", r.Tags(t))
	}
	if why := kept(result.Plan)[guard.image]; why != `plugin "keeper": people still pull it` {
		t.Errorf("it is kept by %q", why)
	}
	if len(guard.asked) != 4 {
		t.Errorf("it was asked about %v", guard.asked)
	}
	guard.asked = nil
	if _, err := s.removeWith("shop", func(o *host.RemoveOptions) { o.Plugins = []host.Plugin{guard} }); err != nil {
		t.Fatal(err)
	}
	if r.Digest(t, "x", "1") == "" || r.Digest(t, "z", "1") != "" || len(guard.asked) == 0 || s.recorded("shop") {
		t.Errorf("after the removal, asked about %v, the registry has %v", guard.asked, r.Tags(t))
	}
}

// keeper keeps one image.
type keeper struct {
	image string
	asked []string // about which references
}

func (k *keeper) Name() string { return "keeper" }

func (k *keeper) Info() plan.Plugin { return plan.Plugin{Name: "keeper", Digest: "none"} }

func (k *keeper) Hooks() []hook.Name { return []hook.Name{hook.PrePrune} }

func (k *keeper) Ask(_ context.Context, r hook.Request) (hook.Response, error) {
	var p struct {
		Prune struct {
			Images []struct{ Reference string }
		}
	}
	if err := json.Unmarshal(r.Plan, &p); err != nil {
		return hook.Response{}, err
	}
	response := hook.Response{APIVersion: hook.APIVersion, Kind: hook.ResponseKind, ID: r.ID, Verdict: hook.Allow}
	for _, i := range p.Prune.Images {
		k.asked = append(k.asked, i.Reference)
		if i.Reference == k.image {
			response.Keep = []hook.Keep{{Image: i.Reference, Reason: "people still pull it"}}
		}
	}
	return response, nil
}
