package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/internal/testcluster"
	"github.com/zarf-host/zarf-host/host/object"
)

// A stage is a namespace to wait for objects in.
type stage struct {
	bench
	namespace string
	dynamic   dynamic.Interface
	waiter    *Waiter
	mu        sync.Mutex
	heard     []event.Event
}

func newStage(t *testing.T) *stage {
	t.Helper()
	control := testcluster.Shared(t)
	s := &stage{bench: benchAt(t, control, control.Kubeconfig()), namespace: control.Namespace(t)}
	var err error
	if s.dynamic, err = dynamic.NewForConfig(control.REST()); err != nil {
		t.Fatal(err)
	}
	s.waiter, err = s.Waiter(event.Func(func(e event.Event) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.heard = append(s.heard, e)
	}))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *stage) resource(resource string) dynamic.ResourceInterface {
	for prefix, group := range map[string]schema.GroupVersion{
		"deployments": {Group: "apps", Version: "v1"}, "jobs": {Group: "batch", Version: "v1"}, "crontabs": {Group: "test.zarf-host.dev", Version: "v1"},
	} {
		if strings.HasPrefix(resource, prefix) {
			return s.dynamic.Resource(group.WithResource(resource)).Namespace(s.namespace)
		}
	}
	return s.dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: resource}).Namespace(s.namespace)
}

