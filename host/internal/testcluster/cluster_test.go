package testcluster_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/zarf-host/zarf-host/host/internal/faultproxy"
	"github.com/zarf-host/zarf-host/host/internal/testcluster"
)

func TestMain(m *testing.M) { os.Exit(testcluster.Main(m)) }

func client(t *testing.T, kubeconfig string) kubernetes.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func eventually(t *testing.T, what string, check func(context.Context) (bool, error)) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		var ok bool
		ok, last = check(ctx)
		return ok && last == nil, nil
	})
	if err != nil {
		t.Fatalf("waiting for %s: %v (%v)", what, err, last)
	}
}

func pods(labels map[string]string, policy core.RestartPolicy, mounts ...core.VolumeMount) core.PodTemplateSpec {
	return core.PodTemplateSpec{
		ObjectMeta: meta.ObjectMeta{Labels: labels},
		Spec: core.PodSpec{
			RestartPolicy: policy,
			Containers:    []core.Container{{Name: "main", Image: "example.test/app:1", VolumeMounts: mounts}},
		},
	}
}

func TestWorkloadsBecomeReady(t *testing.T) {
	c := testcluster.Shared(t)
	ns, api, ctx := c.Namespace(t), c.Client(), t.Context()
	two, none := int32(2), int32(0)

	web := map[string]string{"app": "web"}
	if _, err := api.AppsV1().Deployments(ns).Create(ctx, &apps.Deployment{
		ObjectMeta: meta.ObjectMeta{Name: "web"},
		Spec: apps.DeploymentSpec{Replicas: &two, Selector: &meta.LabelSelector{MatchLabels: web},
			Template: pods(web, core.RestartPolicyAlways)},
	}, meta.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	db := map[string]string{"app": "db"}
	if _, err := api.AppsV1().StatefulSets(ns).Create(ctx, &apps.StatefulSet{
		ObjectMeta: meta.ObjectMeta{Name: "db"},
		Spec: apps.StatefulSetSpec{Replicas: &two, ServiceName: "db", Selector: &meta.LabelSelector{MatchLabels: db},
			Template: pods(db, core.RestartPolicyAlways, core.VolumeMount{Name: "data", MountPath: "/data"}),
			VolumeClaimTemplates: []core.PersistentVolumeClaim{{
				ObjectMeta: meta.ObjectMeta{Name: "data"},
				Spec: core.PersistentVolumeClaimSpec{
					AccessModes: []core.PersistentVolumeAccessMode{core.ReadWriteOnce},
					Resources:   core.VolumeResourceRequirements{Requests: core.ResourceList{core.ResourceStorage: resource.MustParse("1Gi")}},
				},
			}},
		},
	}, meta.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for name, labels := range map[string]map[string]string{
		"good": nil,
		"bad":  {"devcluster.zarf-host.dev/outcome": "failed"},
	} {
		if _, err := api.BatchV1().Jobs(ns).Create(ctx, &batch.Job{
			ObjectMeta: meta.ObjectMeta{Name: name},
			Spec:       batch.JobSpec{BackoffLimit: &none, Template: pods(labels, core.RestartPolicyNever)},
		}, meta.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}

	eventually(t, "the deployment", func(ctx context.Context) (bool, error) {
		d, err := api.AppsV1().Deployments(ns).Get(ctx, "web", meta.GetOptions{})
		return err == nil && d.Status.AvailableReplicas == 2, err
	})
	eventually(t, "the stateful set", func(ctx context.Context) (bool, error) {
		s, err := api.AppsV1().StatefulSets(ns).Get(ctx, "db", meta.GetOptions{})
		return err == nil && s.Status.ReadyReplicas == 2, err
	})
	eventually(t, "the job that completes", func(ctx context.Context) (bool, error) {
		j, err := api.BatchV1().Jobs(ns).Get(ctx, "good", meta.GetOptions{})
		return err == nil && j.Status.Succeeded == 1, err
	})
	eventually(t, "the job that fails", func(ctx context.Context) (bool, error) {
		j, err := api.BatchV1().Jobs(ns).Get(ctx, "bad", meta.GetOptions{})
		return err == nil && j.Status.Failed == 1, err
	})

	claim, err := api.CoreV1().PersistentVolumeClaims(ns).Get(ctx, "data-db-0", meta.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if claim.Status.Phase != core.ClaimBound {
		t.Errorf("the claim is %s", claim.Status.Phase)
	}
	// With the pods and the claim, the volume goes too.
	if err := api.AppsV1().StatefulSets(ns).Delete(ctx, "db", meta.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := api.CoreV1().PersistentVolumeClaims(ns).Delete(ctx, claim.Name, meta.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the volume to go", func(ctx context.Context) (bool, error) {
		_, err := api.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, meta.GetOptions{})
		return errors.IsNotFound(err), nil
	})
}

func TestUserMayDoOnlyWhatIsAllowed(t *testing.T) {
	c := testcluster.Shared(t)
	ns := c.Namespace(t)
	user := "jane-of-" + ns
	jane := client(t, c.User(t, user))
	if _, err := jane.CoreV1().Secrets(ns).List(t.Context(), meta.ListOptions{}); !errors.IsForbidden(err) {
		t.Fatalf("before Allow: %v", err)
	}
	c.Allow(t, user, ns, rbac.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"list"}})
	c.Allow(t, user, "", rbac.PolicyRule{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"list"}})
	eventually(t, "both rules to work", func(ctx context.Context) (bool, error) {
		if _, err := jane.CoreV1().Secrets(ns).List(ctx, meta.ListOptions{}); err != nil {
			return false, err
		}
		_, err := jane.CoreV1().Nodes().List(ctx, meta.ListOptions{})
		return err == nil, err
	})
	if _, err := jane.CoreV1().Secrets("default").List(t.Context(), meta.ListOptions{}); !errors.IsForbidden(err) {
		t.Errorf("in another namespace: %v", err)
	}
}

