package hook_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host/hook"
)

type kinded struct{ error }

func (kinded) FailureKind() string { return "deadline" }

func TestFold(t *testing.T) {
	say := func(plugin string, v hook.Verdict, messages ...string) hook.Answer {
		a := hook.Answer{Plugin: plugin, Response: hook.Response{Verdict: v}}
		for _, m := range messages {
			a.Response.Findings = append(a.Response.Findings, hook.Finding{Severity: hook.SeverityDeny, Message: m})
		}
		return a
	}
	failed := kinded{errors.New("took too long")}
	tests := map[string]struct {
		hook    hook.Name
		answers []hook.Answer
		verdict hook.Verdict
		denied  string
		kind    string
	}{
		"nobody":              {hook.PreDeploy, nil, hook.Allow, "", ""},
		"allow":               {hook.PreDeploy, []hook.Answer{say("a", hook.Allow)}, hook.Allow, "", ""},
		"warn wins":           {hook.PreDeploy, []hook.Answer{say("a", hook.Warn), say("b", hook.Allow)}, hook.Warn, "", ""},
		"deny wins, first":    {hook.PreDeploy, []hook.Answer{say("a", hook.Deny), say("b", hook.Allow)}, hook.Deny, "a", ""},
		"deny wins, last":     {hook.PreDeploy, []hook.Answer{say("a", hook.Allow), say("b", hook.Deny)}, hook.Deny, "b", ""},
		"error is deny":       {hook.PrePrune, []hook.Answer{say("a", hook.Allow), {Plugin: "b", Err: failed}}, hook.Deny, "b", "deadline"},
		"error is warning":    {hook.PostDeploy, []hook.Answer{{Plugin: "b", Err: failed}}, hook.Warn, "", "deadline"},
		"operator weakens":    {hook.PreDeploy, []hook.Answer{{Plugin: "b", Err: failed, Failure: hook.FailurePolicyWarn}}, hook.Warn, "", "deadline"},
		"operator hardens":    {hook.PostDeploy, []hook.Answer{{Plugin: "b", Err: failed, Failure: hook.FailurePolicyFail}}, hook.Deny, "b", "deadline"},
		"strange policy":      {hook.PreDeploy, []hook.Answer{{Plugin: "b", Err: failed, Failure: "ignore"}}, hook.Deny, "b", "deadline"},
		"error without kind":  {hook.PreDeploy, []hook.Answer{{Plugin: "b", Err: errors.New("x")}}, hook.Deny, "b", "error"},
		"all that deny count": {hook.PreDeploy, []hook.Answer{say("a", hook.Deny), {Plugin: "b", Err: failed}}, hook.Deny, "a b", "deadline"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			point, err := hook.Find(tt.hook)
			if err != nil {
				t.Fatal(err)
			}
			out := hook.Fold(point, tt.answers)
			if out.Verdict != tt.verdict {
				t.Errorf("verdict is %q, wanted %q", out.Verdict, tt.verdict)
			}
			if got := strings.Join(out.Denied, " "); got != tt.denied {
				t.Errorf("denied by %q, wanted %q", got, tt.denied)
			}
			if tt.kind != "" && (len(out.Failures) != 1 || out.Failures[0].Kind != tt.kind) {
				t.Errorf("failures are %+v, wanted one of kind %q", out.Failures, tt.kind)
			}
			if denies := out.Err() != nil; denies != (tt.verdict == hook.Deny) {
				t.Errorf("Err() is %v at verdict %q", out.Err(), out.Verdict)
			}
		})
	}
}

func TestFoldUnites(t *testing.T) {
	pg := &hook.Object{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: "db", Name: "pg"}
	answers := []hook.Answer{
		{Plugin: "a", Response: hook.Response{Verdict: hook.Warn,
			Findings: []hook.Finding{{Severity: hook.SeverityInfo, Message: "one"}},
			Keep:     []hook.Keep{{Object: pg, Reason: "data"}, {Component: "web", Reason: "used"}}}},
		{Plugin: "b", Response: hook.Response{Verdict: hook.Deny,
			Findings: []hook.Finding{{Severity: hook.SeverityDeny, Message: "two", Remedy: "ask"}},
			Keep:     []hook.Keep{{Object: &hook.Object{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: "db", Name: "pg"}, Reason: "again"}, {Chart: "db/pg", Reason: "r"}}}},
	}
	point, _ := hook.Find(hook.PrePrune)
	out := hook.Fold(point, answers)
	if len(out.Findings) != 2 || out.Findings[0].Plugin != "a" || out.Findings[1].Plugin != "b" {
		t.Errorf("findings are %+v", out.Findings)
	}
	var kept []string
	for _, k := range out.Keep {
		kept = append(kept, k.Plugin+": "+k.Target()+": "+k.Reason)
	}
	want := "a: object apps/v1 StatefulSet/db/pg: data; a: component \"web\": used; b: chart \"db/pg\": r"
	if got := strings.Join(kept, "; "); got != want {
		t.Errorf("kept is\n%s, wanted\n%s", got, want)
	}
	var denied *hook.DeniedError
	if err := out.Err(); !errors.As(err, &denied) || !strings.Contains(err.Error(), "b: two") || denied.Hint() != "ask" {
		t.Errorf("error is %v with hint %q", err, denied.Hint())
	}
}
