package cluster

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestJudges(t *testing.T) {
	const failedJob = `{"apiVersion":"batch/v1","kind":"Job","status":{"failed":1,"conditions":[{"type":"Failed","status":"True","message":"too often"}]}}`
	tests := map[string]struct {
		judge  judge
		object string
		want   judgement
	}{
		"ready: absent":  {ready, ``, judgement{why: "it does not exist"}},
		"ready: current": {ready, `{"apiVersion":"v1","kind":"ConfigMap"}`, judgement{done: true, why: "Current: Resource is always ready"}},
		"ready: failed":  {ready, failedJob, judgement{why: "Failed: Job Failed. failed: 1/1"}},
		"healthy: failed": {healthy, failedJob, judgement{failed: true,
			why: "Failed: Job Failed. failed: 1/1"}},
		"complete: failed job": {complete, failedJob, judgement{failed: true, why: "it failed: too often"}},
		"complete: job at work": {complete, `{"apiVersion":"batch/v1","kind":"Job","status":{"active":2}}`,
			judgement{why: "it is not complete; pods at work: 2"}},
		"complete: job": {complete, `{"apiVersion":"batch/v1","kind":"Job","status":{"conditions":[{"type":"Complete","status":"True"}]}}`,
			judgement{done: true}},
		"complete: pod at work": {complete, `{"apiVersion":"v1","kind":"Pod","status":{"phase":"Running"}}`, judgement{why: "its phase is Running"}},
		"complete: failed pod":  {complete, `{"apiVersion":"v1","kind":"Pod","status":{"phase":"Failed"}}`, judgement{failed: true, why: "it failed"}},
		"complete: pod":         {complete, `{"apiVersion":"v1","kind":"Pod","status":{"phase":"Succeeded"}}`, judgement{done: true}},
		"complete: other":       {complete, `{"apiVersion":"v1","kind":"ConfigMap"}`, judgement{done: true}},
		"complete: absent":      {complete, ``, judgement{why: "it does not exist"}},
		"deleted: absent":       {deleted, ``, judgement{done: true}},
		"deleted: untouched":    {deleted, `{"apiVersion":"v1","kind":"ConfigMap"}`, judgement{why: "nobody asked for its deletion"}},
		"deleted: B8": {deleted, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["a/b","c/d"]}}`,
			judgement{why: "it waits for its finalizers: a/b, c/d"}},
		"deleted: namespace": {deleted, `{"apiVersion":"v1","kind":"Namespace","metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"},"spec":{"finalizers":["kubernetes"]},` +
			`"status":{"conditions":[{"type":"NamespaceContentRemaining","status":"True","message":"pods. has 1 resource instances"}]}}`,
			judgement{why: "it is being emptied: pods. has 1 resource instances"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var found *unstructured.Unstructured
			if test.object != "" {
				found = &unstructured.Unstructured{}
				if err := found.UnmarshalJSON([]byte(test.object)); err != nil {
					t.Fatal(err)
				}
			}
			got, err := test.judge(found)
			if err != nil || got != test.want {
				t.Errorf("%+v, %v\nwant %+v", got, err, test.want)
			}
		})
	}
}
