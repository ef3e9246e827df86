package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/zarf-host/zarf-host/host/internal/faultproxy"
	"github.com/zarf-host/zarf-host/host/internal/testcluster"
	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/state"
)

// A bench is a connection to a real control plane, and a package name that is this test's own.
type bench struct {
	*Cluster
	admin kubernetes.Interface
	name  string
}

func newBench(t *testing.T) bench {
	t.Helper()
	control := testcluster.Shared(t)
	return benchAt(t, control, control.Kubeconfig())
}

func benchAt(t *testing.T, control *testcluster.Cluster, kubeconfig string) bench {
	t.Helper()
	c, err := Connect(t.Context(), Options{Kubeconfig: kubeconfig})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.EnsureNamespace(t.Context()); err != nil {
		t.Fatal(err)
	}
	b := bench{Cluster: c, admin: control.Client(), name: fmt.Sprintf("p%d-%d", os.Getpid(), time.Now().UnixNano())}
	t.Cleanup(func() {
		ctx := context.Background() // the test's own has ended
		_ = b.admin.CoreV1().Secrets(state.Namespace).Delete(ctx, b.secret(), metav1.DeleteOptions{})
		_ = b.admin.CoordinationV1().Leases(state.Namespace).Delete(ctx, b.secret(), metav1.DeleteOptions{})
	})
	return b
}

func (b bench) secret() string { return state.SecretName(b.name, "") }

// record returns the first record of the package, not written yet.
func (b bench) record(t *testing.T) Record {
	t.Helper()
	record, err := b.Records().Get(t.Context(), b.name, "")
	if err != nil || record.Exists {
		t.Fatalf("reading a record that does not exist: %v, exists %v", err, record.Exists)
	}
	record.Package = record.Package.Begin(state.PackageEvent{Type: state.Deploy, Timestamp: time.Now()})
	return record
}

func (b bench) write(t *testing.T, record Record) Record {
	t.Helper()
	record, err := b.Records().Write(t.Context(), record)
	if err != nil {
		t.Fatal(err)
	}
	return record
}

