package plan

import (
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host/object"
)

// Whose a release is, by its labels, by the record, by other records and by what we installed.
func TestF5_Owns(t *testing.T) {
	r := rel("web")
	other := []string{`package "shop" in namespace "b"`}
	tests := map[string]struct {
		override   string // of this package
		recorded   bool
		installed  bool // by us, at some time
		has        ReleaseFacts
		twinsKnown bool
		want       bool
	}{
		"labelled and recorded":                         {recorded: true, has: ReleaseFacts{Package: "shop"}, want: true},
		"labelled, and the record was lost":             {has: ReleaseFacts{Package: "shop"}, want: true},
		"labelled with the same override":               {override: "b", recorded: true, has: ReleaseFacts{Package: "shop", Override: "b"}, want: true},
		"recorded, and labelled as another package's":   {recorded: true, has: ReleaseFacts{Package: "bank"}},
		"another package's":                             {has: ReleaseFacts{Package: "bank"}},
		"of another namespace":                          {has: ReleaseFacts{Package: "shop", Override: "b"}, twinsKnown: true},
		"recorded, and taken by another namespace":      {recorded: true, has: ReleaseFacts{Package: "shop", Override: "b", Claims: other}, twinsKnown: true},
		"recorded, and perhaps another namespace's":     {recorded: true, has: ReleaseFacts{Package: "shop", Override: "b"}},
		"recorded, and the other namespace is gone":     {recorded: true, has: ReleaseFacts{Package: "shop", Override: "b"}, twinsKnown: true, want: true},
		"of the plain package":                          {override: "b", recorded: true, has: ReleaseFacts{Package: "shop", Claims: []string{`package "shop"`}}, twinsKnown: true},
		"without labels, recorded by old Zarf":          {recorded: true, has: ReleaseFacts{Objects: rendered([]string{"ConfigMap/a"})}, want: true},
		"without labels, and another record has it too": {recorded: true, has: ReleaseFacts{Claims: other}},
		"without labels, where ours had some":           {recorded: true, installed: true, has: ReleaseFacts{Objects: rendered([]string{"ConfigMap/a"})}},
		"without objects, and so without labels":        {recorded: true, installed: true, has: ReleaseFacts{}, want: true},
		"without labels and not recorded":               {},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld("shop")
			w.f.Package.NamespaceOverride, w.f.TwinsKnown = tt.override, tt.twinsKnown
			if tt.recorded {
				w.deployed("web", "web", "ConfigMap/a")
			}
			if tt.installed {
				w.f.Own = w.f.Own.SetRevision(r, 1)
			}
			tt.has.Exists = true
			w.f.Releases[r] = tt.has
			if got := w.f.Owns(r); got != tt.want {
				t.Errorf("Owns is %t, want %t", got, tt.want)
			}
		})
	}
}

