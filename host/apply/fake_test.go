package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/state"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world stands in for cluster, Helm and shell: it remembers what it was asked for, in order.
type world struct {
	t     *testing.T
	trace []string
	// on is called with each entry of the trace; its error is the step's.
	on func(entry string) error
	// kept are what Uninstall leaves alive, by release name.
	kept map[string][]object.Ref
	// saved is the record as it was written last.
	saved   state.Record
	deleted bool
}

func (w *world) do(ctx context.Context, format string, args ...any) error {
	entry := fmt.Sprintf(format, args...)
	w.trace = append(w.trace, entry)
	if w.on != nil {
		if err := w.on(entry); err != nil {
			return err
		}
	}
	return ctx.Err() // as every real step, it notices being cancelled
}

func (w *world) Save(ctx context.Context, record state.Record) error {
	if err := ctx.Err(); err != nil {
		w.t.Errorf("a record is written with a context that is over: %v", err)
	}
	if err := w.do(ctx, "record %s", summary(record)); err != nil {
		return err
	}
	w.saved = record
	return nil
}

func (w *world) Delete(ctx context.Context) error {
	if err := w.do(ctx, "forget"); err != nil {
		return err
	}
	w.deleted = true
	return nil
}

// summary is a record in a line: the event, then each component with its status and charts.
func summary(r state.Record) string {
	latest, _ := r.Package.LatestEvent()
	words := []string{string(latest.Outcome)}
	for _, c := range r.Package.DeployedComponents {
		var charts []string
		for _, chart := range c.InstalledCharts {
			charts = append(charts, chart.Name+"="+string(chart.Status))
		}
		words = append(words, fmt.Sprintf("%s:%s[%s]", c.Name, c.Status, strings.Join(charts, " ")))
	}
	for _, c := range r.Own.Charts {
		words = append(words, fmt.Sprintf("%s@%d", c.Name, c.Revision))
	}
	for _, k := range r.Own.Kept {
		words = append(words, "kept:"+k.Name)
	}
	return strings.Join(words, " ")
}

func (w *world) Install(ctx context.Context, step plan.Release, onRevision func(int) error) (Installed, error) {
	if err := onRevision(7); err != nil {
		return Installed{}, err
	}
	return Installed{Revision: 7}, w.do(ctx, "install %s", step.Name)
}

func (w *world) Uninstall(ctx context.Context, step plan.PruneRelease, keep []object.Ref, beforeDelete func([]object.Instance, int) error) (Uninstalled, error) {
	kept := slices.Concat(keep, w.kept[step.Name])
	var instances []object.Instance
	for _, ref := range kept {
		instances = append(instances, object.Instance{Ref: ref, UID: "uid-" + ref.Name})
	}
	if err := beforeDelete(instances, 3); err != nil {
		return Uninstalled{}, err
	}
	return Uninstalled{Kept: kept}, w.do(ctx, "uninstall %s", step.Name)
}

func (w *world) Discard(ctx context.Context, release object.Release, objects []object.Instance) ([]object.Ref, error) {
	var names []string
	for _, o := range objects {
		names = append(names, o.Name)
	}
	return nil, w.do(ctx, "discard %s of %s", strings.Join(names, " "), release.Name)
}

func (w *world) Close(ctx context.Context, release object.Release) error {
	return w.do(ctx, "close %s", release.Name)
}

func (w *world) Run(ctx context.Context, component spec.Component, _ spec.ActionSet, actions []spec.Action) error {
	for _, a := range actions {
		if err := w.do(ctx, "run %s of %s", a.Cmd, component.Name); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) PlaceFiles(ctx context.Context, component spec.Component) error {
	if len(component.Files) == 0 {
		return nil
	}
	return w.do(ctx, "files of %s", component.Name)
}

func (w *world) PushImages(ctx context.Context, component spec.Component) error {
	if len(component.Images) == 0 {
		return nil
	}
	return w.do(ctx, "images of %s", component.Name)
}

func (w *world) WaitHealthy(ctx context.Context, objects []object.Ref) error {
	return w.do(ctx, "healthy %s", objects[0].Name)
}

func (w *world) engine() Engine {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return Engine{Recorder: w, Releases: w, Steps: w, Sink: event.Discard, Now: func() time.Time { return now }}
}

// has compares the trace.
func (w *world) has(want ...string) {
	w.t.Helper()
	if !slices.Equal(w.trace, want) {
		w.t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(w.trace, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// at returns a function that calls do when an entry of the trace begins with prefix.
func at(prefix string, do func() error) func(string) error {
	return func(entry string) error {
		if strings.HasPrefix(entry, prefix) {
			return do()
		}
		return nil
	}
}

func release(name string) object.Release { return object.Release{Namespace: "ns", Name: name} }

func configMap(name string) object.Ref {
	return object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "ns", Name: name}
}

func actions(commands ...string) []spec.Action {
	out := make([]spec.Action, len(commands))
	for i, c := range commands {
		out[i].Cmd = c
	}
	return out
}

// shop is a deployment of component web, which has everything, and component db.
func shop() Deployment {
	web := spec.Component{Name: "web", Files: []spec.File{{Source: "f", Target: "t"}}}
	web.Actions.OnDeploy = spec.ActionSet{
		Before: actions("before"), After: actions("after"), OnSuccess: actions("success"), OnFailure: actions("failure"),
	}
	d := Deployment{
		Definition: spec.Package{Components: []spec.Component{web, {Name: "db"}}},
		Selected:   []string{"web", "db"},
		Event:      state.PackageEvent{Type: state.Deploy, Version: "2"},
		Plan: plan.Plan{
			Components: []plan.Component{
				{Name: "web", Action: plan.ComponentInstall, Health: []object.Ref{configMap("web")}},
				{Name: "db", Action: plan.ComponentInstall},
			},
			Releases: []plan.Release{
				{Release: release("front"), Component: "web"},
				{Release: release("pg"), Component: "db"},
			},
		},
	}
	d.Record.Package.Name = "shop"
	return d
}

// deployed is a record with component old, whose charts are a, b and c, all of them succeeded.
func deployed() state.Record {
	old := spec.Component{Name: "old"}
	old.Actions.OnRemove = spec.ActionSet{
		Before: actions("before"), After: actions("after"), OnSuccess: actions("success"), OnFailure: actions("failure"),
	}
	has := state.Component{Name: "old", Status: state.StatusSucceeded}
	for _, name := range []string{"a", "b", "c"} {
		has.InstalledCharts = append(has.InstalledCharts, state.Chart{Namespace: "ns", Name: name, Status: state.StatusSucceeded})
	}
	var r state.Record
	r.Package.Name = "shop"
	r.Package.Data = spec.Package{Components: []spec.Component{old}}
	r.Package.DeployedComponents = []state.Component{has}
	return r
}

// removal removes component old of a record, charts last installed first.
func removal(r state.Record) Removal {
	m := Removal{
		Record: r, Event: state.PackageEvent{Type: state.Remove},
		Plan: plan.Plan{Components: []plan.Component{{Name: "old", Action: plan.ComponentRemove}}},
	}
	has, _ := r.Package.Component("old")
	for _, chart := range slices.Backward(has.InstalledCharts) {
		m.Plan.Prune.Releases = append(m.Plan.Prune.Releases, plan.PruneRelease{Release: chart.Release(), Component: "old"})
	}
	return m
}