func (b bench) live(t *testing.T) *corev1.Secret {
	t.Helper()
	secret, err := b.admin.CoreV1().Secrets(state.Namespace).Get(t.Context(), b.secret(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// zarfWrites rewrites the record as Zarf does: without the fields that it does not know, by forced
// server-side apply as field manager zarf, and without a resourceVersion.
func (b bench) zarfWrites(t *testing.T, change func(map[string]any)) {
	t.Helper()
	var record map[string]any
	if err := json.Unmarshal(b.live(t).Data[state.DataKey], &record); err != nil {
		t.Fatal(err)
	}
	delete(record, "events")
	delete(record, "deployConfig")
	change(record)
	data, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	secret := corev1ac.Secret(b.secret(), state.Namespace).
		WithLabels(map[string]string{state.ManagedByLabel: state.ManagedBy, state.PackageLabel: b.name}).
		WithType(corev1.SecretTypeOpaque).WithData(map[string][]byte{state.DataKey: data})
	if _, err := b.admin.CoreV1().Secrets(state.Namespace).Apply(t.Context(), secret, metav1.ApplyOptions{FieldManager: "zarf", Force: true}); err != nil {
		t.Fatal(err)
	}
}

var release = object.Release{Namespace: "n", Name: "r"}

func TestRecordIsWrittenAsZarfDoes(t *testing.T) {
	b := newBench(t)
	record := b.record(t)
	record.Own = record.Own.SetRevision(release, 1)
	record = b.write(t, record)
	secret := b.live(t)
	if diff := cmp.Diff(map[string]string{"app.kubernetes.io/managed-by": "zarf", "package-deploy-info": b.name}, secret.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if secret.Type != corev1.SecretTypeOpaque || len(secret.Data) != 2 {
		t.Errorf("type %s with %d keys", secret.Type, len(secret.Data))
	}
	if record.ResourceVersion != secret.ResourceVersion || record.UID != string(secret.UID) {
		t.Errorf("the record is at %s, the Secret at %s", record.ResourceVersion, secret.ResourceVersion)
	}
	managers := map[string]bool{}
	for _, f := range secret.ManagedFields {
		managers[f.Manager] = true
	}
	if diff := cmp.Diff(map[string]bool{"zarf": true, "zarf-host": true}, managers); diff != "" {
		t.Errorf("field managers (-want +got):\n%s", diff)
	}
	// What did not change is not written.
	if again := b.write(t, record); again.ResourceVersion != record.ResourceVersion {
		t.Error("an unchanged record was written")
	}
	read, err := b.Records().Get(t.Context(), b.name, "")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(record, read, cmpopts.IgnoreUnexported(Record{}, state.Record{})); diff != "" {
		t.Errorf("what was written is not what is read (-written +read):\n%s", diff)
	}
	if err := b.Records().Delete(t.Context(), read); err != nil {
		t.Fatal(err)
	}
	if err := b.Records().Delete(t.Context(), read); err != nil {
		t.Errorf("deleting a record that is gone: %v", err)
	}
	if read, err = b.Records().Get(t.Context(), b.name, ""); err != nil || read.Exists {
		t.Errorf("after its deletion: %v, exists %v", err, read.Exists)
	}
}

func TestRecordKeepsWhatItDoesNotKnow(t *testing.T) {
	b := newBench(t)
	b.write(t, b.record(t))
	b.zarfWrites(t, func(record map[string]any) { record["future"] = map[string]any{"x": "y"} })
	record, err := b.Records().Get(t.Context(), b.name, "")
	if err != nil {
		t.Fatal(err)
	}
	record.Package = record.Package.Begin(state.PackageEvent{Type: state.Deploy, Timestamp: time.Now()})
	record = b.write(t, record)
	record.Package = record.Package.Finish(state.Succeeded, time.Now(), nil)
	b.write(t, record)
	if data := string(b.live(t).Data[state.DataKey]); !strings.Contains(data, `"future":{"x":"y"}`) || !strings.Contains(data, `"Succeeded"`) {
		t.Errorf("the record is %s", data)
	}
}

func TestOwnKeySurvivesZarf(t *testing.T) {
	b := newBench(t)
	record := b.record(t)
	record.Own = record.Own.SetRevision(release, 7)
	b.write(t, record)
	for range 2 { // the second time Zarf owns all of what it wrote the first time
		b.zarfWrites(t, func(map[string]any) {})
		read, err := b.Records().Get(t.Context(), b.name, "")
		if err != nil {
			t.Fatal(err)
		}
		if read.Own.Revision(release) != 7 {
			t.Fatalf("after Zarf wrote: own key %+v", read.Own)
		}
		// What we began is in our own key's copy, and nobody is at work on it any more.
		for _, e := range read.Package.Events {
			if e.Outcome == state.InProgress {
				t.Fatalf("after Zarf wrote: events %v", read.Package.Events)
			}
		}
		read.Own = read.Own.SetRevision(release, 7)
		read.Package = read.Package.Begin(state.PackageEvent{Type: state.Deploy, Timestamp: time.Now()})
		b.write(t, read)
	}
}

func TestConcurrentWriters_N14(t *testing.T) {
	b := newBench(t)
	tests := map[string]struct {
		between func(t *testing.T)
		want    string // how the record moved; empty: it is written all the same
	}{
		"Zarf writes its key": {func(t *testing.T) {
			b.zarfWrites(t, func(record map[string]any) { record["cliVersion"] = time.Now().String() })
		}, `its key "data" was changed`},
		"somebody writes our key": {func(t *testing.T) {
			b.patch(t, `{"data":{"zarf-host":"e30="}}`)
		}, `its key "zarf-host" was changed`},
		"somebody writes a label":     {func(t *testing.T) { b.patch(t, `{"metadata":{"labels":{"team":"x"}}}`) }, ""},
		"somebody writes another key": {func(t *testing.T) { b.patch(t, `{"data":{"other":"eA=="}}`) }, ""},
		"somebody deletes the record": {func(t *testing.T) { b.remove(t) }, "it was deleted"},
		"somebody makes it a new one": {func(t *testing.T) { b.remove(t); b.write(t, b.record(t)) }, "it was deleted and created again"},
		"nobody does anything":        {func(*testing.T) {}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b.remove(t)
			mine := b.write(t, b.record(t))
			test.between(t)
			mine.Package = mine.Package.Finish(state.Succeeded, time.Now(), nil)
			mine.Own = mine.Own.SetRevision(release, 1)
			written, err := b.Records().Write(t.Context(), mine)
			var conflict *ConflictError
			if test.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				if live := b.live(t); live.ResourceVersion != written.ResourceVersion || !strings.Contains(string(live.Data[state.DataKey]), "Succeeded") {
					t.Errorf("the record is at %s: %s", live.ResourceVersion, live.Data[state.DataKey])
				}
				return
			}
			if !errors.As(err, &conflict) || conflict.Reason != test.want || conflict.Hint() == "" {
				t.Fatalf("%v\nwant a conflict: %s", err, test.want)
			}
			if err := b.Records().Delete(t.Context(), mine); test.want != "it was deleted" && !errors.As(err, &conflict) {
				t.Errorf("deleting it: %v, want a conflict", err)
			}
		})
	}
}

func (b bench) patch(t *testing.T, patch string) {
	t.Helper()
	_, err := b.admin.CoreV1().Secrets(state.Namespace).Patch(t.Context(), b.secret(), types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "somebody"})
	if err != nil {
		t.Fatal(err)
	}
}

func (b bench) remove(t *testing.T) {
	t.Helper()
	err := b.admin.CoreV1().Secrets(state.Namespace).Delete(t.Context(), b.secret(), metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
}

func TestSecondCreatorIsRefused(t *testing.T) {
	b := newBench(t)
	mine, theirs := b.record(t), b.record(t)
	theirs.Package.Generation = 9
	b.write(t, theirs)
	_, err := b.Records().Write(t.Context(), mine)
	var conflict *ConflictError
	if !errors.As(err, &conflict) || conflict.Reason != "it was created" {
		t.Errorf("%v, want a conflict", err)
	}
}

func TestSecretsThatAreNotTheRecord_N1_F14(t *testing.T) {
	b := newBench(t)
	override := b.name[1:]
	foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: b.secret()}, Data: map[string][]byte{"password": []byte("x")}}
	if _, err := b.admin.CoreV1().Secrets(state.Namespace).Create(t.Context(), foreign, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var notRecord *NotRecordError
	_, err := b.Records().Get(t.Context(), b.name, "")
	if !errors.As(err, &notRecord) || !strings.Contains(err.Error(), `it has no label "package-deploy-info"`) {
		t.Errorf("a user's own Secret: %v", err)
	}
	b.patch(t, `{"metadata":{"labels":{"package-deploy-info":"x"}}}`)
	if _, err = b.Records().Get(t.Context(), b.name, ""); !errors.As(err, &notRecord) || !strings.Contains(err.Error(), `it has no key "data"`) {
		t.Errorf("a Secret without data: %v", err)
	}
	if secret := b.live(t); len(secret.Data) != 1 {
		t.Errorf("the user's Secret was changed: %v", secret.Data)
	}

	// Package foo-override-bar, and package foo in namespace bar, have the same Secret.
	long := bench{Cluster: b.Cluster, admin: b.admin, name: b.name + "-override-" + override}
	t.Cleanup(func() {
		_ = b.admin.CoreV1().Secrets(state.Namespace).Delete(context.Background(), long.secret(), metav1.DeleteOptions{})
	})
	long.write(t, long.record(t))
	if _, err = b.Records().Get(t.Context(), b.name, override); !errors.As(err, &notRecord) || notRecord.Hint() == "" ||
		!strings.Contains(err.Error(), fmt.Sprintf("it records package %q, not package %q in namespace %q", long.name, b.name, override)) {
		t.Errorf("another package's record: %v", err)
	}
	read, err := long.Records().Get(t.Context(), long.name, "")
	if err != nil {
		t.Fatal(err)
	}
	read.Package.Name = b.name
	if _, err := long.Records().Write(t.Context(), read); err == nil {
		t.Error("a record was written under another package's name")
	}
}

func TestUnreadableRecordHidesNoOther_N13(t *testing.T) {
	b := newBench(t)
	b.write(t, b.record(t))
	bad := bench{Cluster: b.Cluster, admin: b.admin, name: b.name + "-bad"}
	t.Cleanup(func() {
		_ = b.admin.CoreV1().Secrets(state.Namespace).Delete(context.Background(), bad.secret(), metav1.DeleteOptions{})
	})
	bad.write(t, bad.record(t))
	bad.patch(t, `{"data":{"data":"ew=="}}`) // {
	all, err := b.Records().List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]error{}
	for _, l := range all {
		if strings.HasPrefix(l.Secret, b.secret()) {
			found[l.Secret] = l.Err
			if l.Err == nil && (l.Record.Name != b.name || !l.Record.Exists) {
				t.Errorf("listed as %+v", l.Record.Name)
			}
		}
	}
	if len(found) != 2 || found[b.secret()] != nil || found[bad.secret()] == nil {
		t.Errorf("listed: %v", found)
	}
	if _, err := b.Records().Get(t.Context(), bad.name, ""); err == nil || !strings.Contains(err.Error(), bad.secret()) {
		t.Errorf("reading the bad one: %v", err)
	}
}

