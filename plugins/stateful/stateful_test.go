package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/plugins/internal/plugintest"
	"github.com/zarf-host/zarf-host/plugins/sdk"
)

// cluster answers as the host does, from objects by kind.
type cluster map[string][]string

func (c cluster) answer(t *testing.T) func([]byte) []byte {
	return func(request []byte) []byte {
		call, err := hook.ParseCall(request)
		if err != nil {
			t.Errorf("the host refuses %s: %v", request, err)
			return hook.Refuse(hook.CodeInvalid, err.Error())
		}
		if call.Op != hook.OpList || call.Namespace == "" {
			t.Errorf("it asks %s", request)
		}
		if message, ok := c["error"]; ok {
			return hook.Refuse(hook.CodeForbidden, message[0])
		}
		return []byte(`{"items":[` + strings.Join(c[call.Kind], ",") + `]}`)
	}
}

func object(name, spec string, owners ...string) string {
	var refs []string
	for _, kind := range owners {
		refs = append(refs, fmt.Sprintf(`{"kind":%q,"name":"x","controller":true}`, kind))
	}
	return fmt.Sprintf(`{"metadata":{"namespace":"db","name":%q,"ownerReferences":[%s]},"spec":%s}`, name, strings.Join(refs, ","), spec)
}

const (
	mounts    = `{"volumes":[{"name":"c"},{"name":"d","persistentVolumeClaim":{"claimName":"data"}}]}`
	templated = `{"template":{"spec":` + mounts + `}}`
	cron      = `{"jobTemplate":{"spec":` + templated + `}}`
	set       = `{"volumeClaimTemplates":[{"metadata":{"name":"data"}}],"template":{"spec":{}}}`
	wiped     = `{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Delete"},"volumeClaimTemplates":[{"metadata":{"name":"data"}}]}`
)

func TestJudge(t *testing.T) {
	pvc := sdk.Object{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: "db", Name: "data"}
	made := sdk.Object{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: "db", Name: "data-pg-0"}
	pg := sdk.Object{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: "db", Name: "pg"}
	front := sdk.Object{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "db", Name: "front"}
	ns := sdk.Object{APIVersion: "v1", Kind: "Namespace", Name: "db"}
	claim := func(name string) []string { return []string{object(name, `{}`)} }
	tests := map[string]struct {
		cluster cluster
		config  map[string]any
		going   []sdk.Object
		verdict hook.Verdict
		found   []string
		kept    string
	}{
		"nothing stateful":      {cluster{"error": {"it must not be asked"}}, nil, []sdk.Object{front}, hook.Allow, nil, ""},
		"unused":                {cluster{}, nil, []sdk.Object{pvc}, hook.Allow, nil, ""},
		"used by a pod":         {cluster{"Pod": {object("p", mounts)}}, nil, []sdk.Object{pvc}, hook.Deny, []string{"used by Pod/db/p, which stays"}, ""},
		"used by a deployment":  {cluster{"Deployment": {object("front", templated)}}, nil, []sdk.Object{pvc}, hook.Deny, []string{"Deployment/db/front"}, ""},
		"used by a cron job":    {cluster{"CronJob": {object("c", cron)}}, nil, []sdk.Object{pvc}, hook.Deny, []string{"CronJob/db/c"}, ""},
		"its user goes too":     {cluster{"Deployment": {object("front", templated)}}, nil, []sdk.Object{pvc, front}, hook.Allow, nil, ""},
		"pods of what goes":     {cluster{"Deployment": {object("front", templated)}, "ReplicaSet": {object("front-1", templated, "Deployment")}, "Pod": {object("front-1-a", mounts, "ReplicaSet")}}, nil, []sdk.Object{pvc, front}, hook.Allow, nil, ""},
		"pods of an operator":   {cluster{"Pod": {object("pg-1", mounts, "Cluster")}}, nil, []sdk.Object{pvc}, hook.Deny, []string{"Pod/db/pg-1"}, ""},
		"made by a set":         {cluster{"StatefulSet": {object("pg", set)}}, nil, []sdk.Object{made}, hook.Deny, []string{"StatefulSet/db/pg"}, ""},
		"made by another set":   {cluster{"StatefulSet": {object("p", set)}}, nil, []sdk.Object{made}, hook.Allow, nil, ""},
		"claims left behind":    {cluster{"StatefulSet": {object("pg", set)}, "PersistentVolumeClaim": {object("data-pg-0", `{}`), object("data-pg-x", `{}`), object("other", `{}`)}}, nil, []sdk.Object{pg}, hook.Allow, []string{"StatefulSet/db/pg leaves its claims behind: data-pg-0"}, ""},
		"claims that go along":  {cluster{"StatefulSet": {object("pg", wiped)}, "PersistentVolumeClaim": claim("data-pg-0")}, nil, []sdk.Object{pg}, hook.Deny, []string{"its claims go with it: data-pg-0"}, ""},
		"a set without claims":  {cluster{"StatefulSet": {object("pg", wiped)}}, nil, []sdk.Object{pg}, hook.Allow, nil, ""},
		"a set that is gone":    {cluster{"PersistentVolumeClaim": claim("data-pg-0")}, nil, []sdk.Object{pg}, hook.Allow, nil, ""},
		"namespace with claims": {cluster{"PersistentVolumeClaim": claim("data")}, nil, []sdk.Object{ns}, hook.Deny, []string{"Namespace/db would be pruned, but claims go with it that the plan does not name: data"}, ""},
		"namespace, all named":  {cluster{"PersistentVolumeClaim": claim("data")}, nil, []sdk.Object{ns, pvc}, hook.Allow, nil, ""},
		"allowed":               {cluster{"Pod": {object("p", mounts)}}, map[string]any{"allow": []any{"PersistentVolumeClaim/db/*"}}, []sdk.Object{pvc}, hook.Allow, nil, ""},
		"another one allowed":   {cluster{"Pod": {object("p", mounts)}}, map[string]any{"allow": []any{"PersistentVolumeClaim/data"}}, []sdk.Object{pvc}, hook.Deny, []string{"db/data"}, ""},
		"keep":                  {cluster{"Pod": {object("p", mounts)}}, map[string]any{"action": "keep"}, []sdk.Object{pvc}, hook.Warn, []string{"keeping PersistentVolumeClaim/db/data: it is used by"}, "PersistentVolumeClaim/db/data"},
		"another group's set":   {cluster{"error": {"it must not be asked"}}, nil, []sdk.Object{{APIVersion: "example.org/v1", Kind: "StatefulSet", Namespace: "db", Name: "pg"}}, hook.Allow, nil, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Cleanup(sdk.UseHost(tt.cluster.answer(t)))
			res, err := ask(t, tt.config, tt.going)
			if err != nil {
				t.Fatal(err)
			}
			if res.Verdict != tt.verdict || len(res.Findings) != len(tt.found) {
				t.Fatalf("answer is %+v, wanted %s with %q", res, tt.verdict, tt.found)
			}
			for i, want := range tt.found {
				if f := res.Findings[i]; !strings.Contains(f.Message, want) || f.Object == nil || (f.Severity != hook.SeverityInfo) != (f.Remedy != "") {
					t.Errorf("finding is %+v, wanted %q", f, want)
				}
			}
			kept := ""
			for _, k := range res.Keep {
				kept += k.Object.String()
			}
			if kept != tt.kept {
				t.Errorf("kept %q, wanted %q", kept, tt.kept)
			}
		})
	}
}

