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

func objects() []sdk.Object {
	return []sdk.Object{
		{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: "settings"},
		{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: "db", Name: "pg-0", HoldsData: true},
		{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "web", Name: "front", Labels: map[string]string{"tier": "gold"}},
		{APIVersion: "v1", Kind: "Namespace", Name: "prod-eu"},
	}
}

func TestJudge(t *testing.T) {
	tests := map[string]struct {
		config  map[string]any
		verdict string
		found   []string // parts of the findings, in order
		kept    []string
	}{
		"data by default":      {nil, "deny", []string{"PersistentVolumeClaim/db/pg-0 would be pruned (rule data"}, nil},
		"data off":             {map[string]any{"data": false}, "allow", nil, nil},
		"allowed by name":      {map[string]any{"allow": []any{"PersistentVolumeClaim/db/pg-0"}}, "allow", nil, nil},
		"allowed by pattern":   {map[string]any{"allow": []any{"*/db/pg-*"}}, "allow", nil, nil},
		"another one allowed":  {map[string]any{"allow": []any{"PersistentVolumeClaim/db/pg-1"}}, "deny", []string{"pg-0"}, nil},
		"namespace":            {map[string]any{"data": false, "namespaces": []any{"web"}}, "deny", []string{`ConfigMap/web/settings would be pruned (rule namespaces: namespace "web"`, "Deployment/web/front"}, nil},
		"namespace itself":     {map[string]any{"data": false, "namespaces": []any{"prod-*"}}, "deny", []string{`Namespace/prod-eu would be pruned (rule namespaces`}, nil},
		"cluster-wide allowed": {map[string]any{"data": false, "namespaces": []any{"prod-*"}, "allow": []any{"Namespace/prod-eu"}}, "allow", nil, nil},
		"kind":                 {map[string]any{"data": false, "kinds": []any{"Config*"}}, "deny", []string{"ConfigMap/web/settings would be pruned (rule kinds: kind ConfigMap"}, nil},
		"kind in lower case":   {map[string]any{"data": false, "kinds": []any{"configmap"}}, "deny", []string{"ConfigMap/web/settings would be pruned (rule kinds: kind ConfigMap"}, nil},
		"kind in upper case":   {map[string]any{"data": false, "kinds": []any{"CONFIG*"}}, "deny", []string{"ConfigMap/web/settings"}, nil},
		"kind as a resource":   {map[string]any{"data": false, "kinds": []any{"configmaps"}}, "deny", []string{"ConfigMap/web/settings"}, nil},
		"kind by short name":   {map[string]any{"data": false, "kinds": []any{"cm"}}, "deny", []string{"ConfigMap/web/settings"}, nil},
		"allowed as resource":  {map[string]any{"allow": []any{"persistentvolumeclaims/db/pg-0"}}, "allow", nil, nil},
		"allowed, other case":  {map[string]any{"allow": []any{"PersistentVolumeClaim/db/PG-0"}}, "deny", []string{"pg-0"}, nil},
		"label":                {map[string]any{"data": false, "labels": map[string]any{"tier": "gold"}}, "deny", []string{"Deployment/web/front would be pruned (rule labels: label tier=gold"}, nil},
		"label of any value":   {map[string]any{"data": false, "labels": map[string]any{"tier": ""}}, "deny", []string{"Deployment/web/front"}, nil},
		"label, another value": {map[string]any{"data": false, "labels": map[string]any{"tier": "tin"}}, "allow", nil, nil},
		"keep":                 {map[string]any{"action": "keep", "kinds": []any{"Deployment"}}, "warn", []string{"keeping PersistentVolumeClaim/db/pg-0 (rule data", "keeping Deployment/web/front (rule kinds"}, []string{"PersistentVolumeClaim/db/pg-0", "Deployment/web/front"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			req := request(t, objects(), tt.config)
			checkResponse(t, plugintest.Judge(judge).Ask(t, req), tt.verdict, tt.found, tt.kept)
		})
	}
}

func request(t *testing.T, objects []sdk.Object, config map[string]any) hook.Request {
	t.Helper()
	plan, err := json.Marshal(map[string]any{"prune": map[string]any{"objects": objects}, "digest": "d"})
	if err != nil {
		t.Fatal(err)
	}
	return hook.Request{ID: "r1", Hook: hook.PrePrune, Time: time.Unix(1, 0), Plan: plan, Config: config}
}

