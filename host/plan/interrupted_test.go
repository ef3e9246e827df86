package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/state"
)

// change edits what is known of a release.
func (w *world) change(release string, edit func(*ReleaseFacts)) *world {
	has := w.f.Releases[rel(release)]
	edit(&has)
	w.f.Releases[rel(release)] = has
	return w
}

func beingUninstalled(r *ReleaseFacts) { r.Uninstalling, r.EverDeployed = true, false }

func TestAnInterruptedUninstallGoesOnWithinThePlan(t *testing.T) {
	interrupted := func() *world {
		w := newWorld("shop").deployed("web", "web", "ConfigMap/a", "ConfigMap/b", "PersistentVolumeClaim/data").
			change("web", beingUninstalled)
		w.f.Recovery = []Recovery{{Release: rel("web"), Status: "uninstalling"}}
		return w
	}
	t.Run("what the release renders again keeps its life, the rest is listed", func(t *testing.T) {
		p := ForDeploy(interrupted().wants("web", "web", "ConfigMap/a").f)
		want := summary{
			Steps: []string{"upgrade web"}, Deleted: []string{"ConfigMap/b (interrupted)"},
			Kept: []string{"PersistentVolumeClaim/data by data-loss"}, Moved: []string{"ConfigMap/a from web to web"},
		}
		if diff := cmp.Diff(want, summarise(p)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if !p.Releases[0].Anew || len(p.Recovery) != 1 {
			t.Errorf("release %+v, recovery %+v; want it installed anew", p.Releases[0], p.Recovery)
		}
	})
	t.Run("an object that is on its way out is not taken over", func(t *testing.T) {
		w := interrupted().wants("web", "web", "ConfigMap/a")
		key := ref("ConfigMap/a").Key()
		live := w.f.Live[key]
		live.Terminating = true
		w.f.Live[key] = live
		got := summarise(ForDeploy(w.f))
		if len(got.Moved) != 0 || !slices.Contains(got.Deleted, "ConfigMap/a (interrupted)") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a release of a component that is not selected is left as it is", func(t *testing.T) {
		w := interrupted().wants("web", "").wants("other", "other", "ConfigMap/o")
		w.f.Selected = []string{"other"}
		p := ForDeploy(w.f)
		if len(p.Recovery) != 0 || !p.Prune.Empty() || !strings.Contains(strings.Join(p.Warnings, "\n"), "left as it is") {
			t.Errorf("recovery %+v, prune %+v, warnings %q", p.Recovery, p.Prune, p.Warnings)
		}
	})
	t.Run("one whose content is not known before is refused", func(t *testing.T) {
		w := interrupted().wants("web", "web")
		w.f.Wanted[0].CannotRender = "a variable is missing"
		if got := summarise(ForDeploy(w.f)).Denied; !slices.Equal(got, []string{"interrupted-uninstall"}) {
			t.Errorf("denied = %v", got)
		}
	})
}

func TestAReleaseThatSomebodyWorksOnIsRefused(t *testing.T) {
	w := newWorld("shop").deployed("web", "web", "ConfigMap/a").deployed("web", "old", "ConfigMap/o").
		wants("web", "web", "ConfigMap/a")
	pending := func(r *ReleaseFacts) { r.Busy = Busy{Revision: 4, Status: "pending-upgrade"} }
	w.change("old", pending)
	if p := ForDeploy(w.f); len(p.Blocked) != 0 {
		t.Errorf("a release that stays as it is blocks the deployment: %q", p.Blocked)
	}
	if p := ForDeploy(w.prune().f); len(p.Blocked) != 1 || !strings.Contains(p.Blocked[0], "ns/old is pending-upgrade at revision 4") {
		t.Errorf("blocked = %q, want the release that would be pruned", p.Blocked)
	}
	w.change("web", pending)
	if p := ForDeploy(w.f); len(p.Blocked) != 2 {
		t.Errorf("blocked = %q, want the upgraded release too", p.Blocked)
	}
	removal := w.f
	removal.Selected = []string{"web"}
	if p := ForRemove(removal); len(p.Blocked) != 2 {
		t.Errorf("a removal: blocked = %q", p.Blocked)
	}
	w.change("web", func(r *ReleaseFacts) { r.Busy.Status = "uninstalling" }).
		change("old", func(r *ReleaseFacts) { r.Busy = Busy{} })
	if p := ForRemove(removal); len(p.Blocked) != 0 {
		t.Errorf("a removal may finish what Helm began: blocked = %q", p.Blocked)
	}
}

func TestAChartThatMovedToAnUnselectedComponentStays(t *testing.T) {
	w := newWorld("shop").deployed("one", "r", "StatefulSet/db").deployed("one", "stays", "ConfigMap/a").
		wants("one", "stays", "ConfigMap/a").wants("two", "").prune()
	w.f.Selected = []string{"one"}
	w.f.Unselected = map[object.Release]string{rel("r"): "two"}
	p := ForDeploy(w.f)
	if !p.Prune.Empty() || !p.KeepsRelease(rel("r")) {
		t.Errorf("prune = %+v, want nothing deleted and the release kept on record", p.Prune)
	}
	// The same where its component is gone from the package.
	w = newWorld("shop").deployed("gone", "r", "StatefulSet/db").deployed("one", "stays", "ConfigMap/a").
		wants("one", "stays", "ConfigMap/a").wants("two", "").prune()
	w.f.Selected = []string{"one"}
	w.f.Unselected = map[object.Release]string{rel("r"): "two"}
	if p := ForDeploy(w.f); len(p.Prune.Objects) != 0 || !p.KeepsRelease(rel("r")) {
		t.Errorf("prune = %+v", p.Prune)
	}
}

func TestAKeptObjectIsKnownByItsUID(t *testing.T) {
	kept := object.Instance{Ref: ref("PersistentVolumeClaim/data"), UID: "uid-PersistentVolumeClaim-data"}
	w := newWorld("shop").live(kept.Ref, object.Release{}).wants("web", "web", "PersistentVolumeClaim/data")
	w.f.Own = state.Own{}.Keep(rel("old"), kept)
	if got := summarise(ForDeploy(w.f)); len(got.Moved) != 1 || len(got.Denied) != 0 {
		t.Errorf("what was kept: %+v, want it taken over", got)
	}
	strangers := w.f.Live[kept.Key()]
	strangers.UID = "another"
	w.f.Live[kept.Key()] = strangers
	if got := summarise(ForDeploy(w.f)); !slices.Equal(got.Denied, []string{"object"}) {
		t.Errorf("a stranger's of the same name: %+v, want a collision", got)
	}
}

func TestHooksTakeNothingOfOthers(t *testing.T) {
	tests := map[string]struct {
		hook    string
		live    object.Release // who owns what has its name
		known   bool
		keeps   bool // the policy does not delete what is there
		data    bool
		allow   bool
		denied  []string
		deleted []string
	}{
		"a job of an earlier life":             {hook: "Job/j"},
		"a release's own":                      {hook: "ConfigMap/c", live: rel("web")},
		"one that a stored revision has":       {hook: "ConfigMap/c", known: true},
		"a stranger's":                         {hook: "ConfigMap/c", denied: []string{"hook-object"}},
		"another release's":                    {hook: "ConfigMap/c", live: rel("theirs"), known: true, denied: []string{"hook-object"}},
		"another release's job":                {hook: "Job/j", live: rel("theirs"), denied: []string{"hook-object"}},
		"a claim":                              {hook: "PersistentVolumeClaim/p", live: rel("web"), data: true, denied: []string{"hook-data-loss"}},
		"a claim where data loss is allowed":   {hook: "PersistentVolumeClaim/p", live: rel("web"), data: true, allow: true, deleted: []string{"PersistentVolumeClaim/p (hook)"}},
		"a claim that the policy leaves alone": {hook: "PersistentVolumeClaim/p", live: rel("web"), data: true, keeps: true},
		"a namespace":                          {hook: "Namespace/n", live: rel("web"), denied: []string{"hook-data-loss"}},
		"a stateful set with claims":           {hook: "StatefulSet/s", live: rel("web"), data: true, deleted: []string{"StatefulSet/s (hook)"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := ref(test.hook)
			if h.Kind == "Job" {
				h.APIVersion = "batch/v1"
			}
			w := newWorld("shop").deployed("web", "web", "ConfigMap/a").wants("web", "web", "ConfigMap/a").live(h, test.live)
			live := w.f.Live[h.Key()]
			live.HoldsData = test.data
			w.f.Live[h.Key()] = live
			w.f.Wanted[0].Hooks = []HookObject{{Ref: h, Replaces: !test.keeps, Known: test.known}}
			w.f.AllowDataLoss = test.allow
			got := summarise(ForDeploy(w.f))
			if !slices.Equal(got.Denied, test.denied) || !slices.Equal(got.Deleted, test.deleted) {
				t.Errorf("denied %v, deleted %v; want %v and %v", got.Denied, got.Deleted, test.denied, test.deleted)
			}
		})
	}
}

func TestWhatCannotBeChangedIsReplaced(t *testing.T) {
	moves := func(obj string) *world {
		w := newWorld("shop").deployed("web", "before", obj).wants("web", "after", obj)
		w.f.Immutable = map[object.Key][]string{ref(obj).Key(): {"spec.selector"}}
		return w
	}
	if got := summarise(ForDeploy(moves("Deployment/d").f)); !slices.Equal(got.Denied, []string{"immutable-field"}) || len(got.Deleted) != 0 {
		t.Errorf("without --prune: %+v, want it denied", got)
	}
	p := ForDeploy(moves("Deployment/d").prune().f)
	got := summarise(p)
	if len(got.Denied) != 0 || !slices.Equal(got.Deleted, []string{"Deployment/d (replaced)"}) || len(got.Moved) != 0 ||
		len(p.Releases[0].Replaced) != 1 || !strings.Contains(strings.Join(p.Warnings, "\n"), "until then it is down") {
		t.Errorf("with --prune: %+v, warnings %q", got, p.Warnings)
	}
	d := ref("Deployment/d")
	kept, _, err := p.WithKept(Keep{Object: &d, By: `plugin "guard"`})
	if err != nil || len(kept.Denials()) != 1 || len(p.Denials()) != 0 {
		t.Errorf("kept by a plugin: %v, %v; want it denied", kept.Denials(), err)
	}
	if got := summarise(ForDeploy(moves("PersistentVolumeClaim/c").prune().f)); !slices.Equal(got.Denied, []string{"immutable-field"}) || len(got.Deleted) != 0 {
		t.Errorf("what may hold data: %+v, want it denied", got)
	}
	// Between two releases that stay the old one gives it up anyway.
	w := newWorld("shop").deployed("web", "a", "Deployment/d", "ConfigMap/a").deployed("web", "b", "ConfigMap/b").
		wants("web", "a", "ConfigMap/a").wants("web", "b", "ConfigMap/b", "Deployment/d")
	w.f.Immutable = map[object.Key][]string{ref("Deployment/d").Key(): {"spec.selector"}}
	if got := summarise(ForDeploy(w.f)); len(got.Denied) != 0 || !slices.Equal(got.Deleted, []string{"Deployment/d (replaced)"}) {
		t.Errorf("between two that stay: %+v", got)
	}
}