// What is not known is no reason to let go, and one question is put once.
func TestJudgeFails(t *testing.T) {
	pvc := sdk.Object{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: "db", Name: "data"}
	t.Cleanup(sdk.UseHost(cluster{"error": {"not granted"}}.answer(t)))
	if _, err := ask(t, nil, []sdk.Object{pvc}); err == nil || !strings.Contains(err.Error(), "who uses it cannot be told: listing PersistentVolumeClaim: forbidden: not granted") {
		t.Errorf("error is %v", err)
	}
	asked := 0
	sdk.UseHost(func([]byte) []byte { asked++; return []byte(`{"items":[]}`) })
	if _, err := ask(t, nil, []sdk.Object{pvc, pvc, pvc}); err != nil || asked != 1+len(workloadKinds()) {
		t.Errorf("it asked %d times, %v", asked, err)
	}
	sdk.UseHost(func([]byte) []byte { return []byte(`{"items":[],"truncated":true}`) })
	if _, err := ask(t, nil, []sdk.Object{pvc}); err == nil || !strings.Contains(err.Error(), "more than the limit") {
		t.Errorf("error is %v", err)
	}
	for config, want := range map[string]string{
		`{"action":"shout"}`:         "neither deny nor keep",
		`{"deny":true}`:              "unknown field",
		`{"allow":["Secret"]}`:       "neither Kind/namespace/name",
		`{"allow":["Secret/a/[b"]}`:  "syntax error",
		`{"allow":["Namespace//a"]}`: "empty part",
	} {
		var c map[string]any
		if err := json.Unmarshal([]byte(config), &c); err != nil {
			t.Fatal(err)
		}
		if _, err := ask(t, c, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v, wanted %q", config, err, want)
		}
	}
}

// ask puts a prune to the plugin as the host does, and reads the answer as the host does.
func ask(t *testing.T, config map[string]any, going []sdk.Object) (hook.Response, error) {
	t.Helper()
	plan, err := json.Marshal(map[string]any{"prune": map[string]any{"objects": going}, "digest": "d"})
	if err != nil {
		t.Fatal(err)
	}
	req := hook.Request{ID: "r1", Hook: hook.PrePrune, Time: time.Unix(1, 0), Plan: plan, Config: config}
	return plugintest.Judge(judge).Try(t, req)
}
