package apply

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/state"
)

var errBroken = errors.New("it broke")

func broken() error { return errBroken }

func TestDeployInOrder(t *testing.T) {
	w := &world{t: t}
	d := shop()
	d.Finally = func(ctx context.Context, r Result) error {
		return w.do(ctx, "finally, %d components", len(r.Components))
	}
	result, err := w.engine().Deploy(t.Context(), d)
	if err != nil || result.Outcome != state.Succeeded {
		t.Fatalf("%v, %v", result.Outcome, err)
	}
	w.has(
		"record InProgress",
		"record InProgress web:Deploying[front=Failed]",
		"run before of web",
		"files of web",
		"record InProgress web:Deploying[front=Failed] front@7",
		"install front",
		"record InProgress web:Deploying[front=Succeeded] front@7",
		"run after of web",
		"healthy web",
		"run success of web",
		"record InProgress web:Succeeded[front=Succeeded] front@7",
		"record InProgress web:Succeeded[front=Succeeded] db:Deploying[pg=Failed] front@7",
		"record InProgress web:Succeeded[front=Succeeded] db:Deploying[pg=Failed] front@7 pg@7",
		"install pg",
		"record InProgress web:Succeeded[front=Succeeded] db:Deploying[pg=Succeeded] front@7 pg@7",
		"record InProgress web:Succeeded[front=Succeeded] db:Succeeded[pg=Succeeded] front@7 pg@7",
		"finally, 2 components",
		"record Succeeded web:Succeeded[front=Succeeded] db:Succeeded[pg=Succeeded] front@7 pg@7",
	)
	if w.saved.Package.DeployConfig == nil {
		t.Error("the configuration is not recorded with the success")
	}
}

// Each step of a component may fail: what follows does not happen, onFailure runs, and the record
// says so.
func TestDeployFails(t *testing.T) {
	for _, step := range []string{"run before", "files", "install front", "run after", "healthy", "run success"} {
		t.Run(step, func(t *testing.T) {
			w := &world{t: t, on: at(step, broken)}
			d := shop()
			d.Plan.Prune.Releases = []plan.PruneRelease{{Release: release("gone"), Component: "web"}}
			d.Finally = func(ctx context.Context, _ Result) error { return w.do(ctx, "finally") }
			result, err := w.engine().Deploy(t.Context(), d)
			if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), `component "web"`) || result.Outcome != state.Failed {
				t.Errorf("%v, %v", result.Outcome, err)
			}
			all := strings.Join(w.trace, "\n")
			for _, never := range []string{"install pg", "db:", "uninstall", "finally", "close"} {
				if strings.Contains(all, never) {
					t.Errorf("%q happened:\n%s", never, all)
				}
			}
			n := len(w.trace)
			if w.trace[n-3] != "run failure of web" || !strings.HasPrefix(w.trace[n-2], "record InProgress web:Failed") ||
				!strings.HasPrefix(w.trace[n-1], "record Failed web:Failed") {
				t.Errorf("the end is\n%s", strings.Join(w.trace[n-3:], "\n"))
			}
			if w.saved.Package.DeployConfig != nil {
				t.Error("a failed attempt replaced the configuration")
			}
		})
	}
}

func TestFailingOnFailureHidesNothing(t *testing.T) {
	w := &world{t: t}
	w.on = func(entry string) error {
		if entry == "install front" || entry == "run failure of web" {
			return errors.New(entry)
		}
		return nil
	}
	_, err := w.engine().Deploy(t.Context(), shop())
	if err == nil || !strings.Contains(err.Error(), "install front") {
		t.Errorf("got %v", err)
	}
	if got := summary(w.saved); got != "Failed web:Failed[front=Failed] front@7" {
		t.Errorf("recorded %q", got)
	}
}

