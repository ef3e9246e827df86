package wait

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/zarf-host/zarf-host/host/internal/testcluster"
)

func TestMain(m *testing.M) { os.Exit(testcluster.Main(m)) }

func wait(t *testing.T, config *rest.Config, target Target, limit time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	return Resource(ctx, config, target)
}

func TestResource(t *testing.T) {
	cluster := testcluster.Shared(t)
	ns := cluster.Namespace(t)
	labels := map[string]string{"app": "web"}
	create(t, cluster, ns, labels)

	for _, tc := range []struct {
		kind, name, condition string
		want                  string // in the error of a timeout; empty when it is met
	}{
		{"Deployment", "web", "", ""},
		{"deploy", "web", "available", ""},
		{"deployments.apps", "web", "exists", ""},
		{"deployments.v1.apps", "web", "exists", ""},
		{"po", "app=web", "Ready", ""},
		{"pod", "app=web", "'{.status.phase}'=Running", ""},
		{"pod", "", "exists", ""},
		{"deployment", "web", "{.status.readyReplicas}=2", ""},
		{"namespace", ns, "{.status.phase}=Active", ""},
		{"cm", "nope", "delete", ""},
		{"unknownkind", "x", "delete", ""},
		{"cm", "nope", "exists", "nothing of that name exists"},
		{"pod", "app=other", "ready", "nothing of that name exists"},
		{"deployment", "web", "nope", "has no condition nope"},
		{"deployment", "web", "delete", "web still exists"},
		{"unknownkind", "x", "", "unknownkind"},
	} {
		limit := 30 * time.Second
		if tc.want != "" {
			limit = 1500 * time.Millisecond
		}
		err := wait(t, cluster.REST(), Target{Kind: tc.kind, Identifier: tc.name, Namespace: ns, Condition: tc.condition}, limit)
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("%+v: %v", tc, err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || !errors.Is(err, context.DeadlineExceeded)):
			t.Errorf("%+v: got %v, want a timeout with %q", tc, err, tc.want)
		}
	}
}

func create(t *testing.T, cluster *testcluster.Cluster, ns string, labels map[string]string) {
	t.Helper()
	two := int32(2)
	_, err := cluster.Client().AppsV1().Deployments(ns).Create(t.Context(), &apps.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: apps.DeploymentSpec{
			Replicas: &two,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: core.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       core.PodSpec{Containers: []core.Container{{Name: "web", Image: "example.com/web:1"}}},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// A kind whose definition is installed while somebody waits for it is found (H11).
func TestH11KindArrivesLater(t *testing.T) {
	cluster := testcluster.Shared(t)
	ns := cluster.Namespace(t)
	client, err := dynamic.NewForConfig(cluster.REST())
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		done <- wait(t, cluster.REST(), Target{Kind: "Gadget", Identifier: "late", Namespace: ns, Condition: "exists"}, time.Minute)
	}()
	time.Sleep(1500 * time.Millisecond) // it has looked, and not found the kind

	crds := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	crd := object(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.wait.example.com}
spec:
  group: wait.example.com
  names: {kind: Gadget, plural: gadgets, singular: gadget}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`)
	if _, err := crds.Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := crds.Delete(context.WithoutCancel(t.Context()), crd.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	if err := wait(t, cluster.REST(), Target{Kind: "crd", Identifier: crd.GetName(), Condition: "established"}, time.Minute); err != nil {
		t.Fatal(err)
	}
	gadgets := client.Resource(schema.GroupVersionResource{Group: "wait.example.com", Version: "v1", Resource: "gadgets"}).Namespace(ns)
	gadget := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "wait.example.com/v1", "kind": "Gadget", "metadata": map[string]any{"name": "late"},
	}}
	if _, err := gadgets.Create(t.Context(), gadget, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestDeniedAccessEndsTheWait(t *testing.T) {
	cluster := testcluster.Shared(t)
	config := rest.CopyConfig(cluster.REST())
	config.Impersonate.UserName = "nobody-in-particular"
	err := wait(t, config, Target{Kind: "secret", Identifier: "x", Condition: "exists"}, time.Minute)
	if err == nil || !strings.Contains(err.Error(), "forbidden") || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// An unusable configuration ends the wait at once (H13).
func TestH13UnusableConfig(t *testing.T) {
	unauthorized := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Unauthorized","code":401}`)
	}))
	defer unauthorized.Close()
	stranger := httptest.NewTLSServer(http.NotFoundHandler())
	defer stranger.Close()

	for name, config := range map[string]*rest.Config{
		"missing file":        {Host: "https://127.0.0.1:1", TLSClientConfig: rest.TLSClientConfig{CAFile: "/no/such/file"}},
		"not an address":      {Host: "https://%zz"},
		"refused credentials": {Host: unauthorized.URL},
		"unknown authority":   {Host: stranger.URL},
	} {
		start := time.Now()
		err := wait(t, config, Target{Kind: "pod", Identifier: "x"}, time.Minute)
		if took := time.Since(start); err == nil || took > 5*time.Second {
			t.Errorf("%s: got %v after %s", name, err, took)
		}
	}
}

// A server that is not up yet is waited for.
func TestServerThatIsDown(t *testing.T) {
	err := wait(t, &rest.Config{Host: "http://127.0.0.1:1"}, Target{Kind: "pod", Identifier: "x"}, 1500*time.Millisecond)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got %v", err)
	}
}

func TestResourceRefusesAtOnce(t *testing.T) {
	for _, target := range []Target{
		{Kind: "pod", Identifier: "a=b=c"},
		{Kind: "pod", Identifier: "x", Condition: "{.status"},
	} {
		if err := wait(t, &rest.Config{Host: "http://127.0.0.1:1"}, target, time.Minute); err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%+v: got %v", target, err)
		}
	}
}
