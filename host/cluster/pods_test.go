package cluster

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/zarf-host/zarf-host/host/internal/testcluster"
	"github.com/zarf-host/zarf-host/host/object"
)

// A pod counts while it runs or is about to, and what is above it lives. ConfigMaps stand in for what
// owns it: no controller makes anything of them.
func TestPodImages(t *testing.T) {
	control := testcluster.Shared(t)
	ns := control.Namespace(t)
	api := control.Client().CoreV1()
	owner := func(name string, annotations map[string]string, above *corev1.ConfigMap) *corev1.ConfigMap {
		t.Helper()
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}}
		if above != nil {
			cm.OwnerReferences = ownedBy(above.Name, above.UID)
		}
		made, err := api.ConfigMaps(ns).Create(t.Context(), cm, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	pod := func(name string, owners []metav1.OwnerReference, image string) {
		t.Helper()
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners},
			Spec: corev1.PodSpec{
				NodeName:       "nowhere", // nothing starts it
				InitContainers: []corev1.Container{{Name: "i", Image: "reg.test/" + image + "-init"}},
				Containers:     []corev1.Container{{Name: "c", Image: "reg.test/" + image}, {Name: "d", Image: "other.test/x"}},
			},
		}
		if _, err := api.Pods(ns).Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	top := owner("top", map[string]string{"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": ns}, nil)
	middle := owner("middle", nil, top)
	pod("alone", nil, "alone")
	pod("released", ownedBy(middle.Name, middle.UID), "released")
	pod("unknown", []metav1.OwnerReference{controller("none.test/v1", "Thing", "t", "1")}, "unknown")
	pod("done", nil, "done")
	done, err := api.Pods(ns).Get(t.Context(), "done", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	done.Status.Phase = corev1.PodSucceeded
	if _, err := api.Pods(ns).UpdateStatus(t.Context(), done, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}

	c, err := Connect(t.Context(), Options{Kubeconfig: control.Kubeconfig()})
	if err != nil {
		t.Fatal(err)
	}
	look := func() []string {
		t.Helper()
		found, err := c.PodImages(t.Context(), func(reference string) bool { return strings.HasPrefix(reference, "reg.test/") })
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, i := range found {
			if i.Namespace == ns { // other tests have pods too
				line := strings.TrimPrefix(i.Reference, "reg.test/")
				if i.Release != (object.Release{}) {
					line += " of " + i.Release.Name
				}
				out = append(out, line)
			}
		}
		slices.Sort(out)
		return out
	}
	want := []string{"alone", "alone-init", "released of web", "released-init of web", "unknown", "unknown-init"}
	if got := look(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	// The garbage collector takes the rest in its time: what is above the pod is gone at once.
	policy := metav1.DeletePropagationOrphan
	if err := api.ConfigMaps(ns).Delete(t.Context(), "top", metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	pod("going", ownedBy("top", top.UID), "going")
	pod("replaced", ownedBy(middle.Name, "another"), "replaced")
	if got := look(); slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "going") || strings.HasPrefix(s, "replaced") }) {
		t.Errorf("pods whose owners are gone count: %v", got)
	}

	narrow := testcluster.Shared(t).User(t, "sees-no-pods")
	c, err = Connect(t.Context(), Options{Kubeconfig: narrow})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.PodImages(t.Context(), func(string) bool { return true }); !IsForbidden(err) {
		t.Errorf("without the right: %v", err)
	}
	if err := c.Records().MayList(t.Context()); !IsForbidden(err) || !strings.Contains(err.Error(), `"zarf"`) {
		t.Errorf("without the right to read records: %v", err)
	}
}

func ownedBy(name string, uid types.UID) []metav1.OwnerReference {
	return []metav1.OwnerReference{controller("v1", "ConfigMap", name, uid)}
}

func controller(apiVersion, kind, name string, uid types.UID) metav1.OwnerReference {
	yes := true
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: uid, Controller: &yes}
}
