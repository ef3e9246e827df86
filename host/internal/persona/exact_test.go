package persona_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"

	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/internal/packagetest"
	"github.com/zarf-host/zarf-host/host/internal/testcluster"
	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/state"
)

// TestPermissionsAreExact takes a package through its life as a service account that has exactly the
// permissions which each plan lists. That must be enough, and without any one of them nothing may be
// changed.
func TestPermissionsAreExact(t *testing.T) {
	c := testcluster.Private(t)
	initialise(t, c)
	makeNamespaces(t, c, "shop", "shop-jobs")
	dir := t.TempDir()
	v1 := packagetest.Build(t, dir, shopV1, shopFiles("1.0.0"))
	v2 := packagetest.Build(t, dir, shopV2, shopFiles("2.0.0"))
	who := newAccount(t, c, "exact")
	admin := host.Common{Cluster: cluster.Options{Kubeconfig: c.Kubeconfig()}}

	deploy := func(source string, scopes plan.Scopes) operation {
		return func(ctx context.Context, common host.Common) (host.Result, error) {
			return host.Deploy(ctx, host.DeployOptions{Common: common, Source: source, Prune: scopes, AllowDataLoss: true})
		}
	}
	remove := func(ctx context.Context, common host.Common) (host.Result, error) {
		return host.Remove(ctx, host.RemoveOptions{Common: common, Target: "shop"})
	}
	for _, step := range []struct {
		name string
		do   operation
	}{
		{"install", deploy(v1, nil)},
		{"again", deploy(v1, nil)},
		{"upgrade and prune", deploy(v2, plan.Scopes{plan.ScopeClusterResources})},
		{"remove", remove},
	} {
		if !t.Run(step.name, func(t *testing.T) { step.do.exactly(t, who, admin) }) {
			return // the next one would start from something else
		}
	}
}

// operation is a deployment or a removal.
type operation func(context.Context, host.Common) (host.Result, error)

func (do operation) exactly(t *testing.T, who *account, admin host.Common) {
	t.Helper()
	admin.DryRun = true
	planned, err := do(t.Context(), admin)
	if err != nil {
		t.Fatalf("planning: %v", err)
	}
	needed := planned.Plan.Permissions
	t.Logf("%d permissions:\n%s", len(needed), strings.Join(object.DescribePermissions(needed), "\n"))
	before := snapshot(t, who.c)
	for i, without := range needed {
		rest := slices.Delete(slices.Clone(needed), i, i+1)
		who.grant(t, rest)
		who.await(t, rest, needed[i:i+1])
		_, err := do(t.Context(), who.common())
		var preflight *host.PreflightError
		var access *host.AccessError
		if !errors.As(err, &preflight) || !errors.As(err, &access) {
			t.Errorf("without the right to %s: got %v, want a failed preflight", without, err)
			continue
		}
		if !slices.ContainsFunc(access.Missing, func(p object.Permission) bool { return p.String() == without.String() }) {
			t.Errorf("without the right to %s, the preflight misses %v", without, access.Missing)
		}
	}
	if diff := cmp.Diff(before, snapshot(t, who.c)); diff != "" {
		t.Errorf("a preflight that failed changed the cluster (-before +after):\n%s", diff)
	}
	who.grant(t, needed)
	who.await(t, needed, nil)
	done, err := do(t.Context(), who.common())
	if err != nil {
		t.Fatalf("with exactly the permissions of the plan: %v", err)
	}
	if diff := cmp.Diff(needed, done.Plan.Permissions); diff != "" {
		t.Errorf("the account's plan lists other permissions than the administrator's (-admin +account):\n%s", diff)
	}
}

// initialise makes the cluster one with a registry, whose pull secrets go into every namespace.
func initialise(t *testing.T, c *testcluster.Cluster) {
	t.Helper()
	_, err := host.Init(t.Context(), host.InitOptions{
		Cluster:  cluster.Options{Kubeconfig: c.Kubeconfig()},
		Registry: state.Registry{Address: "registry.example.test", PushUsername: "push", PushPassword: "secret"},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func makeNamespaces(t *testing.T, c *testcluster.Cluster, names ...string) {
	t.Helper()
	for _, name := range names {
		_, err := c.Client().CoreV1().Namespaces().Create(t.Context(), &core.Namespace{ObjectMeta: meta.ObjectMeta{Name: name}}, meta.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { discard(t, c, name) }) // the example's roles are for a namespace of the same name
	}
}

// discard deletes a namespace and waits until it is gone.
func discard(t *testing.T, c *testcluster.Cluster, name string) {
	t.Helper()
	namespaces := c.Client().CoreV1().Namespaces()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		if err := namespaces.Delete(ctx, name, meta.DeleteOptions{}); apierrors.IsNotFound(err) {
			return
		} else if ctx.Err() != nil {
			t.Errorf("namespace %s does not go: %v", name, err)
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// snapshot is what the cluster has, by name, with UID and version of each object: everything but what
// changes by itself and the roles that tests write.
func snapshot(t *testing.T, c *testcluster.Cluster) map[string]string {
	t.Helper()
	lists, err := c.Client().Discovery().ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	client, err := metadata.NewForConfig(c.REST())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, list := range lists {
		for _, r := range list.APIResources {
			if !slices.Contains(r.Verbs, "list") || slices.Contains([]string{"events", "nodes", "roles", "rolebindings", "clusterroles", "clusterrolebindings", "componentstatuses"}, r.Name) {
				continue
			}
			resource, err := groupVersion(list.GroupVersion, r.Name)
			if err != nil {
				t.Fatal(err)
			}
			objects, err := client.Resource(resource).List(t.Context(), meta.ListOptions{})
			if err != nil {
				t.Fatalf("listing %s: %v", r.Name, err)
			}
			for _, o := range objects.Items {
				if strings.HasPrefix(o.Namespace, "kube-") {
					continue // the control plane's own
				}
				out[r.Name+"/"+o.Namespace+"/"+o.Name] = string(o.UID) + "@" + o.ResourceVersion
			}
		}
	}
	if len(out) == 0 {
		t.Fatal("the snapshot is empty")
	}
	return maps.Clone(out)
}
