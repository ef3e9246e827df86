package chart

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func toRegistry(reference string) (string, error) { return "127.0.0.1:31999/" + reference, nil }

func rewritten(t *testing.T, p *Pods, manifest string) map[string]any {
	t.Helper()
	var obj map[string]any
	if err := yaml.Unmarshal([]byte(manifest), &obj); err != nil {
		t.Fatal(err)
	}
	if err := p.rewrite(&unstructured.Unstructured{Object: obj}, "home"); err != nil {
		t.Fatal(err)
	}
	return obj
}

func TestPodsAreWhatTheAgentWouldMakeOfThem(t *testing.T) {
	got := rewritten(t, &Pods{Image: toRegistry, PullSecret: "private-registry"}, `
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  jobTemplate:
    spec:
      template:
        metadata: {labels: {app: nightly}}
        spec:
          imagePullSecrets: [{name: theirs}]
          initContainers: [{name: prepare, image: busybox:1}]
          containers: [{name: main, image: "app:2"}, {name: no-image}]
          volumes:
            - {name: model, image: {reference: "model:3"}}
            - {name: scratch, emptyDir: {}}
`)
	want := map[string]any{}
	if err := yaml.Unmarshal([]byte(`
metadata:
  labels: {app: nightly, zarf-agent: patched}
  annotations:
    zarf.dev/original-image-prepare: busybox:1
    zarf.dev/original-image-main: app:2
    zarf.dev/original-volume-model: model:3
spec:
  imagePullSecrets: [{name: private-registry}]
  initContainers: [{name: prepare, image: "127.0.0.1:31999/busybox:1"}]
  containers: [{name: main, image: "127.0.0.1:31999/app:2"}, {name: no-image}]
  volumes:
    - {name: model, image: {reference: "127.0.0.1:31999/model:3"}}
    - {name: scratch, emptyDir: {}}
`), &want); err != nil {
		t.Fatal(err)
	}
	template, _, _ := unstructured.NestedMap(got, "spec", "jobTemplate", "spec", "template")
	if diff := cmp.Diff(want, template); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPodsThatAreLeftAlone(t *testing.T) {
	const pod = `
apiVersion: v1
kind: Pod
metadata: {name: p, labels: {LABELS}}
spec: {containers: [{name: c, image: "app:1"}]}
`
	tests := []struct {
		name      string
		labels    string
		namespace string // its zarf.dev/agent
		labelled  bool
		changes   bool
	}{
		{name: "plain", changes: true},
		{name: "ignored", labels: "zarf.dev/agent: ignore"},
		{name: "skipped", labels: "zarf.dev/agent: skip"},
		{name: "in an ignored namespace", namespace: "ignore"},
		{name: "patched already", labels: "zarf-agent: patched"},
		{name: "not labelled, where only labelled ones change", labelled: true},
		{name: "labelled", labels: "zarf.dev/agent: mutate", labelled: true, changes: true},
		{name: "in a labelled namespace", namespace: "mutate", labelled: true, changes: true},
		{name: "ignored in a labelled namespace", labels: "zarf.dev/agent: ignore", namespace: "mutate", labelled: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := &Pods{Image: toRegistry, PullSecret: "s", Labelled: test.labelled,
				NamespaceAgent: func(namespace string) string {
					if namespace != "home" {
						t.Errorf("asked about namespace %q", namespace)
					}
					return test.namespace
				}}
			got := rewritten(t, p, strings.ReplaceAll(pod, "LABELS", test.labels))
			containers, _, _ := unstructured.NestedSlice(got, "spec", "containers")
			image := containers[0].(map[string]any)["image"].(string)
			if changed := image != "app:1"; changed != test.changes {
				t.Errorf("image = %q, want it changed: %v", image, test.changes)
			}
		})
	}
}

func TestHooksPullTheSameImages(t *testing.T) {
	w := Wanted{Pods: &Pods{Image: toRegistry, PullSecret: "s"}}
	got, err := w.fillHook("apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {template: {spec: {containers: [{name: c, image: 'app:1'}]}}}\n")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got, "127.0.0.1:31999/app:1") {
		t.Errorf("the hook pulls its own image:\n%s", got)
	}
}

func TestAnnotationNamesAreCutAsTheAgentDoes(t *testing.T) {
	long := strings.Repeat("a", 46) + "-" + strings.Repeat("b", 20)
	got := strings.TrimPrefix(annotationName(annotationImage, long), "zarf.dev/")
	if len(got) > 63 || strings.HasSuffix(got, "-") {
		t.Errorf("%q has %d characters", got, len(got))
	}
}