// Each request of a write fails once in each way: what passes is got over, what does not is an
// error, and a lost answer is no conflict with oneself.
func TestRecordWritesUnderFaults_N2(t *testing.T) {
	control := testcluster.Shared(t)
	for _, fault := range []struct {
		fault faultproxy.Fault
		fails bool
	}{
		{faultproxy.Status(409), false}, {faultproxy.Status(429), false}, {faultproxy.Status(500), false},
		{faultproxy.Status(503), false}, {faultproxy.Reset(), false}, {faultproxy.Lost(), false},
		{faultproxy.Slow(50 * time.Millisecond), false}, {faultproxy.Status(403), true},
	} {
		for at := 1; at <= 5; at++ {
			t.Run(fmt.Sprintf("%s at %d", fault.fault, at), func(t *testing.T) {
				proxy, kubeconfig := control.Proxy(t)
				b := benchAt(t, control, kubeconfig)
				proxy.Reset()
				proxy.Inject(faultproxy.Rule{At: at, Fault: fault.fault})
				record := b.record(t)
				record.Own = record.Own.SetRevision(release, 1)
				record, err := b.Records().Write(t.Context(), record) // 1: create, 2: our key
				if err == nil {
					record.Package = record.Package.Finish(state.Succeeded, time.Now(), nil)
					record.Own = record.Own.SetRevision(release, 2)
					record, err = b.Records().Write(t.Context(), record) // 3: Zarf's key, 4: ours
				}
				if err == nil {
					err = b.Records().Delete(t.Context(), record) // 5
				}
				if (err != nil) != fault.fails || (fault.fails && !apierrors.IsForbidden(err)) {
					t.Fatalf("%v; want it to fail: %v", err, fault.fails)
				}
				if fault.fails || at == 5 {
					return
				}
				if read, err := b.Records().Get(t.Context(), b.name, ""); err != nil || read.Exists {
					t.Errorf("at the end: %v, exists %v", err, read.Exists)
				}
			})
		}
	}
}

