package chart

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/zarf-host/zarf-host/host/internal/faultproxy"
	"github.com/zarf-host/zarf-host/host/internal/testcluster"
	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/spec"
)

func TestUninstallKeeps(t *testing.T) {
	f := newFixture(t)
	w := f.wanted("r", configMap("a"), configMap("asked"), configMap("other"), claim1("claim"))
	w.NoWait = true
	f.apply(w, ApplyOptions{})
	claim := object.Ref{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: f.ns, Name: "claim"}
	want := sortedRefs([]object.Ref{f.ref("asked"), f.ref("other"), claim})
	before := false
	result, err := f.Uninstall(t.Context(), w.Release, UninstallOptions{
		Keep:      []object.Ref{f.ref("asked")},
		KeepOther: func(l object.Live) bool { return l.Name == "other" },
		BeforeDelete: func(kept []object.Instance) error {
			before = true
			f.wantLive("a")
			if !cmp.Equal(instanceRefs(kept), want) || kept[0].UID == "" {
				t.Errorf("recorded %v", kept)
			}
			return nil
		},
	})
	if err != nil || !before {
		t.Fatalf("got %v, called %t", err, before)
	}
	if !cmp.Equal(result.Kept, want) || !cmp.Equal(result.Deleted, []object.Ref{f.ref("a")}) {
		t.Errorf("got %+v", result)
	}
	f.wantGone("a")
	for _, name := range []string{"asked", "other"} {
		cm := f.configMap(name)
		if cm == nil {
			t.Fatalf("%s is gone", name)
		}
		if len(cm.Annotations) > 0 || len(cm.Labels) > 0 {
			t.Errorf("%s still has %v %v", name, cm.Labels, cm.Annotations)
		}
	}
	f.wantStatuses("r", "")
	// A release that comes again has to take over what it left.
	_, err = f.Apply(t.Context(), f.wanted("r", configMap("asked")), ApplyOptions{})
	var conflict *ConflictError
	if !errors.As(err, &conflict) {
		t.Errorf("got %v", err)
	}
}

func TestUninstallStopsBeforeAnythingIsWritten(t *testing.T) {
	f := newFixture(t)
	f.apply(f.wanted("r", configMap("a")), ApplyOptions{})
	refused := errors.New("the record cannot be written")
	_, err := f.Uninstall(t.Context(), object.Release{Namespace: f.ns, Name: "r"}, UninstallOptions{
		BeforeDelete: func([]object.Instance) error { return refused },
	})
	if !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
	f.wantStatuses("r", "1 deployed")
	f.wantLive("a")
}

// C12: what could not be deleted is told, and the release stays to be uninstalled again.
func TestC12FailedDeleteStaysRecorded(t *testing.T) {
	cluster := testcluster.Shared(t)
	proxy, kubeconfig := cluster.Proxy(t)
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	f := fixtureOn(t, cluster, cluster.Namespace(t), func(o *Options) { o.Config = config })
	w := f.wanted("r", configMap("a"), configMap("b"), configMap("keep"))
	f.apply(w, ApplyOptions{})
	forbidden := func(name string) {
		proxy.Inject(faultproxy.Rule{
			Match: func(r faultproxy.Request) bool {
				return r.Method == "DELETE" && strings.HasSuffix(r.Path, "/configmaps/"+name)
			},
			Fault: faultproxy.Status(403),
		})
	}
	forbidden("b")
	o := UninstallOptions{Keep: []object.Ref{f.ref("keep")}}
	result, err := f.Uninstall(t.Context(), w.Release, o)
	var failed *DeleteError
	if !errors.As(err, &failed) || len(result.FailedDeletes) != 1 || result.FailedDeletes[0].Ref != f.ref("b") {
		t.Fatalf("got %+v, %v", result, err)
	}
	f.wantStatuses("r", "1 uninstalling")
	f.wantGone("a")
	f.wantLive("b", "keep")
	if _, err = f.Apply(t.Context(), w, ApplyOptions{}); !errors.As(err, new(*PendingError)) {
		t.Errorf("it can be deployed over: %v", err)
	}
	if result, err = f.Uninstall(t.Context(), w.Release, o); err != nil || !slices.Contains(result.Kept, f.ref("keep")) {
		t.Errorf("got %+v, %v", result, err)
	}
	f.wantGone("b")
	f.wantLive("keep")
	f.wantStatuses("r", "")

	// An upgrade does not fail of it, and the next one, or the uninstall, tries again.
	for _, next := range []func(){
		func() { f.apply(f.wanted("u", configMap("left")), ApplyOptions{}) },
		func() {
			if _, err := f.Uninstall(t.Context(), object.Release{Namespace: f.ns, Name: "u"}, UninstallOptions{}); err != nil {
				t.Error(err)
			}
		},
	} {
		f.apply(f.wanted("u", configMap("left"), configMap("right")), ApplyOptions{})
		forbidden("right")
		up := f.apply(f.wanted("u", configMap("left")), ApplyOptions{})
		if len(up.FailedDeletes) != 1 || up.FailedDeletes[0].Ref != f.ref("right") {
			t.Errorf("got %+v", up)
		}
		f.wantLive("right")
		if got := names(f.history("u").ObjectsSinceDeployed()); got != "left,right" {
			t.Errorf("objects are %q", got)
		}
		next()
		f.wantGone("right")
	}
}