// create makes an object from YAML and returns its reference.
func (s *stage) create(t *testing.T, resource, text string) object.Ref {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		t.Fatal(err)
	}
	created, err := s.resource(resource).Create(t.Context(), obj, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return object.Ref{APIVersion: created.GetAPIVersion(), Kind: created.GetKind(), Namespace: s.namespace, Name: created.GetName()}
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      %s
      containers: [{name: c, image: "example.com/c:1"}]`

func configMap(name string, finalizers ...string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, finalizers: [%s]}", name, strings.Join(finalizers, ","))
}

func TestReady(t *testing.T) {
	s := newStage(t)
	refs := []object.Ref{
		s.create(t, "deployments", fmt.Sprintf(deployment, "")),
		s.create(t, "configmaps", configMap("c")),
		{APIVersion: "v1", Kind: "Namespace", Name: s.namespace},
		{APIVersion: "v1", Kind: "Namespace", Namespace: "ignored", Name: s.namespace},
	}
	if err := s.waiter.Ready(within(t, time.Minute), refs); err != nil {
		t.Fatal(err)
	}
	live, err := s.resource("deployments").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if n, _, _ := unstructured.NestedInt64(live.Object, "status", "availableReplicas"); n != 1 {
		t.Errorf("it was called ready with %d available pods", n)
	}
}

func TestNotReadyIsNamedAndTold(t *testing.T) {
	s := newStage(t)
	refs := []object.Ref{
		s.create(t, "deployments", fmt.Sprintf(deployment, `nodeSelector: {no: such-node}`)),
		s.create(t, "configmaps", configMap("c")),
		{APIVersion: "v1", Kind: "Secret", Namespace: s.namespace, Name: "absent"},
	}
	err := s.waiter.For("component", "n/r").Ready(within(t, 6*time.Second), refs)
	var wait *WaitError
	if !errors.As(err, &wait) || !errors.Is(err, context.DeadlineExceeded) || len(wait.Objects) != 2 {
		t.Fatalf("%v", err)
	}
	for _, want := range []string{"Deployment/" + s.namespace + "/web is not ready: InProgress: ", "Secret/" + s.namespace + "/absent is not ready: it does not exist"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %s", err, want)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.heard) != 2 { // once each, since nothing changed
		t.Errorf("told %d times: %v", len(s.heard), s.heard)
	}
	for _, e := range s.heard {
		if e.Component != "component" || e.Release != "n/r" || e.Step != "wait" || !strings.Contains(e.Message, "is not ready yet: ") {
			t.Errorf("told %+v", e)
		}
	}
}

func TestHealthyEndsAtAFailure(t *testing.T) {
	s := newStage(t)
	job := s.create(t, "jobs", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: 'x'}]}}}")
	const failed = `{"status":{"startTime":"2026-01-01T00:00:00Z","failed":1,"conditions":[` +
		`{"type":"FailureTarget","status":"True","reason":"BackoffLimitExceeded","message":"too often"},{"type":"Failed","status":"True","reason":"BackoffLimitExceeded","message":"too often"}]}}`
	if _, err := s.resource("jobs").Patch(t.Context(), "j", types.MergePatchType, []byte(failed), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	var wait *WaitError
	if err := s.waiter.Healthy(within(t, time.Minute), []object.Ref{job}); !errors.As(err, &wait) || wait.Err != nil ||
		!strings.Contains(err.Error(), "Job/"+s.namespace+"/j is not healthy: Failed") {
		t.Errorf("healthy: %v", err)
	}
	if err := s.waiter.Complete(within(t, time.Minute), []object.Ref{job}); !errors.As(err, &wait) || !strings.Contains(err.Error(), "too often") {
		t.Errorf("complete: %v", err)
	}
	if time.Since(began) > 10*time.Second {
		t.Errorf("it took %s", time.Since(began))
	}
	if err := s.waiter.Ready(within(t, time.Second), []object.Ref{job}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("ready: %v, want patience", err)
	}
}

func TestComplete(t *testing.T) {
	s := newStage(t)
	job := s.create(t, "jobs", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: 'x'}]}}}")
	if err := s.waiter.Complete(within(t, time.Minute), []object.Ref{job}); err != nil {
		t.Fatal(err)
	}
	live, err := s.resource("jobs").Get(t.Context(), "j", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, done := condition(live, "Complete"); !done {
		t.Error("it was called complete and is not")
	}
}

func TestDeletedNamesTheFinalizer_B8(t *testing.T) {
	s := newStage(t)
	stuck := s.create(t, "configmaps", configMap("stuck", "test.zarf-host.dev/stuck"))
	gone := s.create(t, "configmaps", configMap("gone"))
	for _, ref := range []object.Ref{stuck, gone} {
		if err := s.resource("configmaps").Delete(t.Context(), ref.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	unknown := object.Ref{APIVersion: "test.zarf-host.dev/v9", Kind: "Nothing", Namespace: s.namespace, Name: "x"}
	if err := s.waiter.Deleted(within(t, time.Minute), []object.Ref{gone, unknown}); err != nil {
		t.Error(err)
	}
	err := s.waiter.Deleted(within(t, time.Second), []object.Ref{stuck, gone})
	if err == nil || !strings.Contains(err.Error(), "ConfigMap/"+s.namespace+"/stuck is not deleted: it waits for its finalizers: test.zarf-host.dev/stuck") {
		t.Errorf("%v, want the finalizer named", err)
	}
	free := func() {
		_, err := s.resource("configmaps").Patch(context.Background(), "stuck", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		if err != nil {
			t.Error(err)
		}
	}
	time.AfterFunc(500*time.Millisecond, free)
	if err := s.waiter.Deleted(within(t, time.Minute), []object.Ref{stuck}); err != nil {
		t.Error(err)
	}
}

// A kind whose definition comes after the waiting began is found.
func TestKindThatComesLater_H11(t *testing.T) {
	s := newStage(t)
	crds := s.dynamic.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crontabs.test.zarf-host.dev}
spec:
  group: test.zarf-host.dev
  scope: Namespaced
  names: {plural: crontabs, singular: crontab, kind: CronTab}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]`
	ref := object.Ref{APIVersion: "test.zarf-host.dev/v1", Kind: "CronTab", Namespace: s.namespace, Name: "x"}
	if err := s.waiter.Healthy(within(t, 300*time.Millisecond), []object.Ref{ref}); err == nil || !strings.Contains(err.Error(), errUnknownKind.Error()) {
		t.Fatalf("before the kind exists: %v", err)
	}
	done := make(chan error, 1)
	ctx := within(t, time.Minute)
	go func() { done <- s.waiter.Healthy(ctx, []object.Ref{ref}) }()
	crd := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(definition), &crd.Object); err != nil {
		t.Fatal(err)
	}
	if _, err := crds.Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = crds.Delete(context.Background(), crd.GetName(), metav1.DeleteOptions{}) })
	established := object.Ref{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition", Name: crd.GetName()}
	if err := s.waiter.Ready(within(t, time.Minute), []object.Ref{established}); err != nil {
		t.Fatal(err)
	}
	s.create(t, "crontabs", "apiVersion: test.zarf-host.dev/v1\nkind: CronTab\nmetadata: {name: x}")
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestWaitEndsWithTheCut(t *testing.T) {
	s := newStage(t)
	absent := object.Ref{APIVersion: "v1", Kind: "Secret", Namespace: s.namespace, Name: "absent"}
	time.AfterFunc(300*time.Millisecond, func() { s.Cut("the operation was cancelled") })
	began := time.Now()
	err := s.waiter.Ready(within(t, time.Minute), []object.Ref{absent})
	if err == nil || !strings.Contains(err.Error(), "the operation was cancelled") || time.Since(began) > 5*time.Second {
		t.Errorf("after %s: %v", time.Since(began), err)
	}
}