// A write that never got an answer, but was made, does not stand in the way of the next one.
func TestRecordGoesOnAfterLostAnswers(t *testing.T) {
	control := testcluster.Shared(t)
	proxy, kubeconfig := control.Proxy(t)
	b := benchAt(t, control, kubeconfig)
	record := b.write(t, b.record(t))
	before := record.Package
	proxy.Reset()
	isRead := func(r faultproxy.Request) bool { return r.Method == "GET" }
	proxy.Inject(faultproxy.Rule{Reads: true, Match: isRead, Fault: faultproxy.Status(500), Times: -1}) // nothing can be read
	proxy.Inject(faultproxy.Rule{Fault: faultproxy.Lost(), Times: -1})                                  // what is written is not answered
	record.Package = record.Package.Finish(state.Failed, time.Now(), nil)
	record, err := b.Records().Write(t.Context(), record)
	if err == nil {
		t.Fatal("a write without an answer succeeded")
	}
	if !strings.Contains(string(b.live(t).Data[state.DataKey]), "Failed") {
		t.Fatal("the proxy did not let the write through, so that this test shows nothing")
	}
	proxy.Reset()
	record.Package = before // even back to what was read
	b.write(t, record)
	if strings.Contains(string(b.live(t).Data[state.DataKey]), "Failed") {
		t.Error("what was written without an answer is still there")
	}
}

func TestEnsureNamespace(t *testing.T) {
	b := newBench(t)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := b.EnsureNamespace(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	ns, err := b.admin.CoreV1().Namespaces().Get(t.Context(), state.Namespace, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if ns.Labels["app.kubernetes.io/managed-by"] != "zarf" || ns.Labels["zarf.dev/agent"] != "mutate" {
		t.Errorf("labels: %v", ns.Labels)
	}
}