// A recorded release that is another package's is neither uninstalled nor upgraded: a prune and a
// removal forget it, and leave its objects; a deployment that wants it is denied.
func TestF5_ForeignReleases(t *testing.T) {
	foreign := func(w *world) *world {
		has := w.f.Releases[rel("old")]
		has.Package, has.Override = "shop", "b"
		w.f.Releases[rel("old")] = has
		return w
	}
	world := func() *world {
		return foreign(newWorld("shop").deployed("web", "web", "ConfigMap/a").deployed("web", "old", "ConfigMap/b"))
	}
	check := func(t *testing.T, p Plan, uninstalled string) {
		t.Helper()
		var names []string
		for _, r := range p.Prune.Releases {
			names = append(names, r.Name)
		}
		if got := strings.Join(names, " "); got != uninstalled {
			t.Errorf("uninstalled: %q, want %q", got, uninstalled)
		}
		for _, o := range p.Prune.Objects {
			if o.Name == "b" {
				t.Errorf("%s of the other package's release would go", o.Ref)
			}
		}
		if f := p.Forgets("web"); len(f) != 1 || f[0].Name != "old" || f[0].Owner != `package "shop" in namespace "b"` {
			t.Errorf("forgotten: %+v", p.Prune.Forgotten)
		}
		if !p.Changes() || !strings.Contains(strings.Join(p.Warnings, "\n"), `release ns/old, which component "web" has on record, belongs to package "shop" in namespace "b"`) {
			t.Errorf("changes %t, warnings %q", p.Changes(), p.Warnings)
		}
	}
	t.Run("prune", func(t *testing.T) {
		check(t, ForDeploy(world().wants("web", "web", "ConfigMap/a").prune().f), "")
	})
	t.Run("without prune", func(t *testing.T) {
		p := ForDeploy(world().wants("web", "web", "ConfigMap/a").f)
		if len(p.Prune.Forgotten) != 0 || !strings.Contains(strings.Join(p.Warnings, "\n"), "--prune=cluster-resources drops it from the record") {
			t.Errorf("forgotten %+v, warnings %q", p.Prune.Forgotten, p.Warnings)
		}
	})
	t.Run("remove", func(t *testing.T) {
		w := world()
		w.f.Selected = []string{"web"}
		check(t, ForRemove(w.f), "web")
	})
	t.Run("remove of one that two records have", func(t *testing.T) {
		w := newWorld("shop").deployed("web", "web", "ConfigMap/a")
		has := w.f.Releases[rel("web")]
		has.Claims = []string{`package "shop" in namespace "b"`}
		w.f.Releases[rel("web")] = has
		w.f.Selected = []string{"web"}
		if p := ForRemove(w.f); len(p.Prune.Releases) != 0 || len(p.Prune.Forgotten) != 1 {
			t.Errorf("uninstalled %+v, forgotten %+v", p.Prune.Releases, p.Prune.Forgotten)
		}
	})
	t.Run("deploy", func(t *testing.T) {
		p := ForDeploy(world().wants("web", "web", "ConfigMap/a").wants("web", "old", "ConfigMap/b").f)
		if got := summarise(p).Denied; len(got) != 1 || got[0] != "release-name" {
			t.Errorf("denied by %q", got)
		}
	})
	t.Run("its objects do not move", func(t *testing.T) {
		p := ForDeploy(world().wants("web", "web", "ConfigMap/a", "ConfigMap/b").prune().f)
		if got := summarise(p).Denied; len(got) != 1 || got[0] != "object" {
			t.Errorf("denied by %q", got)
		}
	})
}

// An object of a recorded release whose component is not selected, and goes on with it, is no orphan.
func TestObjectsOfUnselectedReleasesStay(t *testing.T) {
	world := func() *world {
		w := newWorld("shop").deployed("web", "web", "ConfigMap/a").deployed("db", "db", "ConfigMap/b").
			wants("web", "web", "ConfigMap/a", "ConfigMap/b").wants("db", "", "")
		w.f.Selected = []string{"web"}
		return w
	}
	p := ForDeploy(world().f)
	if len(p.Denials()) != 1 || p.Collisions[0].ID != "object/v1/ConfigMap/ns/b" ||
		!strings.Contains(p.Collisions[0].Message, `belongs to release ns/db of component "db", which still has it and is not selected`) {
		t.Errorf("collisions: %+v", p.Collisions)
	}
	gone := world()
	gone.f.Definition.Components = gone.f.Definition.Components[:1] // db is not in the package any more
	if p := ForDeploy(gone.f); len(p.Collisions) != 0 || len(p.Releases[0].Moved) != 1 {
		t.Errorf("an orphan's object: collisions %+v, moved %+v", p.Collisions, p.Releases[0].Moved)
	}
	both := world()
	both.f.Selected = []string{"web", "db"}
	if p := ForDeploy(both.f); len(p.Collisions) != 0 || len(p.Releases[0].Moved) != 1 {
		t.Errorf("both selected: collisions %+v, moved %+v", p.Collisions, p.Releases[0].Moved)
	}
	elsewhere := world()
	elsewhere.f.Selected = []string{"web", "db"}
	elsewhere.f.Unselected = map[object.Release]string{rel("db"): "cache"} // another component has the release now
	if p := ForDeploy(elsewhere.f); len(p.Denials()) != 1 || !strings.Contains(p.Collisions[0].Message, `component "cache"`) {
		t.Errorf("moved to a component that is not selected: %+v", p.Collisions)
	}
}

