package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/object"
)

// asked lets the facts tell what permissions depend on.
func (w *world) asked() *world {
	w.f.Access = &Access{Kinds: map[object.Kind]object.Resource{
		{Kind: "ConfigMap"}:                 {Name: "configmaps", Namespaced: true},
		{Kind: "Job"}:                       {Name: "jobs", Namespaced: true},
		{Kind: "Namespace"}:                 {Name: "namespaces"},
		{Kind: "PersistentVolumeClaim"}:     {Name: "persistentvolumeclaims", Namespaced: true},
		{Group: "apps", Kind: "Deployment"}: {Group: "apps", Name: "deployments", Namespaced: true},
		{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: {
			Group: "apiextensions.k8s.io", Name: "customresourcedefinitions",
		},
	}}
	return w
}

// where keeps the lines about the package's namespace and the whole cluster, or those about zarf.
func where(p Plan, zarf bool) []string {
	return slices.DeleteFunc(object.DescribePermissions(p.Permissions), func(line string) bool {
		return strings.HasSuffix(line, `in namespace "zarf"`) != zarf
	})
}

func TestPermissionsOfADeployment(t *testing.T) {
	const releaseRights = `create, get, list, update secrets in namespace "ns"`
	for _, test := range []struct {
		name  string
		world *world
		want  []string
	}{
		{
			name:  "what is added is created",
			world: newWorld("shop").wants("web", "web", "ConfigMap/a", "Deployment/b").asked(),
			want: []string{
				`create configmaps in namespace "ns"`, `get configmaps "a" in namespace "ns"`, releaseRights,
				`create deployments.apps in namespace "ns"`, `get deployments.apps "b" in namespace "ns"`,
			},
		}, {
			name:  "what is there is patched, what an upgrade adds can be taken back",
			world: newWorld("shop").deployed("web", "web", "ConfigMap/a").wants("web", "web", "ConfigMap/a", "Deployment/b").asked(),
			want: []string{
				`get, patch configmaps "a" in namespace "ns"`, releaseRights,
				`create deployments.apps in namespace "ns"`, `delete, get deployments.apps "b" in namespace "ns"`,
			},
		}, {
			name:  "what an upgrade drops is deleted and could come back",
			world: newWorld("shop").deployed("web", "web", "ConfigMap/a", "ConfigMap/b").wants("web", "web", "ConfigMap/a").asked(),
			want: []string{
				`create configmaps in namespace "ns"`, `delete configmaps "b" in namespace "ns"`,
				`get configmaps "a", "b" in namespace "ns"`, `patch configmaps "a" in namespace "ns"`, releaseRights,
			},
		}, {
			name: "a pruned release deletes, and lets go of what is kept",
			world: newWorld("shop").deployed("web", "web", "ConfigMap/a").deployed("old", "old", "ConfigMap/b", "PersistentVolumeClaim/c").
				wants("web", "web", "ConfigMap/a").prune().asked(),
			want: []string{
				`delete configmaps "b" in namespace "ns"`, `get configmaps "a", "b" in namespace "ns"`,
				`patch configmaps "a" in namespace "ns"`, `get, patch persistentvolumeclaims "c" in namespace "ns"`,
				`create, delete, get, list, update secrets in namespace "ns"`,
			},
		}, {
			name: "an orphan that is not pruned is only looked at",
			world: newWorld("shop").deployed("web", "web", "ConfigMap/a").deployed("old", "old", "ConfigMap/b").
				wants("web", "web", "ConfigMap/a").asked(),
			want: []string{
				`get configmaps "a", "b" in namespace "ns"`, `patch configmaps "a" in namespace "ns"`, releaseRights,
			},
		}, {
			name: "an object that moves is tried to be created",
			world: newWorld("shop").deployed("web", "web", "ConfigMap/a").deployed("old", "old", "ConfigMap/b").
				wants("web", "web", "ConfigMap/a", "ConfigMap/b").prune().asked(),
			want: []string{
				`create configmaps in namespace "ns"`, `get, patch configmaps "a", "b" in namespace "ns"`,
				`create, delete, get, list, update secrets in namespace "ns"`,
			},
		}, {
			name: "a full history loses its oldest revision",
			world: func() *world {
				w := newWorld("shop").deployed("web", "web", "ConfigMap/a").wants("web", "web", "ConfigMap/a").asked()
				has := w.f.Releases[rel("web")]
				has.Revisions = historyNearlyFull
				w.f.Releases[rel("web")] = has
				return w
			}(),
			want: []string{`get, patch configmaps "a" in namespace "ns"`, `create, delete, get, list, update secrets in namespace "ns"`},
		}, {
			name: "an unchanged release that is skipped is only read",
			world: func() *world {
				w := newWorld("shop").deployed("web", "web", "ConfigMap/a").wants("web", "web", "ConfigMap/a").asked()
				w.f.Wanted[0].Unchanged, w.f.Access.SkipUnchanged = true, true
				return w
			}(),
			want: []string{`get configmaps "a" in namespace "ns"`, `list secrets in namespace "ns"`},
		}, {
			name: "namespaces that are absent are created, with the secrets that pods pull with",
			world: func() *world {
				w := newWorld("shop").wants("web", "web", "ConfigMap/a").asked()
				w.f.Wanted[0].Namespaces, w.f.Wanted[0].Secrets = []string{"ns"}, []string{"private-registry"}
				w.f.Access.Absent = []string{"ns"}
				return w
			}(),
			want: []string{
				`create namespaces in the whole cluster`,
				`create configmaps in namespace "ns"`, `get configmaps "a" in namespace "ns"`, releaseRights,
				`patch secrets "private-registry" in namespace "ns"`,
			},
		}, {
			name: "a namespace that is taken over is patched",
			world: func() *world {
				w := newWorld("shop").wants("web", "web").asked()
				w.f.Wanted[0].Namespaces, w.f.TakeOwnership = []string{"ns", "default"}, true
				return w
			}(),
			want: []string{`patch namespaces "ns" in namespace "ns"`, releaseRights},
		}, {
			name: "hooks come and go",
			world: func() *world {
				w := newWorld("shop").wants("web", "web").asked()
				w.f.Wanted[0].Hooks = []HookObject{{Ref: ref("Job/migrate"), Replaces: true}}
				return w
			}(),
			want: []string{`create jobs in namespace "ns"`, `delete, get jobs "migrate" in namespace "ns"`, releaseRights},
		}, {
			name: "the objects of a definition that lives are looked for everywhere",
			world: newWorld("shop").deployed("web", "web", "CustomResourceDefinition/things.example.com").
				wants("web", "web", "CustomResourceDefinition/things.example.com").asked(),
			want: []string{
				`get, patch customresourcedefinitions.apiextensions.k8s.io "things.example.com" in the whole cluster`,
				`list things.example.com in the whole cluster`, releaseRights,
			},
		}, {
			name:  "what no one serves cannot be told",
			world: newWorld("shop").wants("web", "web", "Thing/a").asked(),
			want:  []string{releaseRights},
		}, {
			name: "an interrupted release takes everything",
			world: func() *world {
				w := newWorld("shop").deployed("web", "web", "ConfigMap/a").wants("web", "web", "ConfigMap/a").asked()
				w.f.Recovery = []Recovery{{Release: rel("web"), Status: "pending-upgrade", Revision: 2}}
				return w
			}(),
			want: []string{`create configmaps in namespace "ns"`, `delete, get, patch configmaps "a" in namespace "ns"`, releaseRights},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			want := slices.Sorted(slices.Values(test.want))
			got := slices.Sorted(slices.Values(where(ForDeploy(test.world.f), false)))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("permissions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPermissionsForTheRecord(t *testing.T) {
	const lease = `delete, get, update leases.coordination.k8s.io "zarf-package-shop" in namespace "zarf"`
	fresh, known := newWorld("shop").wants("web", "web").asked(), newWorld("shop").deployed("web", "web").wants("web", "web").asked()
	connected := newWorld("shop").wants("web", "web").asked()
	connected.f.Package.Connected = true
	all, some := newWorld("shop").deployed("web", "web").asked(), newWorld("shop").deployed("web", "web").deployed("db", "db").asked()
	all.f.Selected, some.f.Selected = []string{"web"}, []string{"web"}
	created := `create leases.coordination.k8s.io in namespace "zarf"`
	for _, test := range []struct {
		name string
		plan Plan
		want []string
	}{
		{"a first deployment", ForDeploy(fresh.f), []string{
			`create secrets in namespace "zarf"`, `get secrets "zarf-package-shop", "zarf-state" in namespace "zarf"`,
			`patch secrets "zarf-package-shop" in namespace "zarf"`, created, lease,
		}},
		{"a later one", ForDeploy(known.f), []string{
			`get secrets "zarf-package-shop", "zarf-state" in namespace "zarf"`, `patch secrets "zarf-package-shop" in namespace "zarf"`, created, lease,
		}},
		{"a connected one knows no registry", ForDeploy(connected.f), []string{
			`create secrets in namespace "zarf"`, `get, patch secrets "zarf-package-shop" in namespace "zarf"`, created, lease,
		}},
		{"a removal", ForRemove(all.f), []string{`delete, get, patch secrets "zarf-package-shop" in namespace "zarf"`, created, lease}},
		{"a removal of some components", ForRemove(some.f), []string{`get, patch secrets "zarf-package-shop" in namespace "zarf"`, created, lease}},
	} {
		t.Run(test.name, func(t *testing.T) {
			want := slices.Sorted(slices.Values(test.want))
			if diff := cmp.Diff(want, slices.Sorted(slices.Values(where(test.plan, true)))); diff != "" {
				t.Errorf("permissions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPermissionsFollowWhatIsKept(t *testing.T) {
	w := newWorld("shop").deployed("web", "web", "ConfigMap/a").deployed("old", "old", "ConfigMap/b").
		wants("web", "web", "ConfigMap/a").prune().asked()
	p := ForDeploy(w.f)
	b := ref("ConfigMap/b")
	kept, _, err := p.WithKept(Keep{Object: &b, By: `plugin "guard"`})
	if err != nil {
		t.Fatal(err)
	}
	deletes := func(p Plan) bool {
		return slices.ContainsFunc(p.Permissions, func(n object.Permission) bool { return n.Verb == "delete" && n.Resource == "configmaps" })
	}
	if !deletes(p) || deletes(kept) {
		t.Errorf("configmaps are deleted before: %t, after it is kept: %t; want true, false", deletes(p), deletes(kept))
	}
}

func TestPermissionsWithoutACluster(t *testing.T) {
	if got := ForDeploy(newWorld("shop").wants("web", "").f).Permissions; got != nil {
		t.Errorf("a package without a cluster needs %v", got)
	}
}
