package chart

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/zarf-host/zarf-host/host/internal/testcluster"
	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/spec"
)

func TestInstallUpgradeUnchanged(t *testing.T) {
	f := newFixture(t)
	ctx := t.Context()
	w := f.wanted("r", configMap("a", "1"), configMap("b", "1"), `
apiVersion: v1
kind: Service
metadata: {name: s, labels: {zarf.dev/connect-name: web}, annotations: {zarf.dev/connect-url: /x}}
spec: {selector: {app: x}, ports: [{port: 80}]}
`)
	var recorded []int
	o := ApplyOptions{OnRevision: func(n int) error {
		recorded = append(recorded, n)
		if n == 1 && f.configMap("a") != nil {
			t.Error("something was written before the revision was announced")
		}
		return nil
	}}
	result := f.apply(w, o)
	if result.Revision != 1 || result.ConnectStrings["web"].URL != "/x" || len(result.Objects) != 3 {
		t.Errorf("got %+v", result)
	}
	f.wantStatuses("r", "1 deployed")
	a := f.configMap("a")
	if a.Labels["zarf.dev/package"] != "pkg" || a.Labels["app.kubernetes.io/managed-by"] != "Helm" {
		t.Errorf("labels are %v", a.Labels)
	}
	for _, m := range a.ManagedFields {
		if m.Manager != "zarf" {
			t.Errorf("fields are managed by %q", m.Manager)
		}
	}

	unchanged := func(w Wanted) bool {
		t.Helper()
		h := f.history("r")
		r, err := f.Render(ctx, w.After(h))
		if err != nil {
			t.Fatal(err)
		}
		same, err := f.Unchanged(ctx, w, r, h)
		if err != nil {
			t.Fatal(err)
		}
		return same
	}
	if !unchanged(w) {
		t.Error("an equal release counts as changed")
	}
	values := w
	values.Values = map[string]any{"x": 1}
	if unchanged(values) {
		t.Error("other values count as unchanged")
	}
	next := f.wanted("r", configMap("a", "2"), configMap("c", "1"))
	if unchanged(next) {
		t.Error("another chart counts as unchanged")
	}
	if _, err := f.k.CoreV1().ConfigMaps(f.ns).Patch(ctx, "b", "application/merge-patch+json", []byte(`{"data":{"v":"drift"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if unchanged(w) {
		t.Error("a drifted object counts as unchanged")
	}

	result = f.apply(next, o)
	if result.Revision != 2 || !cmp.Equal(recorded, []int{1, 2}) {
		t.Errorf("got revision %d, recorded %v", result.Revision, recorded)
	}
	f.wantStatuses("r", "1 superseded,2 deployed")
	f.wantLive("a", "c")
	f.wantGone("b")
	if f.configMap("a").Data["v"] != "2" {
		t.Error("a was not changed")
	}
	if !slices.Contains(result.Deleted, f.ref("b")) {
		t.Errorf("deleted %v", result.Deleted)
	}
}

func TestOnRevisionStopsEverything(t *testing.T) {
	f := newFixture(t)
	refused := errors.New("the record cannot be written")
	_, err := f.Apply(t.Context(), f.wanted("r", configMap("a")), ApplyOptions{OnRevision: func(int) error { return refused }})
	if !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
	f.wantStatuses("r", "")
	f.wantGone("a")
}

func TestManifestsNamespacesAndCustomKinds(t *testing.T) {
	f := newFixture(t)
	ctx := t.Context()
	other := f.ns + "-other"
	t.Cleanup(func() {
		_ = f.k.CoreV1().Namespaces().Delete(context.WithoutCancel(ctx), other, metav1.DeleteOptions{})
	})
	group := strings.ReplaceAll(f.ns, "-", "") + ".example.dev"
	crd := FromManifest("pkg", "c", spec.Manifest{Name: "crd", Namespace: f.ns}, [][]byte{[]byte(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.` + group + `}
spec:
  group: ` + group + `
  scope: Namespaced
  names: {kind: Thing, plural: things}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`)}, time.Now())
	cr := FromManifest("pkg", "c", spec.Manifest{Name: "cr", Namespace: f.ns}, [][]byte{[]byte(`
apiVersion: v1
kind: Namespace
metadata: {name: ` + other + `, labels: {mine: "yes"}}
---
apiVersion: ` + group + `/v1
kind: Thing
metadata: {name: t, namespace: ` + other + `}
spec: {braces: "{{ nothing to Helm }}"}
`)}, time.Now())
	// The second renders although the kind comes with the first.
	for _, w := range []Wanted{crd, cr} {
		r, err := f.Render(ctx, w)
		if err != nil {
			t.Fatal(err)
		}
		if w.Release == cr.Release && (len(r.Objects) != 1 || !slices.Contains(r.Namespaces, other)) {
			t.Errorf("rendered %v in %v", r.Objects, r.Namespaces)
		}
	}
	for _, w := range []Wanted{crd, cr} {
		if _, err := f.Apply(ctx, w, ApplyOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	ns, err := f.k.CoreV1().Namespaces().Get(ctx, other, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"mine": "yes", "app.kubernetes.io/managed-by": "zarf", "zarf.dev/agent": "mutate"} {
		if ns.Labels[name] != value {
			t.Errorf("the namespace has labels %v", ns.Labels)
		}
	}
	crdRef := object.Ref{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition", Name: "things." + group}
	lost, err := f.CustomResources(ctx, crdRef)
	if want := []object.Ref{{APIVersion: group + "/v1", Kind: "Thing", Namespace: other, Name: "t"}}; err != nil || !cmp.Equal(lost, want) {
		t.Errorf("its resources are %v, %v", lost, err)
	}
	live, err := f.Observe(ctx, []object.Ref{crdRef, lost[0], f.ref("nope"), {APIVersion: "nope.dev/v1", Kind: "Nope", Name: "n"}})
	if err != nil || len(live) != 2 || !live[crdRef.Key()].HoldsData {
		t.Errorf("observed %v, %v", live, err)
	}

	// With resources it is kept, and belongs to nobody then; a repeat finds nothing.
	gone, err := f.Uninstall(ctx, crd.Release, UninstallOptions{})
	if err != nil || !cmp.Equal(gone.Kept, []object.Ref{crdRef}) {
		t.Fatalf("got %+v, %v", gone, err)
	}
	if live, err = f.Observe(ctx, []object.Ref{crdRef}); err != nil || live[crdRef.Key()].Owner != (object.Release{}) || live[crdRef.Key()].Package != "" {
		t.Errorf("observed %v, %v", live, err)
	}
	if gone, err = f.Uninstall(ctx, crd.Release, UninstallOptions{}); err != nil || !gone.Gone {
		t.Errorf("got %+v, %v", gone, err)
	}
	// The namespace is nobody's to delete.
	if _, err = f.Uninstall(ctx, cr.Release, UninstallOptions{}); err != nil {
		t.Error(err)
	}
	if ns, err = f.k.CoreV1().Namespaces().Get(ctx, other, metav1.GetOptions{}); err != nil || ns.DeletionTimestamp != nil {
		t.Errorf("the namespace went: %v", err)
	}
}

func TestCRDsOfAChartCanBeUsedByItsTemplates(t *testing.T) {
	f := newFixture(t)
	group := strings.ReplaceAll(f.ns, "-", "") + ".example.dev"
	w := f.wantedFiles("r", map[string]string{
		"crds/crd.yaml": `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.` + group + `}
spec:
  group: ` + group + `
  scope: Cluster
  names: {kind: Gadget, plural: gadgets}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`,
		"templates/cr.yaml": "{{ if .Capabilities.APIVersions.Has \"" + group + "/v1\" }}\napiVersion: " + group + "/v1\nkind: Gadget\nmetadata: {name: g-" + f.ns + "}\n{{ end }}",
	})
	f.apply(w, ApplyOptions{})
	ref := object.Ref{APIVersion: group + "/v1", Kind: "Gadget", Name: "g-" + f.ns}
	live, err := f.Observe(t.Context(), []object.Ref{ref})
	if err != nil || len(live) != 1 {
		t.Errorf("observed %v, %v", live, err)
	}
	// Once the kind is gone its objects are too: that is no reason to fail.
	m, err := f.mapping(schema.FromAPIVersionAndKind("apiextensions.k8s.io/v1", "CustomResourceDefinition"))
	if err != nil {
		t.Fatal(err)
	}
	crd := object.Ref{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition", Name: "gadgets." + group}
	if err := f.resource(m, "").Delete(t.Context(), crd.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := (&poller{c: f.Client}).Deleted(t.Context(), []object.Ref{crd}); err != nil {
		t.Fatal(err)
	}
	later := fixtureOn(t, testcluster.Shared(t), f.ns)
	if _, err := later.Uninstall(t.Context(), w.Release, UninstallOptions{}); err != nil {
		t.Error(err)
	}
	later.wantStatuses("r", "")
}

// C7, C15: what holds data, asks to be kept or is kept by the plan survives an upgrade without it.
func TestC15KeepOnUpgrade(t *testing.T) {
	f := newFixture(t)
	ctx := t.Context()
	w := f.wanted("r", configMap("stay"), configMap("plan"), configMap("drop"), claim1("claim"),
		strings.Replace(configMap("policy"), "{name: policy}", "{name: policy, annotations: {helm.sh/resource-policy: keep}}", 1))
	w.NoWait = true
	f.apply(w, ApplyOptions{})
	v2 := f.wanted("r", configMap("stay"))
	result := f.apply(v2, ApplyOptions{Keep: []object.Ref{f.ref("plan")}})
	f.wantLive("stay", "plan", "policy")
	f.wantGone("drop")
	if _, err := f.k.CoreV1().PersistentVolumeClaims(f.ns).Get(ctx, "claim", metav1.GetOptions{}); err != nil {
		t.Errorf("the claim went: %v", err)
	}
	claim := object.Ref{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: f.ns, Name: "claim"}
	if want := []object.Ref{f.ref("plan"), f.ref("policy"), claim}; !cmp.Equal(sortedRefs(result.Kept), sortedRefs(want)) {
		t.Errorf("kept %v", result.Kept)
	}
	// It can come back, and go when data loss is allowed.
	f.apply(w, ApplyOptions{})
	result = f.apply(v2, ApplyOptions{AllowDataLoss: true})
	if !slices.Contains(result.Deleted, claim) {
		t.Errorf("deleted %v", result.Deleted)
	}
}

// C6: what belongs to another release by now is nobody's to delete.
func TestC6UpgradeLeavesWhatMovedAway(t *testing.T) {
	f := newFixture(t)
	f.apply(f.wanted("old", configMap("stay"), configMap("moved", "1")), ApplyOptions{})
	uid := f.configMap("moved").UID
	_, err := f.Apply(t.Context(), f.wanted("new", configMap("moved", "2")), ApplyOptions{})
	var conflict *ConflictError
	if !errors.As(err, &conflict) || conflict.Owner.Name != "old" || conflict.Hint() == "" {
		t.Fatalf("got %v", err)
	}
	f.wantStatuses("new", "")
	// C4, C5, C9: with the plan's word it changes owner and keeps its UID.
	result := f.apply(f.wanted("new", configMap("moved", "2"), configMap("fresh")),
		ApplyOptions{Adopt: map[object.Key]string{f.ref("moved").Key(): string(uid)}})
	if !cmp.Equal(result.Adopted, []object.Ref{f.ref("moved")}) {
		t.Errorf("adopted %v", result.Adopted)
	}
	if cm := f.configMap("moved"); cm.UID != uid || cm.Data["v"] != "2" || cm.Annotations[annotationReleaseName] != "new" {
		t.Errorf("it is %v", cm)
	}
	f.apply(f.wanted("old", configMap("stay")), ApplyOptions{})
	f.wantLive("moved")
	gone, err := f.Uninstall(t.Context(), object.Release{Namespace: f.ns, Name: "old"}, UninstallOptions{})
	if err != nil || slices.Contains(gone.Deleted, f.ref("moved")) {
		t.Errorf("got %+v, %v", gone, err)
	}
	f.wantLive("moved", "fresh")
	f.wantGone("stay")
}

func TestAdoptOnlyTheObjectThatWasSeen(t *testing.T) {
	f := newFixture(t)
	if _, err := f.k.CoreV1().ConfigMaps(f.ns).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w := f.wanted("r", configMap("a"))
	_, err := f.Apply(t.Context(), w, ApplyOptions{Adopt: map[object.Key]string{f.ref("a").Key(): "another"}})
	var conflict *ConflictError
	if !errors.As(err, &conflict) || conflict.Owner != (object.Release{}) {
		t.Errorf("got %v", err)
	}
	w.TakeOwnership = true
	f.apply(w, ApplyOptions{})
	if f.configMap("a").Annotations[annotationReleaseName] != "r" {
		t.Error("it was not taken over")
	}
}

// Adoption takes away what the former owner had rendered and the new one does not.
func TestAdoptionDropsFieldsOfTheFormerOwner(t *testing.T) {
	f := newFixture(t)
	f.apply(f.wanted("old", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {v: x, old: x}\n"), ApplyOptions{})
	if _, err := f.k.CoreV1().ConfigMaps(f.ns).Patch(t.Context(), "a", "application/merge-patch+json", []byte(`{"data":{"others":"x"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	f.apply(f.wanted("new", configMap("a", "y")), ApplyOptions{Adopt: map[object.Key]string{f.ref("a").Key(): string(f.configMap("a").UID)}})
	if got := f.configMap("a").Data; !cmp.Equal(got, map[string]string{"v": "y", "others": "x"}) {
		t.Errorf("it holds %v", got)
	}
}

// H7, H8: a failed upgrade is rolled back, and nothing of the running release is deleted.
func TestH8FailedUpgradeIsRolledBack(t *testing.T) {
	f := newFixture(t)
	f.apply(f.wanted("r", configMap("a", "1"), configMap("b", "1")), ApplyOptions{})
	f.apply(f.wanted("other", configMap("moved", "1")), ApplyOptions{})
	uid, moved := f.configMap("a").UID, f.configMap("moved").UID
	v2 := f.wanted("r", configMap("a", "2"), configMap("new"), configMap("moved", "2"), neverReady)
	v2.Timeout = 2 * time.Second
	var recorded []int
	result, err := f.Apply(t.Context(), v2, ApplyOptions{
		Adopt:      map[object.Key]string{f.ref("moved").Key(): string(moved)},
		OnRevision: func(n int) error { recorded = append(recorded, n); return nil },
	})
	if err == nil || !strings.Contains(err.Error(), "rolled back to revision 1") || !strings.Contains(err.Error(), "Deployment/") {
		t.Fatalf("got %v", err)
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the cause is lost: %v", err)
	}
	if result.RolledBackTo != 1 || result.Revision != 3 || !cmp.Equal(recorded, []int{2, 3}) {
		t.Errorf("got %+v, recorded %v", result, recorded)
	}
	f.wantStatuses("r", "1 superseded,2 failed,3 deployed")
	f.wantGone("new")
	f.wantLive("a", "b", "moved")
	if a := f.configMap("a"); a.UID != uid || a.Data["v"] != "1" {
		t.Errorf("a is %v", a)
	}
	if m := f.configMap("moved"); m.UID != moved || m.Annotations[annotationReleaseName] != "other" {
		t.Errorf("what it took over was not given back: %v", m.Annotations)
	}
	if _, err := f.k.AppsV1().Deployments(f.ns).Get(t.Context(), "never", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("what the upgrade created is still there: %v", err)
	}
}

func TestH7FailedInstallStays(t *testing.T) {
	f := newFixture(t)
	w := f.wanted("r", configMap("a", "1"), neverReady)
	w.Timeout = 2 * time.Second
	result, err := f.Apply(t.Context(), w, ApplyOptions{})
	if err == nil || result.Revision != 1 || result.RolledBackTo != 0 {
		t.Fatalf("got %+v, %v", result, err)
	}
	f.wantStatuses("r", "1 failed")
	f.wantLive("a")
	// Over it an upgrade works, and takes what the failed one left.
	f.apply(f.wanted("r", configMap("b")), ApplyOptions{})
	f.wantStatuses("r", "1 superseded,2 deployed") // Helm supersedes what it upgrades over
	f.wantGone("a")
}

// What two failed upgrades brought goes with the next one, fields too.
func TestObjectsOfFailedRevisionsAreNotForgotten(t *testing.T) {
	f := newFixture(t)
	f.apply(f.wanted("r", configMap("a", "1")), ApplyOptions{})
	f.apply(f.wanted("r", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {v: x, more: x}\n", configMap("left")), ApplyOptions{})
	f.setStatus("r", 1, "deployed")
	f.setStatus("r", 2, "failed")
	if got := names(f.history("r").ObjectsSinceDeployed()); got != "a,left" {
		t.Errorf("objects are %q", got)
	}
	f.apply(f.wanted("r", configMap("a", "3")), ApplyOptions{})
	f.wantGone("left")
	if got := f.configMap("a").Data; !cmp.Equal(got, map[string]string{"v": "3"}) {
		t.Errorf("a holds %v", got)
	}
}

func TestHookJobs(t *testing.T) {
	f := newFixture(t)
	job := func(name, events string) string {
		return `
apiVersion: batch/v1
kind: Job
metadata: {name: ` + name + `, annotations: {helm.sh/hook: "` + events + `"}}
spec:
  backoffLimit: 0
  template:
    metadata: {annotations: {filled: "###ZARF_VAR_V###"}}
    spec: {restartPolicy: Never, containers: [{name: c, image: example.dev/c}]}
`
	}
	w := f.wanted("r", configMap("a"), job("before", "pre-install,pre-upgrade"), job("bye", "pre-delete"))
	w.Fill = func(text []byte) ([]byte, error) {
		return bytes.ReplaceAll(text, []byte("###ZARF_VAR_V###"), []byte("filled")), nil
	}
	f.apply(w, ApplyOptions{})
	before, err := f.k.BatchV1().Jobs(f.ns).Get(t.Context(), "before", metav1.GetOptions{})
	if err != nil || before.Status.Succeeded != 1 {
		t.Fatalf("the hook did not run: %v, %v", before, err)
	}
	if before.Spec.Template.Annotations["filled"] != "filled" || before.Labels["zarf.dev/package"] != "" {
		t.Errorf("the hook is %v", before.ObjectMeta)
	}
	f.apply(w, ApplyOptions{})
	again, err := f.k.BatchV1().Jobs(f.ns).Get(t.Context(), "before", metav1.GetOptions{})
	if err != nil || again.UID == before.UID {
		t.Errorf("the hook did not run again: %v", err)
	}
	// The hook of the uninstall was filled when it was stored.
	if _, err := f.Uninstall(t.Context(), w.Release, UninstallOptions{}); err != nil {
		t.Fatal(err)
	}
	bye, err := f.k.BatchV1().Jobs(f.ns).Get(t.Context(), "bye", metav1.GetOptions{})
	if err != nil || bye.Spec.Template.Annotations["filled"] != "filled" {
		t.Errorf("the hook of the uninstall is %v, %v", bye, err)
	}
	f.wantGone("a")
}

func TestCancelInTheMiddleOfAWait(t *testing.T) {
	cut := make(chan struct{})
	f := newFixture(t, cuttable(cut))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	var result Result
	w := f.wanted("r", configMap("a"), neverReady)
	w.Timeout = time.Minute
	go func() {
		var err error
		result, err = f.Apply(ctx, w, ApplyOptions{})
		done <- err
	}()
	deadline := time.Now().Add(20 * time.Second)
	for {
		if _, err := f.k.AppsV1().Deployments(f.ns).Get(t.Context(), "never", metav1.GetOptions{}); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it never came to the wait")
		}
		time.Sleep(50 * time.Millisecond)
	}
	time.Sleep(200 * time.Millisecond)
	start := time.Now()
	close(cut)
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	case <-time.After(8 * time.Second):
		t.Fatal("it did not return")
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
	if result.Revision != 1 {
		t.Errorf("got %+v", result)
	}
	second := fixtureOn(t, testcluster.Shared(t), f.ns)
	second.wantStatuses("r", "1 failed")
	second.wantLive("a") // nothing is rolled back
	latest, _ := second.history("r").Latest()
	if !strings.HasPrefix(latest.Description, interruptedInstall) {
		t.Errorf("the description is %q", latest.Description)
	}
	second.apply(second.wanted("r", configMap("a")), ApplyOptions{})
	second.wantStatuses("r", "1 failed,2 deployed")
}

func TestLostLeaseWritesNothing(t *testing.T) {
	cut := make(chan struct{})
	f := newFixture(t, cuttable(cut), func(o *Options) { o.SecondConfig = func() *rest.Config { return nil } })
	ctx, cancel := context.WithCancel(t.Context())
	w := f.wanted("r", configMap("a"))
	w.Fill = func(text []byte) ([]byte, error) { return text, nil }
	err := error(nil)
	_, err = f.Apply(ctx, w, ApplyOptions{OnRevision: func(int) error { close(cut); cancel(); return nil }})
	if err == nil {
		t.Fatal("it succeeded")
	}
	second := fixtureOn(t, testcluster.Shared(t), f.ns)
	second.wantStatuses("r", "")
	second.wantGone("a")
}