// Every object has one owner: two releases of one run that render it block the run, always.
func TestRenderedTwice(t *testing.T) {
	w := newWorld("shop").wants("web", "one", "ConfigMap/a", "ConfigMap/c").wants("db", "two", "ConfigMap/b", "ConfigMap/a")
	w.f.Wanted[0].Objects = append(w.f.Wanted[0].Objects, Rendered{Ref: object.Ref{APIVersion: "batch/v1", Kind: "Job", Namespace: "ns"}})
	w.f.Wanted[1].Objects = append(w.f.Wanted[1].Objects, Rendered{Ref: object.Ref{APIVersion: "batch/v1", Kind: "Job", Namespace: "ns"}})
	for _, live := range []bool{false, true} {
		if live { // whoever had it first the last time
			w.live(ref("ConfigMap/a"), rel("two"))
		}
		p := ForDeploy(w.f)
		if len(p.Blocked) != 1 || !strings.Contains(p.Blocked[0], `ConfigMap/ns/a is in release ns/one (chart "one" of component "web") and in release ns/two`) {
			t.Errorf("live %t: blocked by %q", live, p.Blocked)
		}
	}
}

// What plugins and the operator say about collisions counts, and is part of what is confirmed.
func TestJudgedCollisions(t *testing.T) {
	world := func() *world {
		return newWorld("shop").wants("web", "web", "ConfigMap/a").live(ref("ConfigMap/a"), object.Release{})
	}
	denied := ForDeploy(world().f)
	if len(denied.Denials()) != 1 || len(denied.Refusals()) != 0 {
		t.Fatalf("denials %+v, refusals %+v", denied.Denials(), denied.Refusals())
	}
	id := denied.Collisions[0].ID
	allowed := denied.WithJudged(Judgement{ID: id, Verdict: Allow, Plugin: "guard", Message: "mine"})
	if len(allowed.Denials()) != 0 || allowed.Digest == denied.Digest {
		t.Errorf("denials %+v, same digest %t", allowed.Denials(), allowed.Digest == denied.Digest)
	}
	if moved := allowed.Releases[0].Moved; len(moved) != 1 || moved[0].UID == "" {
		t.Errorf("the release does not take over what it may: %+v", moved)
	}
	if again := ForDeploy(world().f).WithJudged(allowed.Judged()...); again.Digest != allowed.Digest {
		t.Error("the same verdict on the same plan has another digest")
	}
	if denied.Collisions[0].Plugin != "" {
		t.Error("judging a plan changed the plan that was judged")
	}
	stray := denied.WithJudged(Judgement{ID: "object/v1/ConfigMap/ns/z", Verdict: Allow, Plugin: "guard"})
	if len(stray.Denials()) != 1 {
		t.Error("a verdict on something else let the collision pass")
	}
	w := world()
	w.f.Accept = []CollisionKind{CollidesObject}
	accepted := ForDeploy(w.f)
	if len(accepted.Denials()) != 0 || len(accepted.Accepted()) != 1 || accepted.Digest == denied.Digest {
		t.Errorf("accepted: %+v", accepted.Collisions)
	}
	strict := accepted.WithJudged(Judgement{ID: id, Verdict: Deny, Plugin: "guard", Message: "not here"})
	if d := strict.Denials(); len(d) != 1 || !strings.Contains(d[0].Message, `denied by plugin "guard": not here`) || len(strict.Accepted()) != 0 {
		t.Errorf("a plugin's verdict is the stricter one: %+v", d)
	}
}

func TestParseCollisionKinds(t *testing.T) {
	got, err := ParseCollisionKinds([]string{"object", " package-name", "object"})
	if err != nil || len(got) != 2 || got[0] != CollidesObject || got[1] != CollidesName {
		t.Errorf("got %q, %v", got, err)
	}
	for _, word := range []string{"", "objects", "all"} {
		if _, err := ParseCollisionKinds([]string{word}); err == nil || !strings.Contains(err.Error(), "flavor-change") {
			t.Errorf("%q: error is %v", word, err)
		}
	}
}

func TestReleaseNameRemedy(t *testing.T) {
	w := newWorld("second").wants("web", "web", "ConfigMap/a")
	w.f.Package.OriginalName = "shop"
	w.f.Releases[rel("web")] = ReleaseFacts{Exists: true, EverDeployed: true, Package: "shop"}
	p := ForDeploy(w.f)
	if len(p.Denials()) != 1 || p.Collisions[0].ID != "release-name/ns/web" || !strings.Contains(p.Denials()[0].Remedy, "deploy with --namespace too") {
		t.Errorf("collisions: %+v", p.Collisions)
	}
}
