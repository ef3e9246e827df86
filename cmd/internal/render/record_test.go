package render

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/apply"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/state"
)

// A10, A12: every transition of a package, crashes included, has a word of its own, and the word comes
// from the record and its lease alone.
func TestPhase_A10_A12(t *testing.T) {
	at := time.Unix(1_000_000, 0)
	deploy := state.PackageEvent{Type: state.Deploy, Version: "1.0.0", Timestamp: at}
	remove := state.PackageEvent{Type: state.Remove, Version: "1.0.0", Timestamp: at}
	begin := func(p state.Package, e state.PackageEvent) state.Package { return p.Begin(e) }
	end := func(p state.Package, o state.EventOutcome) state.Package {
		return p.Finish(o, at, &state.DeployConfig{})
	}
	none := state.Package{Name: "p"}
	running := end(begin(none, deploy), state.Succeeded)
	component := func(s ...state.Status) state.Package {
		p := none
		for _, status := range s {
			p.DeployedComponents = append(p.DeployedComponents, state.Component{Status: status})
		}
		return p
	}
	crashed := func(p state.Package) host.Deployed { return host.Deployed{Record: p, Interrupted: true} }
	live := func(p state.Package) host.Deployed { return host.Deployed{Record: p} }
	for name, tt := range map[string]struct {
		deployed host.Deployed
		want     string
	}{
		"first deployment under way":       {live(begin(none, deploy)), "deploying"},
		"first deployment crashed":         {crashed(begin(none, deploy)), "interrupted"},
		"first deployment failed":          {live(end(begin(none, deploy), state.Failed)), "failed"},
		"first deployment cancelled":       {live(end(begin(none, deploy), state.Cancelled)), "cancelled"},
		"deployed":                         {live(running), "succeeded"},
		"upgrade under way":                {live(begin(running, deploy)), "deploying"},
		"upgrade crashed":                  {crashed(begin(running, deploy)), "interrupted"},
		"upgrade failed":                   {live(end(begin(running, deploy), state.Failed)), "failed"},
		"upgrade cancelled":                {live(end(begin(running, deploy), state.Cancelled)), "cancelled"},
		"deployed after a cancelled try":   {live(end(begin(end(begin(running, deploy), state.Cancelled), deploy), state.Succeeded)), "succeeded"},
		"going on after a crash":           {live(begin(begin(running, deploy), deploy)), "deploying"},
		"removal under way":                {live(begin(running, remove)), "removing"},
		"removal crashed":                  {crashed(begin(running, remove)), "interrupted"},
		"removal failed":                   {live(end(begin(running, remove), state.Failed)), "failed"},
		"removal cancelled":                {live(end(begin(running, remove), state.Cancelled)), "cancelled"},
		"Zarf's, deployed":                 {live(component(state.StatusSucceeded)), "succeeded"},
		"Zarf's, one component failed":     {live(component(state.StatusSucceeded, state.StatusFailed, state.StatusDeploying)), "failed"},
		"Zarf's, one component under way":  {live(component(state.StatusSucceeded, state.StatusDeploying)), "deploying"},
		"Zarf's, one component being gone": {live(component(state.StatusRemoving)), "removing"},
		"unreadable":                       {host.Deployed{Err: errors.New("{")}, "unreadable"},
	} {
		if got := Phase(tt.deployed); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestComponentStatus_A12(t *testing.T) {
	attempt := func(kind state.EventType, outcome state.EventOutcome, status state.Status) state.Component {
		return state.Component{Status: status, LastEvent: state.ComponentEvent{Type: kind, Outcome: outcome}}
	}
	for want, c := range map[string]state.Component{
		"Deploying": attempt(state.Deploy, state.InProgress, state.StatusDeploying),
		"Failed":    attempt(state.Deploy, state.Failed, state.StatusFailed),
		"Cancelled": attempt(state.Deploy, state.Cancelled, state.StatusDeploying), // there was no earlier status
		"Succeeded, the last attempt to deploy it was cancelled": attempt(state.Deploy, state.Cancelled, state.StatusSucceeded),
		"Failed, the last attempt to remove it was cancelled":    attempt(state.Remove, state.Cancelled, state.StatusFailed),
		"Removing": {Status: state.StatusRemoving}, // Zarf's, without events
	} {
		if got := componentStatus(c); got != want {
			t.Errorf("%+v: %q, want %q", c.LastEvent, got, want)
		}
	}
}

func TestResultSaysWhatBecameOfComponents(t *testing.T) {
	var b bytes.Buffer
	err := Result(&b, host.Result{Recorded: true, Plan: plan.Plan{Operation: plan.Remove}, Applied: &apply.Result{
		Outcome: state.Failed,
		Components: []apply.ComponentResult{
			{Name: "a", Outcome: state.Succeeded}, {Name: "b", Outcome: state.Succeeded, Pruned: true},
			{Name: "c", Outcome: state.Failed, Pruned: true}, {Name: "d", Outcome: state.Cancelled, Pruned: true},
		},
	}})
	const want = "  component a: succeeded\n  component b: removed\n  component c: removal failed\n  component d: removal cancelled\n"
	if err != nil || !strings.HasSuffix(b.String(), want) {
		t.Errorf("%v:\n%s\nwant\n%s", err, b.String(), want)
	}
}