// A cancellation is recorded before onFailure, which may use up what time is left; the status is
// what it was, and the release is closed.
func TestDeployCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := &world{t: t, on: at("install front", func() error { cancel(); return nil })}
	d := shop()
	d.Record.Package.DeployedComponents = []state.Component{{Name: "web", Status: state.StatusSucceeded}}
	result, err := w.engine().Deploy(ctx, d)
	if !errors.Is(err, context.Canceled) || result.Outcome != state.Cancelled {
		t.Errorf("%v, %v", result.Outcome, err)
	}
	w.has(
		"record InProgress web:Succeeded[]",
		"record InProgress web:Deploying[front=Failed]",
		"run before of web",
		"files of web",
		"record InProgress web:Deploying[front=Failed] front@7",
		"install front",
		"close front",
		"record InProgress web:Deploying[front=Failed] front@7",
		"record Cancelled web:Succeeded[front=Failed] front@7",
		"run failure of web",
	)
}

// Wherever the operation is cancelled, the record says in the end what was done, and that it was
// cancelled unless all was done.
func TestDeployCancelledAnywhere(t *testing.T) {
	undisturbed := &world{t: t}
	if _, err := undisturbed.engine().Deploy(t.Context(), shop()); err != nil {
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
		result, err := w.engine().Deploy(ctx, shop())
		cancel()
		latest, _ := w.saved.Package.LatestEvent()
		if latest.Outcome != result.Outcome {
			t.Errorf("cancelled at %q: the outcome is %s, recorded is %s", where, result.Outcome, latest.Outcome)
		}
		if finished := i == len(undisturbed.trace)-1; finished != (err == nil) || finished != (latest.Outcome == state.Succeeded) {
			t.Errorf("cancelled at %q: %s recorded, and %v", where, latest.Outcome, err)
		}
		for _, c := range w.saved.Package.DeployedComponents {
			if c.LastEvent.Outcome == state.InProgress {
				t.Errorf("cancelled at %q: component %q is left in progress", where, c.Name)
			}
		}
	}
}

// After the lease was lost nothing is written, run or closed: a successor may be at work.
func TestLeaseLostAnywhere(t *testing.T) {
	undisturbed := &world{t: t}
	if _, err := undisturbed.engine().Deploy(t.Context(), shop()); err != nil {
		t.Fatal(err)
	}
	for i, where := range undisturbed.trace[:len(undisturbed.trace)-1] {
		ctx, cancel := context.WithCancelCause(t.Context())
		w := &world{t: t}
		w.on = func(string) error {
			if len(w.trace) == i+1 {
				cancel(ErrLeaseLost)
				return errBroken // the way to the cluster is cut
			}
			return nil
		}
		_, err := w.engine().Deploy(ctx, shop())
		if len(w.trace) != i+1 {
			t.Errorf("lost at %q, and then came %q", where, w.trace[i+1:])
		}
		if err == nil {
			t.Errorf("lost at %q: no error", where)
		}
	}
}

func TestNothingIsDoneThatCannotBeRecorded(t *testing.T) {
	tests := []struct{ unwritten, never string }{
		{"record InProgress", "run"},
		{"record InProgress web:Deploying[front=Failed]", "run before"},
		{"record InProgress web:Deploying[front=Failed] front@7", "install"},
		{"record InProgress web:Succeeded[front=Succeeded] front@7", "install pg"},
	}
	for _, tt := range tests {
		t.Run(tt.unwritten, func(t *testing.T) {
			w := &world{t: t}
			w.on = func(entry string) error {
				if entry == tt.unwritten {
					return errBroken
				}
				return nil
			}
			if _, err := w.engine().Deploy(t.Context(), shop()); !errors.Is(err, errBroken) {
				t.Errorf("got %v", err)
			}
			if all := strings.Join(w.trace, "\n"); strings.Contains(all, tt.never) {
				t.Errorf("%q happened:\n%s", tt.never, all)
			}
		})
	}
}

