package persona_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/config"
	"github.com/zarf-host/zarf-host/host/internal/packagetest"
	"github.com/zarf-host/zarf-host/host/internal/testcluster"
	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/state"
)

// roles is where the roles are that people are told to use.
const roles = "../../../examples/02-roles/roles"

// TestRolesOfTheExample binds the example's roles as they are.
func TestRolesOfTheExample(t *testing.T) {
	c := testcluster.Private(t)
	initialise(t, c)
	for _, file := range []string{"accounts", "deploy", "administrator", "infrastructure", "application", "internal-registry"} {
		apply(t, c, filepath.Join(roles, file+".yaml"))
	}
	administrator, infrastructure, application := existing(t, c, "administrator"), existing(t, c, "infrastructure"), existing(t, c, "application")
	application.await(t, []object.Permission{
		{Verb: "get", Resource: "secrets", Namespace: "zarf", Names: []string{"zarf-state"}},
		{Verb: "create", Resource: "secrets", Namespace: "shop"},
	}, nil)

	t.Run("application", func(t *testing.T) { application.life(t, "shop", "shop", false) })
	t.Run("infrastructure", func(t *testing.T) { infrastructure.life(t, "platform", "logging", true) })
	t.Run("administrator", func(t *testing.T) { administrator.life(t, "anything", "anywhere", true) })

	dir := t.TempDir()
	small := func(name, namespace, manifest string) string {
		return packagetest.Build(t, dir, named(smallPackage, name, namespace), map[string]string{"objects.yaml": manifest})
	}
	shop := small("shop", "shop", configMap("settings", "1"))
	if _, err := application.deploy(t.Context(), shop, nil); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		who    *account
		source string
		do     func(context.Context) error
		want   []string // among what is lacking
	}{
		{name: "another package", who: application, source: small("other", "shop", configMap("other", "1")), want: []string{
			`get secrets in namespace "zarf"`, `update leases.coordination.k8s.io in namespace "zarf"`,
		}},
		{name: "another namespace", who: application, source: packagetest.Build(t, dir, named(smallPackage, "shop", "logging"),
			map[string]string{"objects.yaml": configMap("settings", "1")}), want: []string{
			`create configmaps in namespace "logging"`, `list secrets in namespace "logging"`,
		}},
		{name: "no namespace", who: infrastructure, source: small("rights", "logging",
			"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: rights}\nrules: []\n"), want: []string{
			`create clusterroles.rbac.authorization.k8s.io in the whole cluster`,
		}},
		{name: "a new namespace", who: infrastructure, source: small("fresh", "fresh", configMap("fresh", "1")), want: []string{
			`create namespaces in the whole cluster`, `create configmaps in namespace "fresh"`,
		}},
		{name: "images", who: application, want: []string{`list secrets in namespace "zarf"`, `list pods in the whole cluster`},
			do: func(ctx context.Context) error {
				_, err := application.deploy(ctx, shop, plan.Scopes{plan.ScopeImages})
				return err
			}},
		{name: "removing another's", who: infrastructure, want: []string{`list secrets in namespace "shop"`},
			do: func(ctx context.Context) error { return infrastructure.remove(ctx, "shop") }},
	} {
		t.Run("not/"+test.name, func(t *testing.T) {
			before := snapshot(t, c)
			var err error
			if test.do != nil {
				err = test.do(t.Context())
			} else {
				_, err = test.who.deploy(t.Context(), test.source, nil)
			}
			var preflight *host.PreflightError
			var access *host.AccessError
			if !errors.As(err, &preflight) || !errors.As(err, &access) {
				t.Fatalf("got %v, want a failed preflight", err)
			}
			for _, want := range test.want {
				if !slices.ContainsFunc(access.Missing, func(p object.Permission) bool { return p.String() == want }) {
					t.Errorf("%q is not among what is lacking: %v", want, access.Missing)
				}
			}
			if diff := cmp.Diff(before, snapshot(t, c)); diff != "" {
				t.Errorf("it changed the cluster (-before +after):\n%s", diff)
			}
		})
	}
}

const smallPackage = `kind: ZarfPackageConfig
metadata: {name: NAME, version: 1.0.0, architecture: amd64}
components:
  - name: one
    required: true
    manifests:
      - {name: objects, namespace: NAMESPACE, files: [objects.yaml]}
`

func named(text, name, namespace string) string {
	return strings.NewReplacer("NAMESPACE", namespace, "NAME", name).Replace(text)
}

