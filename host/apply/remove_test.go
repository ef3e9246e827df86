package apply

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/state"
)

func TestRemoveInOrder(t *testing.T) {
	w := &world{t: t}
	result, err := w.engine().Remove(t.Context(), removal(deployed()))
	if err != nil || result.Outcome != state.Succeeded {
		t.Fatalf("%v, %v", result.Outcome, err)
	}
	w.has(
		"record InProgress old:Succeeded[a=Succeeded b=Succeeded c=Succeeded]",
		"record InProgress old:Removing[a=Succeeded b=Succeeded c=Succeeded]",
		"run before of old",
		"record InProgress old:Removing[a=Succeeded b=Succeeded c=Succeeded] c@3",
		"uninstall c",
		"record InProgress old:Removing[a=Succeeded b=Succeeded c=Succeeded]",
		"record InProgress old:Removing[a=Succeeded b=Succeeded]",
		"record InProgress old:Removing[a=Succeeded b=Succeeded] b@3",
		"uninstall b",
		"record InProgress old:Removing[a=Succeeded b=Succeeded]",
		"record InProgress old:Removing[a=Succeeded]",
		"record InProgress old:Removing[a=Succeeded] a@3",
		"uninstall a",
		"record InProgress old:Removing[a=Succeeded]",
		"record InProgress old:Removing[]",
		"run after of old",
		"run success of old",
		"record InProgress",
		"forget",
	)
}

// A removal that failed goes on where it stopped.
func TestRemoveResumes(t *testing.T) {
	w := &world{t: t, on: at("uninstall b", broken)}
	result, err := w.engine().Remove(t.Context(), removal(deployed()))
	if !errors.Is(err, errBroken) || result.Outcome != state.Failed {
		t.Fatalf("%v, %v", result.Outcome, err)
	}
	if got := summary(w.saved); got != "Failed old:Failed[a=Succeeded b=Succeeded] b@3" {
		t.Errorf("recorded %q", got)
	}
	if w.deleted || w.trace[len(w.trace)-3] != "run failure of old" {
		t.Errorf("the end is %q", w.trace[len(w.trace)-3:])
	}
	again := &world{t: t}
	if _, err := again.engine().Remove(t.Context(), removal(w.saved)); err != nil {
		t.Fatal(err)
	}
	all := strings.Join(again.trace, "\n")
	if strings.Contains(all, "uninstall c") || !strings.Contains(all, "uninstall b\n") || !again.deleted {
		t.Errorf("the second run did\n%s", all)
	}
}

func TestRemoveCancelledAnywhere(t *testing.T) {
	undisturbed := &world{t: t}
	if _, err := undisturbed.engine().Remove(t.Context(), removal(deployed())); err != nil {
		t.Fatal(err)
	}
	for i, where := range undisturbed.trace {
		ctx, cancel := context.WithCancel(t.Context())
		w := &world{t: t}
		w.on = func(string) error {
			if len(w.trace) == i+1 {
				cancel()
			}
			return nil
		}
		result, _ := w.engine().Remove(ctx, removal(deployed()))
		cancel()
		latest, _ := w.saved.Package.LatestEvent()
		switch {
		case w.deleted && result.Outcome == state.Succeeded:
		case result.Outcome != state.Cancelled || latest.Outcome != state.Cancelled:
			t.Errorf("cancelled at %q: the outcome is %s, recorded is %s", where, result.Outcome, latest.Outcome)
		}
		// Whatever is uninstalled is not on record any more, and the other way round.
		gone := map[string]bool{}
		for _, entry := range w.trace {
			if name, ok := strings.CutPrefix(entry, "uninstall "); ok && entry != where {
				gone[name] = true
			}
		}
		for _, c := range w.saved.Package.DeployedComponents {
			for _, chart := range c.InstalledCharts {
				if gone[chart.Name] {
					t.Errorf("cancelled at %q: release %s is gone and on record", where, chart.Name)
				}
			}
		}
	}
}

func TestRecordThatCannotBeDeletedSaysSo(t *testing.T) {
	w := &world{t: t, on: at("forget", broken)}
	result, err := w.engine().Remove(t.Context(), removal(deployed()))
	if !errors.Is(err, errBroken) || result.Outcome != state.Failed {
		t.Errorf("%v, %v", result.Outcome, err)
	}
	if latest, _ := w.saved.Package.LatestEvent(); latest.Outcome != state.Failed {
		t.Errorf("recorded %s", latest.Outcome)
	}
}

