package state

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/spec"
)

// deployed is a record of components a, with releases r1 and r2, b, and c, at generation 4.
func deployed() Package {
	return Package{
		Name:       "p",
		Data:       definition("a", "b", "c"),
		Generation: 4,
		DeployedComponents: []Component{
			{Name: "a", Status: StatusSucceeded, ObservedGeneration: 4, InstalledCharts: []Chart{
				{Namespace: "n1", Name: "r", Status: StatusSucceeded, ConnectStrings: ConnectStrings{"one": {URL: "/1"}}},
				{Namespace: "n2", Name: "r", Status: StatusSucceeded},
			}},
			{Name: "b", Status: StatusSucceeded, ObservedGeneration: 4},
			{Name: "c", Status: StatusFailed, ObservedGeneration: 3},
		},
		ConnectStrings: ConnectStrings{"one": {URL: "/1"}, "old": {URL: "/old"}},
	}
}

func definition(names ...string) spec.Package {
	var p spec.Package
	p.Metadata.Version = "1"
	for _, name := range names {
		p.Components = append(p.Components, spec.Component{Name: name, Description: "version 1"})
	}
	return p
}

func newer(names ...string) spec.Package {
	p := definition(names...)
	p.Metadata.Version = "2"
	for i := range p.Components {
		p.Components[i].Description = "version 2"
	}
	return p
}

var (
	r1 = object.Release{Namespace: "n1", Name: "r"}
	r2 = object.Release{Namespace: "n2", Name: "r"}
	r3 = object.Release{Namespace: "n1", Name: "s"}
)

// Every transition leaves the record that it begins from as it was, to the last byte of every slice
// and map in it.
func TestTransitionsCopy_N5(t *testing.T) {
	for name, transition := range map[string]func(Package) Package{
		"Begin":           func(p Package) Package { return p.Begin(PackageEvent{Type: Deploy, Timestamp: at(9)}) },
		"Finish":          func(p Package) Package { return p.Finish(Succeeded, at(9), &DeployConfig{NamespaceOverride: "x"}) },
		"BeginComponent":  func(p Package) Package { return p.BeginComponent("a", Deploy, at(9), r3, r1) },
		"BeginComponent2": func(p Package) Package { return p.BeginComponent("new", Deploy, at(9), r3, r1) },
		"FinishComponent": func(p Package) Package { return p.FinishComponent("a", Failed, at(9), "") },
		"SetChart": func(p Package) Package {
			return p.SetChart("a", Chart{Namespace: "n1", Name: "r", Status: StatusFailed, ConnectStrings: ConnectStrings{"two": {}}})
		},
		"SetChart2":     func(p Package) Package { return p.SetChart("b", Chart{Namespace: "n1", Name: "x"}) },
		"DropChart":     func(p Package) Package { return p.DropChart("a", r1) },
		"DropComponent": func(p Package) Package { return p.DropComponent("a") },
		"Define":        func(p Package) Package { return p.Define(newer("c", "a"), "a") },
		"Public":        Package.Public,
	} {
		t.Run(name, func(t *testing.T) {
			p := deployed()
			// Room behind each slice, so that an append in place would be seen.
			p.DeployedComponents = append(make([]Component, 0, 9), p.DeployedComponents...)
			p.DeployedComponents[0].InstalledCharts = append(make([]Chart, 0, 9), p.DeployedComponents[0].InstalledCharts...)
			p.Data.Components = append(make([]spec.Component, 0, 9), p.Data.Components...)
			p.Events = append(make([]PackageEvent, 0, 9), PackageEvent{Type: Deploy, Outcome: InProgress, ConfigDigest: "x"})
			before := everything(t, p)
			if got := everything(t, transition(p)); name != "Public" && got == before {
				t.Error("nothing changed")
			}
			if diff := cmp.Diff(before, everything(t, p)); diff != "" {
				t.Errorf("the old record changed (-before +after):\n%s", diff)
			}
		})
	}
}

// everything is a record's JSON, with what is in its slices beyond their lengths.
func everything(t *testing.T, p Package) string {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	components := p.DeployedComponents[:cap(p.DeployedComponents)]
	tail, err := json.Marshal([]any{components, p.Data.Components[:cap(p.Data.Components)], p.Events[:cap(p.Events)]})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range components {
		charts, err := json.Marshal(c.InstalledCharts[:cap(c.InstalledCharts)])
		if err != nil {
			t.Fatal(err)
		}
		tail = append(tail, charts...)
	}
	return string(text) + string(tail)
}

