package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/plugins/internal/plugintest"
)

func deployed() hook.Request {
	return hook.Request{
		ID: "r1", Hook: hook.PostDeploy, Time: time.Unix(1, 0), Operation: hook.Operation{Name: hook.OperationDeploy},
		Package:  &hook.Package{Metadata: spec.Metadata{Name: "shop", Version: "1.1.0"}},
		Deployed: &hook.Deployed{Name: "shop", Version: "1.0.0"},
		Cluster:  &hook.Cluster{Context: "prod"}, User: "ann",
		Result: &hook.Result{
			Outcome:    "Failed",
			Components: []hook.ComponentResult{{Name: "web", Outcome: "Succeeded"}, {Name: "db", Outcome: "Failed"}, {Name: "mail", Outcome: "Succeeded"}},
			Releases:   []hook.ReleaseResult{{Component: "web", Namespace: "shop", Name: "front", Outcome: "Succeeded", Revision: 3}},
		},
	}
}

func TestJudge(t *testing.T) {
	const first = "deploy of shop 1.1.0 (before: 1.0.0) on prod by ann: Failed; components: 3 (2 Succeeded, 1 Failed); releases: 1 (1 Succeeded)"
	components := []string{first, "component web: Succeeded", "component db: Failed", "component mail: Succeeded"}
	releases := append(append([]string{}, components...), "release shop/front of component web: Succeeded, revision 3")
	removed := deployed()
	removed.Hook, removed.Operation.Name = hook.PostRemove, hook.OperationRemove
	removed.Deployed.Version = "1.1.0"
	removed.Result = &hook.Result{Outcome: "Succeeded"}
	bare := hook.Request{ID: "r1", Hook: hook.PostDeploy, Operation: hook.Operation{Name: hook.OperationDeploy},
		Package: &hook.Package{Metadata: spec.Metadata{Name: "shop"}}, Result: &hook.Result{Releases: []hook.ReleaseResult{{Namespace: "a", Name: "b"}}}}
	tests := map[string]struct {
		request hook.Request
		config  map[string]any
		want    []string
	}{
		"default":    {deployed(), nil, releases},
		"releases":   {deployed(), map[string]any{"detail": "releases"}, releases},
		"components": {deployed(), map[string]any{"detail": "components"}, components},
		"summary":    {deployed(), map[string]any{"detail": "summary"}, []string{first}},
		"removal":    {removed, nil, []string{"remove of shop 1.1.0 on prod by ann: Succeeded; components: none; releases: none"}},
		"bare":       {bare, nil, []string{"deploy of shop: unknown; components: none; releases: 1 (1 unknown)", "release a/b: unknown"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.request.Config = tt.config
			res := plugintest.Judge(judge).Ask(t, tt.request)
			if res.Verdict != hook.Allow {
				t.Errorf("verdict is %s: a report does not object", res.Verdict)
			}
			var got []string
			for _, f := range res.Findings {
				if f.Severity != hook.SeverityInfo {
					t.Errorf("severity of %+v is not info", f)
				}
				got = append(got, f.Message)
			}
			if strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
				t.Errorf("told\n%s\nwanted\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

func TestJudgeShortensLongLists(t *testing.T) {
	req := deployed()
	req.Result.Releases = nil
	for i := range 1000 {
		req.Result.Releases = append(req.Result.Releases, hook.ReleaseResult{Namespace: "a", Name: fmt.Sprint(i), Outcome: "Succeeded"})
	}
	res := plugintest.Judge(judge).Ask(t, req)
	// The summary and three components come first.
	if len(res.Findings) != maxShown+1 || res.Findings[maxShown].Message != "and 804 more" {
		t.Errorf("%d findings, the last is %+v", len(res.Findings), res.Findings[len(res.Findings)-1])
	}
}

func TestJudgeRefusesBadRequests(t *testing.T) {
	const result = `"package":{"metadata":{"name":"a"}},"result":{"outcome":"Succeeded"}`
	for rest, want := range map[string]string{
		`"config":{"details":"summary"},` + result: "unknown field",
		`"config":{"detail":"all"},` + result:      `detail "all" is none of summary, components, releases`,
		`"package":{"metadata":{"name":"a"}}`:      "has no result",
		`"result":{"outcome":"Succeeded"}`:         "names no package",
	} {
		in := `{"apiVersion":"hooks.zarf-host.dev/v1","id":"r1","hook":"post-deploy",` + rest + `}`
		plugintest.Judge(judge).Refuses(t, in, want)
	}
}
