package apply

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/plan"
)

// known checks that nothing of the package is forgotten: each object is in the manifest of the release
// that owns it, or the record remembers it as kept.
func (m *model) known(t *testing.T) {
	t.Helper()
	for key, live := range m.live {
		held := slices.ContainsFunc(m.releases[live.Owner].objects, func(ref object.Ref) bool { return ref.Key() == key })
		remembered := m.record != nil && m.record.Own.Keeps(live.Instance())
		gone := m.record == nil && live.Owner == object.Release{} // it was kept, and named, when the package went
		if !held && !remembered && !gone {
			t.Errorf("%s of %q is forgotten", live.Ref, live.Owner)
		}
	}
}

// Objects that hooks keep, in whatever operations, of which any may be killed or fail in an uninstall
// hook, are never forgotten and never keep the package from being deployed; and once no hook keeps them,
// what a release still owns of them goes with the next prune and with the package.
func TestKeptObjectsStayKnown(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 17))
	kept, killed, stuck := 0, 0, 0
	for range 400 {
		versions := []modelPackage{randomPackage(r, "1"), randomPackage(r, "2"), randomPackage(r, "3")}
		m := newModel()
		story := ""
		for range 7 {
			m.guarded = map[string]bool{}
			for i := range 8 {
				m.guarded[fmt.Sprint("o", i)] = r.IntN(3) == 0
			}
			m.stuck, m.left = r.IntN(4) == 0, -1
			if r.IntN(3) == 0 {
				m.left = r.IntN(25)
			}
			operation := func() error { return m.remove(t.Context()) }
			does := "remove"
			if v := r.IntN(4); v < 3 {
				operation = func() error { return m.deploy(t.Context(), versions[v]) }
				does = "deploy " + versions[v].version
			}
			err := operation()
			story += fmt.Sprintf("\n%s, stuck %t, left %d: %v", does, m.stuck, m.left, err)
			switch {
			case errors.Is(err, errCrashed):
				killed++
			case errors.Is(err, errHook):
				stuck++
			case err != nil:
				t.Fatalf("%v%s", err, story)
			}
			m.known(t)
			if t.Failed() || len(m.broken) > 0 {
				t.Fatalf("%q%s\n%+v\n%+v\n%+v", m.broken, story, m.releases, m.record, versions)
			}
			if m.record != nil {
				kept += len(m.record.Own.Kept)
				continue
			}
			// What was kept when the package went is nobody's: somebody deletes it.
			for key, live := range m.live {
				if live.Owner == (object.Release{}) {
					delete(m.live, key)
				}
			}
		}
		m.guarded, m.stuck, m.left = nil, false, -1
		if m.record == nil {
			continue
		}
		if err := m.deploy(t.Context(), versions[0]); err != nil {
			t.Fatalf("at last: %v%s", err, story)
		}
		m.runs(t, versions[0])
		m.known(t)
		f := m.facts(versions[0])
		f.Scopes = plan.Scopes{plan.ScopeClusterResources}
		if again := plan.ForDeploy(f); again.Changes() {
			t.Fatalf("planning once more finds %+v%s", again, story)
		}
		for _, live := range m.live {
			owned := slices.ContainsFunc(m.releases[live.Owner].objects, func(ref object.Ref) bool { return ref.Key() == live.Key() })
			if live.Owner != (object.Release{}) && !owned && !plan.IsDataLossKind(live.Ref) {
				t.Errorf("%s is left of %s", live.Ref, live.Owner)
			}
		}
		if err := m.remove(t.Context()); err != nil {
			t.Fatalf("removing it at last: %v%s", err, story)
		}
		for _, live := range m.live {
			if live.Owner != (object.Release{}) {
				t.Errorf("%s of %s survives the package", live.Ref, live.Owner)
			}
		}
		if m.record != nil || len(m.releases) > 0 || t.Failed() || len(m.broken) > 0 {
			t.Fatalf("record %v, releases %v, %q%s", m.record != nil, m.releases, m.broken, story)
		}
	}
	t.Logf("%d objects kept, %d operations killed, %d stuck", kept, killed, stuck)
	if kept < 300 || killed < 300 || stuck < 100 {
		t.Error("too few to show anything")
	}
}