// B8: what blocks a deletion ends in time, and a repeat goes on.
func TestB8UninstallIsBoundedAndContinues(t *testing.T) {
	f := newFixture(t)
	w := f.wanted("r", configMap("a"), strings.Replace(configMap("stuck"), "{name: stuck}", "{name: stuck, finalizers: [example.dev/never]}", 1))
	f.apply(w, ApplyOptions{})
	_, err := f.Uninstall(t.Context(), w.Release, UninstallOptions{Timeout: time.Second})
	if err == nil || !strings.Contains(err.Error(), "stuck") {
		t.Fatalf("got %v", err)
	}
	f.wantStatuses("r", "1 uninstalling")
	if _, err := f.k.CoreV1().ConfigMaps(f.ns).Patch(t.Context(), "stuck", "application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Uninstall(t.Context(), w.Release, UninstallOptions{}); err != nil {
		t.Error(err)
	}
	f.wantStatuses("r", "")
	f.wantGone("stuck")
}

func TestUninstallTakesWhatFailedRevisionsLeft(t *testing.T) {
	f := newFixture(t)
	f.apply(f.wanted("r", configMap("a")), ApplyOptions{})
	f.apply(f.wanted("r", configMap("a"), configMap("b")), ApplyOptions{})
	f.apply(f.wanted("r", configMap("a"), configMap("b"), configMap("c")), ApplyOptions{})
	f.setStatus("r", 1, "deployed")
	f.setStatus("r", 2, "failed")
	f.setStatus("r", 3, "pending-upgrade")
	if _, err := f.Uninstall(t.Context(), object.Release{Namespace: f.ns, Name: "r"}, UninstallOptions{}); err != nil {
		t.Fatal(err)
	}
	f.wantGone("a", "b", "c")
	f.wantStatuses("r", "")
}