func checkResponse(t *testing.T, res hook.Response, verdict string, found, kept []string) {
	t.Helper()
	if string(res.Verdict) != verdict {
		t.Errorf("verdict is %q, wanted %q", res.Verdict, verdict)
	}
	if len(res.Findings) != len(found) {
		t.Fatalf("findings are %+v, wanted %q", res.Findings, found)
	}
	for i, want := range found {
		f := res.Findings[i]
		if !strings.Contains(f.Message, want) || f.Object == nil || !strings.Contains(f.Remedy, f.Object.String()) {
			t.Errorf("finding %d is %+v, wanted %q with object and remedy", i, f, want)
		}
	}
	var got []string
	for _, k := range res.Keep {
		got = append(got, k.Object.String())
	}
	if strings.Join(got, " ") != strings.Join(kept, " ") {
		t.Errorf("kept is %q, wanted %q", got, kept)
	}
}

func TestJudgeRefusesBadConfig(t *testing.T) {
	for config, want := range map[string]string{
		`{"namespace":["a"]}`:            "unknown field",
		`{"action":"shout"}`:             "neither deny nor keep",
		`{"namespaces":["[a"]}`:          "syntax error",
		`{"kinds":[""]}`:                 "empty name",
		`{"kinds":["apps/Deployment"]}`:  "so it protects nothing",
		`{"kinds":["deployments.apps"]}`: "so it protects nothing",
		`{"kinds":["Deployment "]}`:      "so it protects nothing",
		`{"namespaces":["Prod"]}`:        "so it protects nothing",
		`{"namespaces":[""]}`:            "empty name",
		`{"labels":{"":"x"}}`:            "empty name",
		`{"labels":{"tier gold":""}}`:    "so it protects nothing",
		`{"labels":{"tier":"gold*"}}`:    "without *",
		`{"allow":["Secret"]}`:           "neither Kind/namespace/name",
		`{"allow":["a/b/c/d"]}`:          "neither Kind/namespace/name",
		`{"allow":["Secret/default/"]}`:  "empty name",
	} {
		in := `{"apiVersion":"hooks.zarf-host.dev/v1","id":"r1","hook":"pre-prune","config":` + config + `}`
		plugintest.Judge(judge).Refuses(t, in, want)
	}
}

func TestJudgeShortensLongLists(t *testing.T) {
	many := make([]sdk.Object, 5000)
	for i := range many {
		many[i] = sdk.Object{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: "db", Name: fmt.Sprintf("pg-%d", i), HoldsData: true}
	}
	r := sdk.Request{Plan: sdk.Plan{Prune: sdk.Prune{Objects: many}}}
	res := judge(r)
	if len(res.Findings) != maxShown+1 || !strings.Contains(res.Findings[maxShown].Message, "4800 more") {
		t.Errorf("%d findings, the last is %+v", len(res.Findings), res.Findings[len(res.Findings)-1])
	}
	r.Config = json.RawMessage(`{"action":"keep"}`)
	if res := judge(r); len(res.Keep) != len(many) || res.Verdict != sdk.Warn {
		t.Errorf("kept %d with verdict %q, wanted all %d", len(res.Keep), res.Verdict, len(many))
	}
}

// Each kind that the guard may meet is protected however an operator spells it.
func TestLikeKind(t *testing.T) {
	for kind, spellings := range map[string]string{
		"StatefulSet":   "StatefulSet statefulset statefulsets STATEFULSETS sts State*",
		"NetworkPolicy": "networkpolicy networkpolicies netpol network*",
		"Ingress":       "ingress ingresses ing",
		"Endpoints":     "Endpoints endpoints ep",
		"Widget":        "widget Widgets",
	} {
		for pattern := range strings.FieldsSeq(spellings) {
			if !likeKind(pattern, kind) {
				t.Errorf("kind %s is not protected as %q", kind, pattern)
			}
		}
	}
	for _, pattern := range []string{"set", "statefulse", "sets", "st", "Deployment"} {
		if likeKind(pattern, "StatefulSet") {
			t.Errorf("StatefulSet is taken to be %q", pattern)
		}
	}
}