func newConfigMap(name string) *core.ConfigMap {
	return &core.ConfigMap{ObjectMeta: meta.ObjectMeta{Name: name}}
}

func TestProxyBreaksOneRequest(t *testing.T) {
	c := testcluster.Shared(t)
	ns := c.Namespace(t)
	proxy, kubeconfig := c.Proxy(t)
	maps := client(t, kubeconfig).CoreV1().ConfigMaps(ns)
	tests := []struct {
		fault faultproxy.Fault
		is    func(error) bool
		kept  bool // the object is there in spite of the error
	}{
		{faultproxy.Status(http.StatusForbidden), errors.IsForbidden, false},
		{faultproxy.Status(http.StatusConflict), errors.IsConflict, false},
		{faultproxy.Status(http.StatusTooManyRequests), errors.IsTooManyRequests, false},
		{faultproxy.Status(http.StatusInternalServerError), errors.IsInternalError, false},
		{faultproxy.Status(http.StatusServiceUnavailable), errors.IsServiceUnavailable, false},
		{faultproxy.Reset(), func(err error) bool { return err != nil }, false},
		{faultproxy.Lost(), func(err error) bool { return err != nil }, true},
		{faultproxy.RetryAfter(http.StatusTooManyRequests, time.Second), func(err error) bool { return err == nil }, true},
	}
	for i, tt := range tests {
		t.Run(tt.fault.String(), func(t *testing.T) {
			proxy.Reset()
			proxy.Inject(faultproxy.Rule{At: 1, Fault: tt.fault})
			name := fmt.Sprintf("broken-%d", i)
			if _, err := maps.Create(t.Context(), newConfigMap(name), meta.CreateOptions{}); !tt.is(err) {
				t.Errorf("got %v", err)
			}
			_, err := c.Client().CoreV1().ConfigMaps(ns).Get(t.Context(), name, meta.GetOptions{})
			if kept := err == nil; kept != tt.kept {
				t.Errorf("the object is there: %v, want %v", kept, tt.kept)
			}
		})
	}
}

func TestProxyCountsChangesAndLetsWatchesThrough(t *testing.T) {
	c := testcluster.Shared(t)
	ns := c.Namespace(t)
	proxy, kubeconfig := c.Proxy(t)
	maps := client(t, kubeconfig).CoreV1().ConfigMaps(ns)
	watch, err := maps.Watch(t.Context(), meta.ListOptions{FieldSelector: "metadata.name=one"})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	if _, err := maps.Create(t.Context(), newConfigMap("one"), meta.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := maps.Create(t.Context(), newConfigMap("dry"), meta.CreateOptions{DryRun: []string{"All"}}); err != nil {
		t.Fatal(err)
	}
	if err := maps.Delete(t.Context(), "one", meta.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ADDED", "DELETED"} {
		select {
		case event := <-watch.ResultChan():
			if string(event.Type) != want {
				t.Errorf("event %s, want %s", event.Type, want)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("no event %s", want)
		}
	}
	requests := proxy.Requests()
	if len(requests) != 2 || requests[0].Method != "POST" || requests[1].Method != "DELETE" || requests[0].Status != 201 {
		t.Errorf("counted %+v", requests)
	}
}

func TestProxyPassesTokensOn(t *testing.T) {
	c := testcluster.Shared(t)
	proxy, _ := c.Proxy(t)
	for _, tt := range []struct {
		token string
		want  int
	}{{"", http.StatusOK}, {"Bearer nonsense", http.StatusUnauthorized}} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", proxy.URL()+"/api/v1/nodes", nil)
		if err != nil {
			t.Fatal(err)
		}
		if tt.token != "" {
			r.Header.Set("Authorization", tt.token)
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != tt.want {
			t.Errorf("token %q: status %d, want %d", tt.token, response.StatusCode, tt.want)
		}
	}
}

func TestRestartAPIServerKeepsData(t *testing.T) {
	c := testcluster.Private(t)
	ns := c.Namespace(t)
	maps := c.Client().CoreV1().ConfigMaps(ns)
	if _, err := maps.Create(t.Context(), newConfigMap("kept"), meta.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	watch, err := maps.Watch(t.Context(), meta.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	c.RestartAPIServer(t, 0)
	timeout := time.After(30 * time.Second)
	for open := true; open; {
		select {
		case _, open = <-watch.ResultChan():
		case <-timeout:
			t.Fatal("a watch outlived the API server: it was not restarted")
		}
	}
	if _, err := maps.Get(t.Context(), "kept", meta.GetOptions{}); err != nil {
		t.Errorf("after the restart: %v", err)
	}
}