func TestCancelledUninstallContinues(t *testing.T) {
	f := newFixture(t)
	w := f.wanted("r", configMap("a"), strings.Replace(configMap("slow"), "{name: slow}", "{name: slow, finalizers: [example.dev/slow]}", 1))
	f.apply(w, ApplyOptions{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := f.Uninstall(ctx, w.Release, UninstallOptions{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	f.wantStatuses("r", "1 uninstalling")
	h, recovery := f.history("r").AfterRecovery(1)
	if h.Exists() || recovery.Action != RecoveryUninstall {
		t.Errorf("got %+v", recovery)
	}
	if _, err := f.k.CoreV1().ConfigMaps(f.ns).Patch(t.Context(), "slow", "application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Recover(t.Context(), w.Release, RecoverOptions{Recorded: 1}); err != nil {
		t.Fatal(err)
	}
	f.wantStatuses("r", "1 uninstalling") // what goes with it is not for a recovery to decide
	if _, err := f.Uninstall(t.Context(), w.Release, UninstallOptions{}); err != nil {
		t.Fatal(err)
	}
	f.wantStatuses("r", "")
	f.wantGone("a", "slow")
}

func TestH1PendingInstallIsInstalledAnew(t *testing.T) {
	f := newFixture(t)
	hook := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hook, annotations: {helm.sh/hook: pre-install}}\n"
	w := f.wanted("r", configMap("a"), hook)
	f.apply(w, ApplyOptions{})
	uid, hookUID := f.configMap("a").UID, f.configMap("hook").UID
	f.setStatus("r", 1, "pending-install")

	_, err := f.Apply(t.Context(), w, ApplyOptions{})
	var pending *PendingError
	if !errors.As(err, &pending) || pending.Hint() == "" {
		t.Fatalf("got %v", err)
	}
	got, err := f.Recover(t.Context(), w.Release, RecoverOptions{Recorded: 0})
	if err != nil || got.Action != RecoveryForeign {
		t.Fatalf("got %+v, %v", got, err)
	}
	f.wantStatuses("r", "1 pending-install")
	got, err = f.Recover(t.Context(), w.Release, RecoverOptions{Recorded: 1, DryRun: true})
	if err != nil || got.Action != RecoveryReinstall {
		t.Fatalf("got %+v, %v", got, err)
	}
	f.wantStatuses("r", "1 pending-install")
	if _, err = f.Recover(t.Context(), w.Release, RecoverOptions{Recorded: 1}); err != nil {
		t.Fatal(err)
	}
	f.wantStatuses("r", "1 failed")
	f.apply(w, ApplyOptions{})
	f.wantStatuses("r", "1 failed,2 deployed")
	if f.configMap("a").UID != uid {
		t.Error("what was there was not adopted")
	}
	if f.configMap("hook").UID == hookUID {
		t.Error("the install hook did not run again")
	}
}

func TestH1PendingUpgradeIsRolledBack(t *testing.T) {
	f := newFixture(t)
	f.apply(f.wanted("other", configMap("moved")), ApplyOptions{})
	moved := f.configMap("moved").UID
	f.apply(f.wanted("r", configMap("a", "1"), configMap("gone")), ApplyOptions{})
	v2 := f.wanted("r", configMap("a", "2"), configMap("b"), configMap("moved"), claim1("claim"))
	v2.NoWait = true
	o := ApplyOptions{Adopt: map[object.Key]string{f.ref("moved").Key(): string(moved)}}
	f.apply(v2, o)
	f.setStatus("r", 1, "deployed")
	f.setStatus("r", 2, "pending-upgrade")

	var recorded []int
	planned, _ := f.history("r").AfterRecovery(2)
	got, err := f.Recover(t.Context(), v2.Release, RecoverOptions{
		Recorded: 2, Keep: []object.Ref{f.ref("moved")},
		OnRevision: func(n int) error { recorded = append(recorded, n); return nil },
	})
	if err != nil || got.Action != RecoveryRollback || got.Target != 1 || !cmp.Equal(recorded, []int{3}) {
		t.Fatalf("got %+v, %v, recorded %v", got, err, recorded)
	}
	f.wantStatuses("r", "1 superseded,2 failed,3 deployed")
	is := f.history("r")
	if names(is.ObjectsSinceDeployed()) != names(planned.ObjectsSinceDeployed()) || len(is.Revisions) != len(planned.Revisions) {
		t.Error("the history was not planned as it became")
	}
	f.wantLive("a", "gone", "moved")
	f.wantGone("b")
	if f.configMap("a").Data["v"] != "1" || f.configMap("moved").UID != moved {
		t.Error("the rollback did too little or too much")
	}
	if _, err := f.k.CoreV1().PersistentVolumeClaims(f.ns).Get(t.Context(), "claim", metav1.GetOptions{}); err != nil {
		t.Errorf("the claim went: %v", err)
	}
	// The same upgrade again ends as if nothing had happened; what the rollback left is not forgotten.
	f.apply(v2, o)
	f.wantStatuses("r", "1 superseded,2 failed,3 superseded,4 deployed")
	f.wantGone("gone")
	if f.configMap("moved").UID != moved {
		t.Error("moved was made anew")
	}
}

func TestH1PendingUpgradeWithoutADeployedRevision(t *testing.T) {
	f := newFixture(t)
	f.apply(f.wanted("r", configMap("a", "1")), ApplyOptions{})
	w := f.wanted("r", configMap("a", "2"), configMap("b"))
	f.apply(w, ApplyOptions{})
	f.setStatus("r", 2, "pending-upgrade") // the first one is superseded already
	got, err := f.Recover(t.Context(), w.Release, RecoverOptions{Recorded: 2})
	if err != nil || got.Action != RecoveryUpgrade {
		t.Fatalf("got %+v, %v", got, err)
	}
	f.apply(w, ApplyOptions{})
	f.wantStatuses("r", "1 superseded,2 superseded,3 deployed") // Helm supersedes what it upgrades over
	f.wantLive("a", "b")
}

func TestH1PendingRollback(t *testing.T) {
	f := newFixture(t)
	f.apply(f.wanted("r", configMap("a", "1")), ApplyOptions{})
	f.apply(f.wanted("r", configMap("a", "2"), configMap("b")), ApplyOptions{})
	f.apply(f.wanted("r", configMap("a", "1")), ApplyOptions{})
	f.setStatus("r", 1, "deployed")
	f.setStatus("r", 2, "failed")
	f.setStatus("r", 3, "pending-rollback")
	got, err := f.Recover(t.Context(), object.Release{Namespace: f.ns, Name: "r"}, RecoverOptions{Recorded: 3})
	if err != nil || got.Target != 1 {
		t.Fatalf("got %+v, %v", got, err)
	}
	f.wantStatuses("r", "1 superseded,2 failed,3 failed,4 deployed")
	f.wantGone("b")
}

func TestObserve(t *testing.T) {
	f := newFixture(t)
	var texts []string
	var refs []object.Ref
	for _, name := range strings.Split("abcdefghijkl", "") {
		texts = append(texts, configMap(name))
		refs = append(refs, f.ref(name))
	}
	w := f.wanted("r", append(texts, claim1("claim"))...)
	w.NoWait = true
	f.apply(w, ApplyOptions{})
	refs = append(refs, f.ref("nope"), object.Ref{APIVersion: "v1", Kind: "Namespace", Name: f.ns})
	live, err := f.Observe(t.Context(), refs)
	if err != nil || len(live) != 13 {
		t.Fatalf("observed %d, %v", len(live), err)
	}
	a := live[f.ref("a").Key()]
	if a.Owner != w.Release || a.Package != "pkg" || a.UID != string(f.configMap("a").UID) || a.CreationTimestamp.IsZero() || a.HoldsData {
		t.Errorf("got %+v", a)
	}
	if ns := live[object.Key{Kind: "Namespace", Name: f.ns}]; !ns.HoldsData {
		t.Error("the namespace holds no data")
	}
}

// Releases that Zarf's Helm 4 wrote are upgraded and uninstalled like our own.
func TestReleasesOfZarf(t *testing.T) {
	f := newFixture(t)
	ctx := t.Context()
	scope := f.scope(ctx)
	var ours []object.Release
	for _, secret := range zarfReleases(t, "yolo-demo") {
		rel, err := decodeSecret(&secret)
		if err != nil {
			t.Fatal(err)
		}
		// The namespace of the test stands in for the one in the sample.
		rel.Namespace = f.ns
		secret.Namespace, secret.ResourceVersion = f.ns, ""
		if _, err := f.k.CoreV1().Secrets(f.ns).Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: secret.Name, Labels: secret.Labels}, Type: secret.Type, Data: secret.Data}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := f.driver(f.ns).Update(secret.Name, rel); err != nil {
			t.Fatal(err)
		}
		objs, err := parseAll(rel.Manifest)
		if err != nil {
			t.Fatal(err)
		}
		for _, obj := range objs {
			f.createAsZarf(obj, rel.Name, scope)
		}
		ours = append(ours, object.Release{Namespace: f.ns, Name: rel.Name})
	}
	w := FromManifest("yolo-demo", "second", spec.Manifest{Name: "cm2", Namespace: f.ns},
		[][]byte{[]byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm2-x}\ndata: {a: b}\n")}, time.Now())
	h, err := f.History(ctx, w.Release)
	if err != nil || h.Package() != "yolo-demo" {
		t.Fatalf("package %q, %v", h.Package(), err)
	}
	r, err := f.Render(ctx, w.After(h))
	if err != nil {
		t.Fatal(err)
	}
	if same, err := f.Unchanged(ctx, w, r, h); err != nil || !same {
		t.Errorf("what Zarf deployed counts as changed: %t, %v", same, err)
	}
	uid := f.configMap("cm2-x").UID
	w.Generated.Files[0].Data = []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm2-x}\ndata: {c: d}\n")
	f.apply(w, ApplyOptions{})
	f.wantStatuses(w.Release.Name, "1 superseded,2 deployed")
	if cm := f.configMap("cm2-x"); cm.UID != uid || !cmp.Equal(cm.Data, map[string]string{"c": "d"}) {
		t.Errorf("it holds %v", cm.Data)
	}
	for _, release := range ours {
		if _, err := f.Uninstall(ctx, release, UninstallOptions{}); err != nil {
			t.Error(err)
		}
	}
	f.wantGone("cm2-x", "cm-x")
}

// createAsZarf creates an object as Helm 4 does: by server-side apply, with Helm's metadata.
func (f *fixture) createAsZarf(obj *unstructured.Unstructured, name string, scope scoper) {
	f.t.Helper()
	ref, err := reference(obj, f.ns, scope)
	if err != nil {
		f.t.Fatal(err)
	}
	addLabels(obj, map[string]string{labelManagedBy: managedByHelm})
	annotations := map[string]string{annotationReleaseName: name, annotationReleaseNamespace: f.ns}
	for key, value := range obj.GetAnnotations() {
		annotations[key] = value
	}
	obj.SetAnnotations(annotations)
	m, err := f.mapping(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind))
	if err != nil {
		f.t.Fatal(err)
	}
	if _, err := f.resource(m, ref.Namespace).Apply(f.t.Context(), ref.Name, obj, metav1.ApplyOptions{FieldManager: fieldManager}); err != nil {
		f.t.Fatal(err)
	}
}