func TestSuccessThatCannotBeRecordedIsNone(t *testing.T) {
	w := &world{t: t, on: at("record Succeeded", broken)}
	result, err := w.engine().Deploy(t.Context(), shop())
	if !errors.Is(err, errBroken) || result.Outcome != state.Failed {
		t.Errorf("%v, %v", result.Outcome, err)
	}
	if latest, _ := w.saved.Package.LatestEvent(); latest.Outcome != state.Failed {
		t.Errorf("recorded %s", latest.Outcome)
	}
}

func TestFinallyMakesADeploymentFail(t *testing.T) {
	w := &world{t: t}
	d := shop()
	d.Finally = func(context.Context, Result) error { return errBroken }
	result, err := w.engine().Deploy(t.Context(), d)
	if !errors.Is(err, errBroken) || result.Outcome != state.Failed {
		t.Errorf("%v, %v", result.Outcome, err)
	}
	if got := summary(w.saved); !strings.HasPrefix(got, "Failed web:Succeeded[front=Succeeded] db:Succeeded") {
		t.Errorf("recorded %q", got)
	}
}

// An attempt that its program did not live to end is closed by the next.
func TestKilledAttemptIsClosed(t *testing.T) {
	w := &world{t: t}
	d := shop()
	d.Record.Package = d.Record.Package.Define(d.Definition, "web").Begin(state.PackageEvent{Type: state.Deploy, Version: "1"}).
		BeginComponent("web", state.Deploy, w.engine().Now(), release("front"))
	if _, err := w.engine().Deploy(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(w.trace[0], "record InProgress web:Failed") {
		t.Errorf("the first record is %q", w.trace[0])
	}
	var outcomes []string
	for _, e := range w.saved.Package.Events {
		outcomes = append(outcomes, e.Version+" "+string(e.Outcome))
	}
	if got := strings.Join(outcomes, ", "); got != "1 Failed, 2 Succeeded" {
		t.Errorf("events: %s", got)
	}
}

func TestUnchangedReleasesAreSkippedWhenAsked(t *testing.T) {
	for _, skip := range []bool{true, false} {
		w := &world{t: t}
		d := shop()
		d.SkipUnchanged = skip
		d.Plan.Releases[1].Action = plan.ReleaseUnchanged
		result, err := w.engine().Deploy(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		if installed := strings.Contains(strings.Join(w.trace, "\n"), "install pg"); installed == skip {
			t.Errorf("skip %v: installed %v", skip, installed)
		}
		if got := result.Releases[1]; got.Skipped != skip || got.Outcome != state.Succeeded {
			t.Errorf("skip %v: %+v", skip, got)
		}
	}
}

func TestDeployWithoutARecord(t *testing.T) {
	w := &world{t: t}
	e := w.engine()
	e.Recorder, e.Releases = nil, nil
	d := Deployment{
		Definition: spec.Package{Components: []spec.Component{{Name: "tools", Files: []spec.File{{Source: "f", Target: "t"}}}}},
		Selected:   []string{"tools"},
		Plan:       plan.Plan{Components: []plan.Component{{Name: "tools", Action: plan.ComponentInstall}}},
	}
	if result, err := e.Deploy(t.Context(), d); err != nil || result.Outcome != state.Succeeded {
		t.Errorf("%v, %v", result.Outcome, err)
	}
	w.has("files of tools")
}

// A record that was made up is a true one again once all of its components are deployed.
func TestDeployMakesAMadeUpRecordTrue(t *testing.T) {
	for other, want := range map[string]bool{"": false, state.RecoveredComponent: true} {
		w := &world{t: t}
		d := shop()
		d.Record.Own.MadeUp = true
		if other != "" {
			d.Record.Package.DeployedComponents = append(d.Record.Package.DeployedComponents, state.Component{Name: other, Status: state.StatusSucceeded})
		}
		if _, err := w.engine().Deploy(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if got := w.saved.Own.MadeUp; got != want {
			t.Errorf("with component %q: made up %t, want %t", other, got, want)
		}
	}
}
