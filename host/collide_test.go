package host

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/state"
)

// judge is a plugin in Go that answers one hook.
type judge struct {
	name  string
	hook  hook.Name
	asked []hook.Request
	say   func(hook.Request) (hook.Response, error)
}

func (j *judge) Name() string       { return j.name }
func (j *judge) Info() plan.Plugin  { return plan.Plugin{Name: j.name} }
func (j *judge) Hooks() []hook.Name { return []hook.Name{j.hook} }
func (j *judge) Ask(_ context.Context, r hook.Request) (hook.Response, error) {
	j.asked = append(j.asked, r)
	return j.say(r)
}

// answers judges collisions as given, by id.
func answers(verdicts map[string]hook.Verdict) func(hook.Request) (hook.Response, error) {
	return func(r hook.Request) (hook.Response, error) {
		out := hook.Response{ID: r.ID, Verdict: hook.Allow}
		for id, v := range verdicts {
			out.Collisions = append(out.Collisions, hook.CollisionAnswer{ID: id, Verdict: v, Message: "so it is"})
		}
		return out, nil
	}
}

func TestCollisionHook(t *testing.T) {
	two := []plan.Collision{
		{ID: "downgrade/shop", Kind: plan.CollidesVersion, Verdict: plan.Warn, Message: "lower"},
		{ID: "release-name/ns/c", Kind: plan.CollidesRelease, Verdict: plan.Deny, Message: "theirs"},
	}
	tests := map[string]struct {
		collisions []plan.Collision
		say        func(hook.Request) (hook.Response, error)
		asked      int
		verdict    hook.Verdict // of the hook
		denied     string       // the rules that deny
	}{
		"no collision, nobody asked":    {nil, answers(nil), 0, "", ""},
		"a warning is asked about":      {two[:1], answers(nil), 1, hook.Allow, ""},
		"silence leaves a deny":         {two, answers(nil), 1, hook.Allow, "release-name"},
		"a deny is lifted":              {two, answers(map[string]hook.Verdict{"release-name/ns/c": hook.Warn}), 1, hook.Allow, ""},
		"a warning is raised":           {two, answers(map[string]hook.Verdict{"release-name/ns/c": hook.Allow, "downgrade/shop": hook.Deny}), 1, hook.Allow, "downgrade"},
		"an id that nobody asked for":   {two[:1], answers(map[string]hook.Verdict{"downgrade/bank": hook.Allow}), 1, hook.Deny, ""},
		"a plugin that does not answer": {two[:1], func(hook.Request) (hook.Response, error) { return hook.Response{}, errors.New("no") }, 1, hook.Deny, ""},
		"denied as a whole": {two[:1], func(r hook.Request) (hook.Response, error) {
			return hook.Response{ID: r.ID, Verdict: hook.Deny}, nil
		}, 1, hook.Deny, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			j := &judge{name: "judge", hook: hook.Collision, say: tt.say}
			a := asker{
				common:    Common{Plugins: []Plugin{j}}.defaulted(),
				operation: hook.Operation{Name: hook.OperationDeploy, Flags: map[string]string{}},
			}
			p, outcomes, err := a.decide(t.Context(), plan.Plan{Operation: plan.Deploy, Collisions: tt.collisions}, hook.PreDeploy)
			if err != nil {
				t.Fatal(err)
			}
			if len(j.asked) != tt.asked {
				t.Fatalf("asked %d times, want %d", len(j.asked), tt.asked)
			}
			if tt.asked > 0 && len(j.asked[0].Collisions) != len(tt.collisions) {
				t.Errorf("asked about %d collisions of %d", len(j.asked[0].Collisions), len(tt.collisions))
			}
			var verdict hook.Verdict
			for _, o := range outcomes {
				if o.Hook == hook.Collision {
					verdict = o.Verdict
				}
			}
			if verdict != tt.verdict {
				t.Errorf("the hook comes to %q, want %q", verdict, tt.verdict)
			}
			var denied []string
			for _, f := range p.Denials() {
				denied = append(denied, f.Rule)
			}
			if got := strings.Join(denied, " "); got != tt.denied {
				t.Errorf("denied by %q, want %q", got, tt.denied)
			}
		})
	}
}

func TestCheckReleaseName(t *testing.T) {
	for name, ok := range map[string]bool{
		"": true, "a": true, "shop-2": true, "2": true, strings.Repeat("a", 63): true,
		"-a": false, "a-": false, "A": false, "a.b": false, "a/b": false, "a b": false, strings.Repeat("a", 64): false, "ä": false,
	} {
		if err := checkReleaseName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestAcceptancesStaySmall(t *testing.T) {
	var p plan.Plan
	for i := range 50 {
		p.Collisions = append(p.Collisions, plan.Collision{
			ID: "object/v1/ConfigMap/ns/" + strings.Repeat("x", i+1), Kind: plan.CollidesObject, Verdict: plan.Allow, Accepted: true,
		})
	}
	p.Collisions = append(p.Collisions,
		plan.Collision{ID: "downgrade/shop", Kind: plan.CollidesVersion, Verdict: plan.Allow, Accepted: true},
		plan.Collision{ID: "package-name/shop", Kind: plan.CollidesName, Verdict: plan.Warn},
		plan.Collision{ID: "release-name/ns/c", Kind: plan.CollidesRelease, Verdict: plan.Deny, Accepted: true, Plugin: "guard"})
	got := acceptances(p, "me")
	if len(got) != 2 || got[0].Kind != "object" || got[0].Count != 50 || len(got[0].IDs) != state.MaxAcceptedIDs || got[1].Count != 1 || got[1].By != "me" {
		t.Errorf("acceptances are %+v", got)
	}
}

// redeploy goes by the name that the package was deployed under.
func TestRedeployKeepsTheName(t *testing.T) {
	deploy := func(o state.Own) DeployOptions {
		record := state.Record{Own: o}
		record.Package.Name = "second"
		record.Package.Events = []state.PackageEvent{{Type: state.Deploy, Outcome: state.Succeeded, Source: "pkg.tar.zst", ConfigDigest: "sha256:c", Digest: "sha256:d"}}
		record.Package.DeployConfig = &state.DeployConfig{}
		record.Own.Deployment = &state.Deployment{Components: []string{"one"}}
		again, err := RedeployOptions{Name: "second"}.again(record)
		if err != nil {
			t.Fatal(err)
		}
		return again
	}
	if got := deploy(state.Own{Identity: state.Identity{OriginalName: "shop"}}).ReleaseName; got != "second" {
		t.Errorf("the release name is %q", got)
	}
	if got := deploy(state.Own{}).ReleaseName; got != "" {
		t.Errorf("a package under its own name: the release name is %q", got)
	}
}