func TestRun_N3_N4(t *testing.T) {
	p := deployed().Begin(PackageEvent{Type: Deploy, Outcome: Succeeded, Version: "2", Timestamp: at(0)}).
		Define(newer("a", "b"), "a", "b")
	if p.Generation != 5 {
		t.Errorf("generation %d, want 5: one more a run", p.Generation)
	}
	p = p.BeginComponent("a", Deploy, at(1), r1, r3)
	a, _ := p.Component("a")
	want := Component{
		Name: "a", Status: StatusDeploying, ObservedGeneration: 5,
		LastEvent: ComponentEvent{Type: Deploy, Outcome: InProgress, Timestamp: at(1)},
		InstalledCharts: []Chart{
			{Namespace: "n1", Name: "r", Status: StatusSucceeded, ConnectStrings: ConnectStrings{"one": {URL: "/1"}}},
			{Namespace: "n1", Name: "s", Status: StatusFailed},
			{Namespace: "n2", Name: "r", Status: StatusSucceeded},
		},
	}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Errorf("a after it began (-want +got):\n%s", diff)
	}
	p = p.SetChart("a", Chart{Namespace: "n1", Name: "s", Status: StatusSucceeded, ConnectStrings: ConnectStrings{"two": {URL: "/2"}}}).
		FinishComponent("a", Succeeded, at(2), "").
		BeginComponent("b", Deploy, at(3)).
		FinishComponent("b", Failed, at(4), "").
		Finish(Failed, at(5), &DeployConfig{NamespaceOverride: "x"})
	if p.Generation != 5 {
		t.Errorf("generation %d at the end, want 5", p.Generation)
	}
	if p.DeployConfig != nil {
		t.Error("a failed deployment replaced the configuration")
	}
	var got []string
	for _, c := range p.DeployedComponents {
		got = append(got, fmt.Sprintf("%s %s %s %d", c.Name, c.Status, c.LastEvent.Outcome, c.ObservedGeneration))
	}
	if diff := cmp.Diff([]string{"a Succeeded Succeeded 5", "b Failed Failed 5", "c Failed  3"}, got); diff != "" {
		t.Errorf("components (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(ConnectStrings{"one": {URL: "/1"}, "two": {URL: "/2"}, "old": {URL: "/old"}}, p.ConnectStrings); diff != "" {
		t.Errorf("connect strings (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]PackageEvent{{Type: Deploy, Outcome: Failed, Version: "2", Timestamp: at(5)}}, p.Events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestFinishTakesConfig(t *testing.T) {
	old, supplied := &DeployConfig{NamespaceOverride: "old"}, &DeployConfig{NamespaceOverride: "new"}
	for _, test := range []struct {
		kind    EventType
		outcome EventOutcome
		want    *DeployConfig
	}{
		{Deploy, Succeeded, supplied}, {Deploy, Failed, old}, {Deploy, Cancelled, old},
		{Remove, Succeeded, old}, {Remove, Failed, old},
	} {
		p := Package{DeployConfig: old}.Begin(PackageEvent{Type: test.kind}).Finish(test.outcome, at(1), supplied)
		if p.DeployConfig != test.want {
			t.Errorf("%s %s: the wrong configuration is recorded", test.kind, test.outcome)
		}
	}
	if p := (Package{DeployConfig: old}).Finish(Succeeded, at(1), supplied); p.DeployConfig != old || len(p.Events) != 0 {
		t.Error("Finish without an attempt in progress changed the record")
	}
}

func TestCancelledComponent(t *testing.T) {
	p := deployed()
	for _, name := range []string{"a", "c", "new"} {
		was, _ := p.Component(name)
		p = p.BeginComponent(name, Deploy, at(1)).FinishComponent(name, Cancelled, at(2), was.Status)
	}
	for name, want := range map[string]Status{"a": StatusSucceeded, "c": StatusFailed, "new": StatusDeploying} {
		c, _ := p.Component(name)
		if c.Status != want || c.LastEvent.Outcome != Cancelled {
			t.Errorf("%s: %s, %s; want %s, Cancelled", name, c.Status, c.LastEvent.Outcome, want)
		}
	}
}

func TestBeginClosesStuckAttempt(t *testing.T) {
	p := deployed().Begin(PackageEvent{Type: Deploy, Version: "2", Timestamp: at(1)}).BeginComponent("a", Deploy, at(2), r1)
	p = p.Begin(PackageEvent{Type: Remove, Version: "2", Timestamp: at(9)})
	want := []PackageEvent{
		{Type: Deploy, Outcome: Failed, Version: "2", Timestamp: at(9)},
		{Type: Remove, Outcome: InProgress, Version: "2", Timestamp: at(9)},
	}
	if diff := cmp.Diff(want, p.Events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	a, _ := p.Component("a")
	if a.Status != StatusFailed || a.LastEvent.Outcome != Failed {
		t.Errorf("the component left unfinished: %s, %s; want it failed", a.Status, a.LastEvent.Outcome)
	}
}

func TestDropChart_N6(t *testing.T) {
	p := deployed().DropChart("a", r1)
	a, _ := p.Component("a")
	if diff := cmp.Diff([]Chart{{Namespace: "n2", Name: "r", Status: StatusSucceeded}}, a.InstalledCharts); diff != "" {
		t.Errorf("charts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(ConnectStrings{"old": {URL: "/old"}}, p.ConnectStrings); diff != "" {
		t.Errorf("connect strings (-want +got):\n%s", diff)
	}
	if p = p.DropChart("a", r2); len(p.DeployedComponents[0].InstalledCharts) != 0 {
		t.Error("the last chart stays")
	}
}

func TestDropComponent(t *testing.T) {
	p := deployed().DropComponent("a")
	if diff := cmp.Diff([]string{"b", "c"}, names(p.Data.Components)); diff != "" {
		t.Errorf("definitions (-want +got):\n%s", diff)
	}
	if _, ok := p.Component("a"); ok || len(p.DeployedComponents) != 2 {
		t.Errorf("entries: %v", p.DeployedComponents)
	}
}

func TestDefine_A2(t *testing.T) {
	tests := map[string]struct {
		definition spec.Package
		touched    []string
		want       []string // component and version, in order
		entries    []string
	}{
		"all are touched": {newer("a", "b", "c"), []string{"a", "b", "c"},
			[]string{"a version 2", "b version 2", "c version 2"}, []string{"a", "b", "c"}},
		"some are deselected": {newer("a", "b", "c"), []string{"b"},
			[]string{"a version 1", "b version 2", "c version 1"}, []string{"a", "b", "c"}},
		"some are gone from the package": {newer("b"), []string{"b"},
			[]string{"b version 2", "a version 1", "c version 1"}, []string{"b", "a", "c"}},
		"new ones, selected and not": {newer("x", "b", "y"), []string{"x", "b"},
			[]string{"x version 2", "b version 2", "a version 1", "c version 1"}, []string{"b", "a", "c"}},
		"another order": {newer("c", "b", "a"), []string{"c", "b", "a"},
			[]string{"c version 2", "b version 2", "a version 2"}, []string{"c", "b", "a"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := deployed()
			p.Data.Components = append(p.Data.Components, spec.Component{Name: "never-reached"})
			p = p.Define(test.definition, test.touched...)
			var got, entries []string
			for _, c := range p.Data.Components {
				got = append(got, c.Name+" "+c.Description)
			}
			for _, c := range p.DeployedComponents {
				entries = append(entries, c.Name)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("definitions (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.entries, entries); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
			if p.Data.Metadata.Version != "2" {
				t.Errorf("metadata is of version %s", p.Data.Metadata.Version)
			}
		})
	}
}

// Entries are in definition order however they came to be there, the same each time.
func TestOrder_N7(t *testing.T) {
	for range 1000 {
		p := Package{Data: definition("a", "b", "c")}
		for _, name := range []string{"c", "a", "b"} {
			p = p.BeginComponent(name, Deploy, at(1), r3, r2, r1)
		}
		var got []string
		for _, c := range p.DeployedComponents {
			got = append(got, c.Name)
			for _, chart := range c.InstalledCharts {
				got = append(got, chart.Release().String())
			}
		}
		want := []string{"a", "n1/s", "n2/r", "n1/r", "b", "n1/s", "n2/r", "n1/r", "c", "n1/s", "n2/r", "n1/r"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
}

func TestOwn(t *testing.T) {
	life := func(apiVersion, kind, name, uid string) object.Instance {
		return object.Instance{Ref: object.Ref{APIVersion: apiVersion, Kind: kind, Namespace: "n", Name: name}, UID: uid}
	}
	cm := life("v1", "ConfigMap", "c", "1")
	deployment := life("apps/v1", "Deployment", "d", "2")
	older := life("apps/v1beta1", "Deployment", "d", "2")
	var empty Own
	if !empty.IsZero() || empty.Revision(r1) != 0 {
		t.Error("an empty key remembers something")
	}
	own := empty.SetRevision(r1, 1).SetRevision(r2, 7)
	if next := own.SetRevision(r1, 2); next.Revision(r1) != 2 || next.Revision(r2) != 7 || own.Revision(r1) != 1 {
		t.Errorf("revisions: %v, before %v", next.Charts, own.Charts)
	}
	if next := own.DropChart(r1); next.Revision(r1) != 0 || next.Revision(r2) != 7 || own.Revision(r1) != 1 {
		t.Errorf("dropped: %v, before %v", next.Charts, own.Charts)
	}
	kept := own.Keep(r1, deployment, cm).Keep(r2, older)
	want := []KeptObject{{Instance: cm, Release: r1}, {Instance: deployment, Release: r1}}
	if diff := cmp.Diff(want, kept.Kept); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if !kept.Keeps(older) || own.Keeps(cm) {
		t.Error("Keeps compares versions, or Keep changed the old value")
	}
	another := life("apps/v1", "Deployment", "d", "3")
	if next := kept.Keep(r2, another); kept.Keeps(another) || !next.Keeps(another) || next.Keeps(deployment) {
		t.Error("an object that took the name of a kept one is taken for it")
	}
	if left := kept.Forget(older.Ref); len(left.Kept) != 1 || len(kept.Kept) != 2 {
		t.Errorf("forgotten: %v, before %v", left.Kept, kept.Kept)
	}
}

func TestStillKept(t *testing.T) {
	claim := object.Ref{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: "n", Name: "data"}
	own := Own{}.Keep(r1, object.Instance{Ref: claim, UID: "1"})
	for name, test := range map[string]struct {
		live *object.Live
		held bool
		want int
	}{
		"it lives without an owner":                  {&object.Live{Ref: claim, UID: "1"}, false, 1},
		"its release was upgraded without it":        {&object.Live{Ref: claim, UID: "1", Owner: r1}, false, 1},
		"it is gone":                                 {nil, false, 0},
		"another has its name":                       {&object.Live{Ref: claim, UID: "2"}, false, 0},
		"its release has it again, after a rollback": {&object.Live{Ref: claim, UID: "1", Owner: r1}, true, 0},
		"another release has it":                     {&object.Live{Ref: claim, UID: "1", Owner: r2}, false, 0},
	} {
		live := map[object.Key]object.Live{}
		if test.live != nil {
			live[claim.Key()] = *test.live
		}
		got := own.StillKept(live, func(r object.Release, _ object.Key) bool { return test.held && r == r1 })
		if len(got.Kept) != test.want || len(own.Kept) != 1 {
			t.Errorf("%s: %v", name, got.Kept)
		}
	}
}

func TestSecretName_N1(t *testing.T) {
	if got := SecretName("foo", ""); got != "zarf-package-foo" {
		t.Error(got)
	}
	if a, b := SecretName("foo", "bar"), SecretName("foo-override-bar", ""); a != b || a != "zarf-package-foo-override-bar" {
		t.Errorf("%s, %s: Zarf gives both the same name, which is why readers compare", a, b)
	}
}

func names(components []spec.Component) []string {
	var all []string
	for _, c := range components {
		all = append(all, c.Name)
	}
	return all
}

// A differential package lists only what it brings: the record keeps what its base brought.
func TestDefineDifferential(t *testing.T) {
	image := func(name string, images ...string) spec.Component {
		return spec.Component{Name: name, Images: images, Repos: []string{"r/" + name}}
	}
	p := Package{
		Data:               spec.Package{Components: []spec.Component{image("a", "x:1", "y:1"), image("never", "n:1")}},
		DeployedComponents: []Component{{Name: "a"}},
	}
	next := spec.Package{Components: []spec.Component{{Name: "a", Images: []string{"x:2", "y:1"}}, image("never", "n:2")}}
	next.Components[0].ImageArchives = []spec.ImageArchive{{Images: []string{"z:1"}}}
	for _, differential := range []bool{false, true} {
		next.Build.Differential = differential
		got := p.Define(next, "a", "never").Data.Components
		want := []string{"x:2", "y:1"}
		repos := 0
		if differential {
			want, repos = []string{"x:2", "y:1", "x:1"}, 1
		}
		if diff := cmp.Diff(want, got[0].Images); diff != "" || len(got[0].Repos) != repos {
			t.Errorf("differential %v: repos %v, images (-want +got):\n%s", differential, got[0].Repos, diff)
		}
		if diff := cmp.Diff([]string{"n:2"}, got[1].Images); diff != "" {
			t.Errorf("a component that was never deployed has (-want +got):\n%s", diff)
		}
	}
	if len(next.Components[0].Images) != 2 {
		t.Error("the package's own definition changed")
	}
}