// A component that keeps a release stays recorded, and its onRemove actions do not run.
func TestKeptReleaseKeepsItsComponent(t *testing.T) {
	w := &world{t: t}
	m := removal(deployed())
	b := release("b")
	m.Plan.Prune.Releases = m.Plan.Prune.Releases[:1] // c
	m.Plan.Prune.Kept = []plan.Kept{{Release: &b}}
	if _, err := w.engine().Remove(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(w.trace, "\n"); strings.Contains(all, "run ") || w.deleted {
		t.Errorf("did\n%s", all)
	}
	if got := summary(w.saved); got != "Succeeded old:Succeeded[a=Succeeded b=Succeeded]" {
		t.Errorf("recorded %q", got)
	}
}

// What an uninstall leaves alive is recorded before anything is deleted, and named in the result.
func TestKeptObjectsAreRecordedFirst(t *testing.T) {
	w := &world{t: t, kept: map[string][]object.Ref{"c": {configMap("found")}}}
	m := removal(deployed())
	planned := configMap("planned")
	m.Plan.Prune.Kept = []plan.Kept{{Object: &planned, In: release("c").String()}}
	m.Plan.Prune.Releases = m.Plan.Prune.Releases[:1]
	result, err := w.engine().Remove(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	for i, entry := range w.trace {
		if entry == "uninstall c" && !strings.HasSuffix(w.trace[i-1], "c@3 kept:found kept:planned") {
			t.Errorf("before the uninstall came %q", w.trace[i-1])
		}
	}
	if len(result.Kept) != 2 {
		t.Errorf("the result names %v", result.Kept)
	}
}

// A prune comes after everything was applied, last deployed component first, and what the plan does
// not list stays.
func TestPruneFollowsThePlan(t *testing.T) {
	record := deployed()
	record.Package.DeployedComponents = append(record.Package.DeployedComponents,
		state.Component{Name: "web", Status: state.StatusSucceeded, InstalledCharts: []state.Chart{
			{Namespace: "ns", Name: "front", Status: state.StatusSucceeded},
			{Namespace: "ns", Name: "side", Status: state.StatusSucceeded},
		}})
	d := shop()
	d.Record = record
	d.Definition.Components = d.Definition.Components[:1]
	d.Definition.Components[0] = spec.Component{Name: "web"}
	d.Selected = []string{"web"}
	d.Plan.Releases = d.Plan.Releases[:1]
	d.Plan.Components = []plan.Component{{Name: "web", Action: plan.ComponentUpgrade}, {Name: "old", Action: plan.ComponentPrune}}
	m := removal(record)
	d.Plan.Prune.Releases = append([]plan.PruneRelease{{Release: release("side"), Component: "web"}}, m.Plan.Prune.Releases...)
	w := &world{t: t}
	if _, err := w.engine().Deploy(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	var did []string
	for _, entry := range w.trace {
		if !strings.HasPrefix(entry, "record") {
			did = append(did, entry)
		}
	}
	w.trace = did
	w.has("install front", "run before of old", "uninstall c", "uninstall b", "uninstall a",
		"run after of old", "run success of old", "uninstall side")
	if got := summary(w.saved); got != "Succeeded web:Succeeded[front=Succeeded] front@7" {
		t.Errorf("recorded %q", got)
	}
}

// A chart that another component installs now is forgotten by the one that had it.
func TestMovedChartIsForgottenByItsFormerComponent(t *testing.T) {
	d := shop()
	d.Record = deployed()
	d.Plan.Releases[1].Release = release("b") // db installs it
	w := &world{t: t}
	if _, err := w.engine().Deploy(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	old, _ := w.saved.Package.Component("old")
	if _, has := old.Chart(release("b")); has || len(old.InstalledCharts) != 2 {
		t.Errorf("recorded %q", summary(w.saved))
	}
	if strings.Contains(strings.Join(w.trace, "\n"), "uninstall") {
		t.Error("something was uninstalled")
	}
}

// An action of a removal may destroy the cluster that it is in: then what the cluster had is gone,
// and the rest of the removal goes on without it.
func TestClusterThatARemovalDestroyed_B4(t *testing.T) {
	gone := errors.New("nobody listens")
	destroyed := func(after string) func(string) error {
		dead := false
		return func(entry string) error {
			if dead && !strings.HasPrefix(entry, "run ") {
				return gone
			}
			dead = dead || strings.HasPrefix(entry, after)
			return nil
		}
	}
	for _, after := range []string{"run before of old", "run after of old", "run success of old"} {
		w := &world{t: t, on: destroyed(after)}
		e := w.engine()
		e.ClusterGone = func(_ context.Context, err error) bool { return errors.Is(err, gone) }
		result, err := e.Remove(t.Context(), removal(deployed()))
		if err != nil || result.Outcome != state.Succeeded {
			t.Errorf("destroyed at %q: %v, %v", after, result.Outcome, err)
		}
		if all := strings.Join(w.trace, "\n"); !strings.Contains(all, "run success of old") {
			t.Errorf("destroyed at %q: the actions that were left did not run:\n%s", after, all)
		}
	}

	w := &world{t: t, on: destroyed("uninstall c")}
	e := w.engine()
	e.ClusterGone = func(context.Context, error) bool { return false }
	if _, err := e.Remove(t.Context(), removal(deployed())); !errors.Is(err, gone) {
		t.Errorf("a cluster that is only away: %v, want an error", err)
	}
}