// life deploys a package, upgrades it with a prune and removes it, in one namespace or as the package
// has them.
func (a *account) life(t *testing.T, name, namespace string, images bool) {
	t.Helper()
	dir := t.TempDir()
	rename := strings.NewReplacer("name: shop,", "name: "+name+",", "namespace: shop-jobs", "namespace: "+namespace, "namespace: shop", "namespace: "+namespace)
	v1 := packagetest.Build(t, dir, rename.Replace(shopV1), shopFiles("1.0.0"))
	v2 := packagetest.Build(t, dir, rename.Replace(shopV2), shopFiles("2.0.0"))
	scopes := plan.Scopes{plan.ScopeClusterResources}
	if images {
		scopes = append(scopes, plan.ScopeImages)
	}
	if _, err := a.deploy(t.Context(), v1, nil); err != nil {
		t.Fatalf("deploying: %v", err)
	}
	done, err := a.deploy(t.Context(), v2, scopes)
	if err != nil {
		t.Fatalf("upgrading and pruning: %v", err)
	}
	if done.Plan.Prune.Empty() {
		t.Error("the upgrade prunes nothing")
	}
	if err := a.remove(t.Context(), name); err != nil {
		t.Fatalf("removing: %v", err)
	}
}

func (a *account) deploy(ctx context.Context, source string, scopes plan.Scopes) (host.Result, error) {
	return host.Deploy(ctx, host.DeployOptions{Common: a.common(), Source: source, Prune: scopes})
}

func (a *account) remove(ctx context.Context, name string) error {
	_, err := host.Remove(ctx, host.RemoveOptions{Common: a.common(), Target: name})
	return err
}

// TestNamespaceThatMayNotBeRead: who may not read a namespace, nor list any, deploys into it all the
// same, and is told before anything changes where it does not exist.
func TestNamespaceThatMayNotBeRead(t *testing.T) {
	c := testcluster.Private(t)
	initialise(t, c)
	makeNamespaces(t, c, "dark")
	who := newAccount(t, c, "blind")
	source := packagetest.Build(t, t.TempDir(), named(smallPackage, "dark", "dark"), map[string]string{"objects.yaml": configMap("one", "1")})
	admin := account{c: c, name: "admin", kubeconfig: c.Kubeconfig()}
	common := admin.common()
	common.DryRun = true
	planned, err := host.Deploy(t.Context(), host.DeployOptions{Common: common, Source: source})
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, err := host.Deploy(t.Context(), host.DeployOptions{Common: common, Source: source, Layers: inNamespace("nowhere")})
	if err != nil {
		t.Fatal(err)
	}
	// Rights in a namespace that does not exist are rights everywhere, but for making the namespace.
	needed := slices.DeleteFunc(slices.Concat(planned.Plan.Permissions, elsewhere.Plan.Permissions),
		func(p object.Permission) bool { return p.Resource == "namespaces" })
	who.grant(t, needed)
	who.await(t, needed, nil)
	if _, err := who.deploy(t.Context(), source, nil); err != nil {
		t.Fatalf("deploying into a namespace that may not be read: %v", err)
	}
	_, err = host.Deploy(t.Context(), host.DeployOptions{Common: who.common(), Source: source, Layers: inNamespace("nowhere")})
	var access *host.AccessError
	if !errors.As(err, &access) || len(access.Missing) != 1 || access.Missing[0].String() != "create namespaces in the whole cluster" {
		t.Errorf("deploying into a namespace that does not exist: got %v, want that namespaces may not be created", err)
	}
}

func inNamespace(name string) []config.Layer {
	return []config.Layer{{Origin: config.OriginFlag, Config: state.DeployConfig{NamespaceOverride: name}}}
}

// apply creates what a file of manifests holds.
func apply(t *testing.T, c *testcluster.Cluster, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	groups, err := restmapper.GetAPIGroupResources(c.Client().Discovery())
	if err != nil {
		t.Fatal(err)
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	client, err := dynamic.NewForConfig(c.REST())
	if err != nil {
		t.Fatal(err)
	}
	for docs := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096); ; {
		obj := &unstructured.Unstructured{}
		if err := docs.Decode(&obj.Object); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		mapping, err := mapper.RESTMapping(obj.GroupVersionKind().GroupKind())
		if err != nil {
			t.Fatal(err)
		}
		var to dynamic.ResourceInterface = client.Resource(mapping.Resource)
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			to = client.Resource(mapping.Resource).Namespace(obj.GetNamespace())
		}
		if _, err := to.Create(t.Context(), obj, metav1.CreateOptions{}); err != nil {
			t.Fatalf("creating what %s holds: %v", file, err)
		}
	}
}
