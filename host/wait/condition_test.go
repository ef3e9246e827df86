package wait

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, generation: 2}
spec: {replicas: 2}
status:
  observedGeneration: 2
  replicas: 2
  updatedReplicas: 2
  availableReplicas: 2
  readyReplicas: 2
  phase: Ready
  list: [{size: 1, open: true}, {size: 1, open: false}]
  conditions:
  - {type: Available, status: "True"}
  - {type: Progressing, status: "False", message: stuck}
  - {type: Old, status: "True", observedGeneration: 1}
`

func object(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := o.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestConditions(t *testing.T) {
	for _, tc := range []struct {
		text string
		want string // in the reason why it is not met; empty when it is
	}{
		{"", ""},
		{"exists", ""},
		{"exist", ""},
		{"available", ""},
		{"Available", ""},
		{"condition=Available", ""},
		{"Available=true", ""},
		{"Available=False", "Available of web is True"},
		{"Progressing", "Progressing of web is False: stuck"},
		{"Progressing=false", ""},
		{"Nope", "has no condition Nope"},
		{"Old", "older than its definition"},
		{"{.status.phase}=Ready", ""},
		{"'{.status.phase}'=Ready", ""},
		{`"{.status.phase}=Ready"`, ""},
		{"jsonpath={.status.phase}=Ready", ""},
		{"jsonpath='{.status.phase}'=Ready", ""},
		{"{.status.phase}=Pending", `is "Ready"`},
		{"{.status.availableReplicas}=2", ""},
		{"{.status.availableReplicas}==2", ""},
		{"{.status.phase}", ""},
		{"{.status.nope}", "has no {.status.nope}"},
		{"{.status.nope}=1", "has no {.status.nope}"},
		{"{.status.list[*].size}=1", ""},
		{"{.status.list[*].open}=true", `is "false"`},
		{"{.status.list[7].size}=1", "out of bounds"},
		{`{.status.conditions[?(@.type=="Available")].status}=True`, ""},
	} {
		c, err := parseCondition(tc.text)
		if err != nil {
			t.Errorf("%q: %v", tc.text, err)
			continue
		}
		err = c.met(object(t, deployment))
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("%q: %v", tc.text, err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%q: got %v, want %q in it", tc.text, err, tc.want)
		}
	}
}

// The API server gives a new CustomResourceDefinition null for conditions: that is waited out, and not the
// end of the wait as a status of another form is.
func TestConditionsToCome(t *testing.T) {
	c, err := parseCondition("Established")
	if err != nil {
		t.Fatal(err)
	}
	for conditions, end := range map[string]bool{"null": false, "[]": false, "soon": true, "{Established: true}": true} {
		err := c.met(object(t, "apiVersion: v1\nkind: Thing\nmetadata: {name: new}\nstatus: {conditions: "+conditions+"}\n"))
		var hopeless hopeless
		if err == nil || errors.As(err, &hopeless) != end {
			t.Errorf("%s: got %v, want the end of the wait: %t", conditions, err, end)
		}
	}
}

func TestReconciledWaits(t *testing.T) {
	c, err := parseCondition("")
	if err != nil {
		t.Fatal(err)
	}
	o := object(t, strings.Replace(deployment, "availableReplicas: 2", "availableReplicas: 1", 1))
	if err := c.met(o); err == nil || !strings.Contains(err.Error(), "web is InProgress") {
		t.Errorf("got %v", err)
	}
}

func TestBadConditions(t *testing.T) {
	for _, text := range []string{"{.status", "{.status.[}=x", "{.status}x", "jsonpath=x"} {
		if _, err := parseCondition(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

func FuzzCondition(f *testing.F) {
	for _, s := range []string{"", "delete", "{.status.phase}=Ready", "jsonpath='{.a[*]}'==x", "Ready=False", `{.a[?(@.b=="c")]}`} {
		f.Add(s)
	}
	o := object(f, deployment)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseCondition(text)
		if err == nil && !c.gone {
			_ = c.met(o)
		}
	})
}
