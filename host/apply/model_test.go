package apply

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/state"
)

// A model of a cluster, small enough to try thousands of operations on: a record, releases and
// objects, changed by one write at a time, of which any can be the last one. What is planned and
// applied is the real thing; the model stands in for Kubernetes and Helm.

// modelPackage is a package of the model: components with charts that render objects.
type modelPackage struct {
	version    string
	components []modelComponent
}

type modelComponent struct {
	name   string
	charts []modelChart
}

type modelChart struct {
	release object.Release
	objects []object.Ref
}

type modelRelease struct {
	objects []object.Ref // of all revisions since the last deployed one
	pending bool
	gone    bool   // its uninstall has begun
	ever    bool   // some revision was deployed
	content string // of the deployed revision
}

var errHook = errors.New("a hook failed")

var errCrashed = errors.New("the program was killed")

// model is the cluster.
type model struct {
	record   *state.Record
	releases map[object.Release]modelRelease
	live     map[object.Key]object.Live
	uids     int
	// left is how many writes the program lives on for; negative is for ever.
	left   int
	writes int
	// confirmed is what may be deleted; anything else is an error.
	confirmed map[string]bool
	broken    []string // rules that were broken
	want      modelPackage
	guarded   map[string]bool // names of objects that a hook keeps
	stuck     bool            // uninstall hooks fail
}

func newModel() *model {
	return &model{releases: map[object.Release]modelRelease{}, live: map[object.Key]object.Live{}, left: -1}
}

func (m *model) copy() *model {
	c := *m
	c.releases, c.live = maps.Clone(m.releases), maps.Clone(m.live)
	return &c
}

// write changes the cluster, unless the program is dead.
func (m *model) write(change func()) error {
	if m.left == 0 {
		return errCrashed
	}
	m.left--
	m.writes++
	change()
	return nil
}

func (m *model) rule(ok bool, format string, args ...any) {
	if !ok {
		m.broken = append(m.broken, fmt.Sprintf(format, args...))
	}
}

func (m *model) Save(_ context.Context, r state.Record) error {
	return m.write(func() { m.record = &r })
}

func (m *model) Delete(context.Context) error { return m.write(func() { m.record = nil }) }

func (m *model) Close(context.Context, object.Release) error { return nil }

func (m *model) Run(context.Context, spec.Component, spec.ActionSet, []spec.Action) error { return nil }
func (m *model) PlaceFiles(context.Context, spec.Component) error                         { return nil }
func (m *model) PushImages(context.Context, spec.Component) error                         { return nil }
func (m *model) WaitHealthy(context.Context, []object.Ref) error                          { return nil }

func (m *model) Discard(_ context.Context, r object.Release, objects []object.Instance) ([]object.Ref, error) {
	for _, o := range objects {
		live, ok := m.live[o.Key()]
		if !ok {
			continue
		}
		m.rule(live.Owner == r && live.UID == o.UID && m.confirmed[o.Ref.String()], "%s of %q goes as a former one of %s", o.Ref, live.Owner, r)
		if err := m.write(func() { delete(m.live, o.Key()) }); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func (m *model) chart(r object.Release) modelChart {
	for _, c := range m.want.components {
		for _, ch := range c.charts {
			if ch.release == r {
				return ch
			}
		}
	}
	return modelChart{}
}

func (m *model) Install(_ context.Context, step plan.Release, onRevision func(int) error) (Installed, error) {
	if err := onRevision(1); err != nil {
		return Installed{}, err
	}
	chart, has := m.chart(step.Release), m.releases[step.Release]
	m.rule(!has.gone, "release %s is installed while it is being uninstalled", step.Release)
	was := has.objects
	if err := m.write(func() {
		has.pending, has.objects = true, union(was, chart.objects)
		m.releases[step.Release] = has
	}); err != nil {
		return Installed{}, err
	}
	for _, ref := range chart.objects {
		live, ok := m.live[ref.Key()]
		moved := slices.ContainsFunc(step.Moved, func(v plan.Move) bool { return v.Key() == ref.Key() && v.UID == live.UID })
		if ok && live.Owner != step.Release && !moved {
			return Installed{}, fmt.Errorf("%s belongs to %s", ref, live.Owner)
		}
		if err := m.write(func() {
			if !ok {
				m.uids++
				live = object.Live{Ref: ref, UID: fmt.Sprint("uid-", m.uids)}
			}
			live.Owner, live.Package = step.Release, "shop"
			m.live[ref.Key()] = live
		}); err != nil {
			return Installed{}, err
		}
	}
	for _, ref := range was {
		if slices.Contains(chart.objects, ref) || m.live[ref.Key()].Owner != step.Release || !m.confirmed[ref.String()] {
			continue
		}
		if err := m.write(func() { delete(m.live, ref.Key()) }); err != nil {
			return Installed{}, err
		}
	}
	return Installed{Revision: 1}, m.write(func() {
		m.releases[step.Release] = modelRelease{objects: chart.objects, ever: true, content: m.want.version}
	})
}

func (m *model) Uninstall(_ context.Context, step plan.PruneRelease, keep []object.Ref, before func([]object.Instance, int) error) (Uninstalled, error) {
	has, ok := m.releases[step.Release]
	if !ok {
		return Uninstalled{Gone: true}, m.letGo(step.Release, m.record.Own.KeptOf(step.Release))
	}
	var kept []object.Instance
	for _, ref := range has.objects {
		live, ok := m.live[ref.Key()]
		if ok && (live.Owner == step.Release && !m.confirmed[ref.String()] || live.Owner == (object.Release{}) && slices.Contains(keep, ref)) {
			kept = append(kept, live.Instance())
		}
	}
	if err := before(kept, 1); err != nil {
		return Uninstalled{}, err
	}
	if err := m.write(func() { has.gone = true; m.releases[step.Release] = has }); err != nil {
		return Uninstalled{}, err
	}
	if m.stuck {
		return Uninstalled{}, errHook
	}
	for _, ref := range has.objects {
		live, ok := m.live[ref.Key()]
		if !ok || live.Owner != step.Release || slices.ContainsFunc(kept, func(k object.Instance) bool { return k.Ref == ref }) {
			continue
		}
		if err := m.write(func() { delete(m.live, ref.Key()) }); err != nil {
			return Uninstalled{}, err
		}
	}
	var refs []object.Ref
	for _, k := range kept {
		refs = append(refs, k.Ref)
	}
	kept = append(kept, m.record.Own.KeptOf(step.Release)...)
	if err := m.letGo(step.Release, kept); err != nil {
		return Uninstalled{}, err
	}
	return Uninstalled{Kept: refs}, m.write(func() { delete(m.releases, step.Release) })
}

func (m *model) letGo(r object.Release, objects []object.Instance) error {
	for _, o := range objects {
		live := m.live[o.Key()]
		if live.Owner != r {
			continue
		}
		if err := m.write(func() { live.Owner, live.Package = object.Release{}, ""; m.live[o.Key()] = live }); err != nil {
			return err
		}
	}
	return nil
}

func union(a, b []object.Ref) []object.Ref {
	out := slices.Clone(a)
	for _, ref := range b {
		if !slices.Contains(out, ref) {
			out = append(out, ref)
		}
	}
	return out
}

// facts observes the model as recovery leaves it: a pending revision is marked failed.
func (m *model) facts(p modelPackage) plan.Facts {
	f := plan.Facts{
		Package:  plan.Package{Name: "shop", Version: p.version, Digest: "sha256:" + p.version},
		Releases: map[object.Release]plan.ReleaseFacts{}, Live: maps.Clone(m.live), Lost: map[object.Key][]object.Ref{},
	}
	for r, has := range m.releases {
		facts := plan.ReleaseFacts{Exists: true, EverDeployed: has.ever, Uninstalling: has.gone, Package: "shop", Revisions: 1}
		for _, ref := range has.objects {
			facts.Objects = append(facts.Objects, plan.Rendered{Ref: ref})
		}
		f.Releases[r] = facts
	}
	if m.record != nil {
		f.Record, f.Own = &m.record.Package, m.record.Own
	}
	for _, c := range p.components {
		f.Definition.Components = append(f.Definition.Components, spec.Component{Name: c.name})
		f.Selected = append(f.Selected, c.name)
		for _, ch := range c.charts {
			w := plan.Wanted{Release: ch.release, Component: c.name, Chart: ch.release.Name}
			has := m.releases[ch.release]
			w.Unchanged = !has.pending && !has.gone && has.content == p.version
			for _, ref := range ch.objects {
				w.Objects = append(w.Objects, plan.Rendered{Ref: ref})
				w.Unchanged = w.Unchanged && m.live[ref.Key()].Owner == ch.release
			}
			f.Wanted = append(f.Wanted, w)
		}
	}
	return f
}

func (m *model) engine() Engine {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return Engine{Recorder: m, Releases: m, Steps: m, Sink: event.Discard, Now: func() time.Time { return now }}
}

// held returns the record to go on from, with the kept objects that still are.
func (m *model) held() state.Record {
	if m.record == nil {
		return state.Record{Package: state.Package{Name: "shop"}}
	}
	r := *m.record
	r.Own = r.Own.StillKept(m.live, func(r object.Release, key object.Key) bool {
		return slices.ContainsFunc(m.releases[r].objects, func(ref object.Ref) bool { return ref.Key() == key })
	})
	return r
}

// guard asks for what the model's hook keeps.
func (m *model) guard(p plan.Plan) plan.Plan {
	for _, o := range p.Prune.Objects {
		if !m.guarded[o.Name] {
			continue
		}
		kept, _, err := p.WithKept(plan.Keep{Object: &o.Ref, By: "the model", Reason: "it is guarded"})
		m.rule(err == nil, "keeping %s: %v", o.Ref, err)
		p = kept
	}
	return p
}

// confirm takes a plan as confirmed and checks that it takes nothing of others.
func (m *model) confirm(p plan.Plan) {
	m.confirmed = map[string]bool{}
	for _, o := range p.Prune.Objects {
		m.confirmed[o.Ref.String()] = true
		live := m.live[o.Key()]
		m.rule(live.Owner.String() == o.Release && live.UID == o.UID,
			"the plan deletes %s of %s, which %s owns", o.Ref, o.Release, live.Owner)
	}
}

var errDenied = errors.New("denied")

func (m *model) deploy(ctx context.Context, p modelPackage) error {
	f := m.facts(p)
	f.Scopes = plan.Scopes{plan.ScopeClusterResources}
	f.Accept = []plan.CollisionKind{plan.CollidesName} // it may have nothing in common with what was left
	planned := plan.ForDeploy(f)
	if len(planned.Denials()) > 0 || len(planned.Blocked) > 0 {
		return fmt.Errorf("%w: %v %v", errDenied, planned.Denials(), planned.Blocked)
	}
	planned = m.guard(planned)
	m.confirm(planned)
	m.want = p
	_, err := m.engine().Deploy(ctx, Deployment{
		Plan: planned, Definition: f.Definition, Selected: f.Selected, Record: m.held(),
		Event: state.PackageEvent{Type: state.Deploy, Version: p.version, Digest: "sha256:" + p.version},
	})
	return err
}

func (m *model) remove(ctx context.Context) error {
	if m.record == nil {
		return nil
	}
	f := m.facts(modelPackage{})
	for _, c := range m.record.Package.DeployedComponents {
		f.Selected = append(f.Selected, c.Name)
	}
	planned := m.guard(plan.ForRemove(f))
	m.confirm(planned)
	_, err := m.engine().Remove(ctx, Removal{
		Plan: planned, Record: m.held(), Event: state.PackageEvent{Type: state.Remove},
	})
	return err
}

// picture is what matters of the end of an operation. UIDs are left out, but for objects that hold
// data and were there before.
func (m *model) picture(before *model) []string {
	var out []string
	for r, has := range m.releases {
		out = append(out, fmt.Sprintf("release %s %v pending=%t gone=%t %s", r, has.objects, has.pending, has.gone, has.content))
	}
	for key, live := range m.live {
		line := fmt.Sprintf("object %s of %s", live.Ref, live.Owner)
		if had, ok := before.live[key]; ok && key.Kind == "PersistentVolumeClaim" {
			line += fmt.Sprintf(" same=%t", had.UID == live.UID)
		}
		out = append(out, line)
	}
	if m.record != nil {
		for _, c := range m.record.Package.DeployedComponents {
			var charts []string
			for _, ch := range c.InstalledCharts {
				charts = append(charts, ch.Name)
			}
			slices.Sort(charts)
			out = append(out, fmt.Sprintf("recorded %s %s %v", c.Name, c.Status, charts))
		}
	}
	slices.Sort(out)
	return out
}

// runs checks that a package is deployed and nothing else of it is left.
func (m *model) runs(t *testing.T, p modelPackage) {
	t.Helper()
	wanted := map[object.Release]bool{}
	for _, c := range p.components {
		for _, ch := range c.charts {
			wanted[ch.release] = true
			has := m.releases[ch.release]
			if has.pending || has.gone || has.content != p.version {
				t.Errorf("release %s is %+v", ch.release, has)
			}
			for _, ref := range ch.objects {
				if live := m.live[ref.Key()]; live.Owner != ch.release {
					t.Errorf("%s is of %q, not of %s", ref, live.Owner, ch.release)
				}
			}
		}
	}
	for r := range m.releases {
		if !wanted[r] {
			t.Errorf("release %s is left", r)
		}
	}
}

// randomPackage deals objects to charts and charts to components, each once.
func randomPackage(r *rand.Rand, version string) modelPackage {
	p := modelPackage{version: version}
	var objects []object.Ref
	for i := range 8 {
		ref := object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "ns", Name: fmt.Sprint("o", i)}
		if i < 2 {
			ref.Kind = "PersistentVolumeClaim"
		}
		objects = append(objects, ref)
	}
	r.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
	charts := r.Perm(5)
	for i := range 3 {
		if r.IntN(4) == 0 && i > 0 || len(charts) == 0 || len(objects) == 0 {
			continue
		}
		c := modelComponent{name: fmt.Sprint("c", i)}
		for range 1 + r.IntN(2) {
			if len(charts) == 0 || len(objects) == 0 {
				break
			}
			n := min(1+r.IntN(3), len(objects))
			c.charts = append(c.charts, modelChart{release: release(fmt.Sprint("r", charts[0])), objects: objects[:n:n]})
			charts, objects = charts[1:], objects[n:]
		}
		p.components = append(p.components, c)
	}
	return p
}

// Whatever ended in the middle, any other operation can follow it: the version before, the next one,
// or a removal. A claim that both versions have keeps its life through an upgrade, killed or not.
func TestAnythingMayFollowAnInterruption(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for range 8 {
		v1, v2 := randomPackage(r, "1"), randomPackage(r, "2")
		start := newModel()
		if err := start.deploy(t.Context(), v1); err != nil {
			t.Fatal(err)
		}
		operations := map[string]func(*model) error{
			"deploy 1": func(m *model) error { return m.deploy(t.Context(), v1) },
			"deploy 2": func(m *model) error { return m.deploy(t.Context(), v2) },
			"remove":   func(m *model) error { return m.remove(t.Context()) },
		}
		for _, first := range []string{"deploy 2", "remove"} {
			whole := start.copy()
			whole.writes = 0
			if err := operations[first](whole); errors.Is(err, errDenied) {
				continue
			} else if err != nil {
				t.Fatal(err)
			}
			for n := range whole.writes {
				for then, operation := range operations {
					m := start.copy()
					m.left = n
					_ = operations[first](m) // it is killed
					m.left = -1
					if err := operation(m); err != nil {
						t.Fatalf("%s after %d of %d writes of %s: %v\n%+v\n%+v", then, n, whole.writes, first, err, v1, v2)
					}
					switch then {
					case "deploy 1":
						m.runs(t, v1)
					case "deploy 2":
						m.runs(t, v2)
					case "remove":
						m.runs(t, modelPackage{})
					}
					for key, had := range start.live {
						has, ok := m.live[key]
						if key.Kind == "PersistentVolumeClaim" && first == "deploy 2" && then != "remove" && (!ok || has.UID != had.UID) {
							t.Errorf("%s is lost", had.Ref)
						}
					}
					if t.Failed() || len(m.broken) > 0 {
						t.Fatalf("%s after %d of %d writes of %s: %q\n%+v\n%+v", then, n, whole.writes, first, m.broken, v1, v2)
					}
				}
			}
		}
	}
}

// Whatever a package becomes in its next version, and wherever an operation ends in between: the same
// operation again ends as if nothing had happened. Planning after that finds nothing to do, and no
// plan ever deletes what another release owns.
func TestPrefixesConverge(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	tried, denied, cells := 0, 0, 0
	for tried < 100 {
		v1, v2 := randomPackage(r, "1"), randomPackage(r, "2")
		start := newModel()
		if err := start.deploy(t.Context(), v1); err != nil {
			t.Fatalf("deploying %+v: %v", v1, err)
		}
		if r.IntN(3) == 0 { // something of the package is somebody else's by now
			for key, live := range start.live {
				live.Owner, live.Package = release("theirs"), "another"
				start.live[key] = live
				break
			}
		}
		operations := map[string]func(*model) error{
			"upgrade": func(m *model) error { return m.deploy(t.Context(), v2) },
			"remove":  func(m *model) error { return m.remove(t.Context()) },
		}
		for name, operation := range operations {
			whole := start.copy()
			whole.writes = 0
			if err := operation(whole); errors.Is(err, errDenied) {
				denied++
				continue
			} else if err != nil {
				t.Fatalf("%s of %+v after %+v: %v", name, v2, v1, err)
			}
			tried++
			want := whole.picture(start)
			if name == "upgrade" {
				f := whole.facts(v2)
				f.Scopes = plan.Scopes{plan.ScopeClusterResources}
				if again := plan.ForDeploy(f); again.Changes() {
					t.Fatalf("planning %+v again after it was deployed over %+v finds\n%+v", v2, v1, again)
				}
			}
			for n := range whole.writes {
				cells++
				m := start.copy()
				m.left = n
				if err := operation(m); !errors.Is(err, errCrashed) {
					t.Fatalf("%s killed after %d of %d writes: %v", name, n, whole.writes, err)
				}
				m.left = -1
				if err := operation(m); err != nil {
					t.Fatalf("%s again after %d of %d writes: %v\n%+v\n%+v\nstart\n\t%s", name, n, whole.writes, err, v1, v2,
						strings.Join(start.picture(start), "\n\t"))
				}
				if diff := cmp.Diff(want, m.picture(start)); diff != "" {
					t.Fatalf("%s again after %d of %d writes (-want +got):\n%s\n%+v\n%+v", name, n, whole.writes, diff, v1, v2)
				}
				if len(m.broken) > 0 {
					t.Fatalf("%s after %d writes: %q", name, n, m.broken)
				}
			}
		}
	}
	t.Logf("%d operations, %d prefixes, %d denied", tried, cells, denied)
	if cells < 2000 || denied > 4*tried {
		t.Errorf("%d operations, %d prefixes, %d denied: too few to show anything", tried, cells, denied)
	}
}
