package plan

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/state"
)

// world makes facts in the words of a test: components with releases, releases with objects. An
// object is written Kind/name; all live in namespace ns.
type world struct{ f Facts }

func newWorld(pkg string) *world {
	return &world{Facts{
		Package:  Package{Name: pkg, Version: "2.0.0", Architecture: "amd64", Digest: "sha256:new"},
		Releases: map[object.Release]ReleaseFacts{}, Live: map[object.Key]object.Live{}, Lost: map[object.Key][]object.Ref{},
	}}
}

func rel(name string) object.Release { return object.Release{Namespace: "ns", Name: name} }

func ref(text string) object.Ref {
	kind, name, _ := strings.Cut(text, "/")
	r := object.Ref{APIVersion: "v1", Kind: kind, Namespace: "ns", Name: name}
	switch kind {
	case "Namespace", "PersistentVolume":
		r.Namespace = ""
	case "CustomResourceDefinition":
		r.APIVersion, r.Namespace = "apiextensions.k8s.io/v1", ""
	case "StatefulSet", "Deployment":
		r.APIVersion = "apps/v1"
	}
	return r
}

func rendered(objects []string) []Rendered {
	var out []Rendered
	for _, o := range objects {
		name, keep := strings.CutSuffix(o, "!")
		out = append(out, Rendered{Ref: ref(name), Keep: keep})
	}
	return out
}

// deployed records a component with a release that has the objects, live and owned by it.
func (w *world) deployed(component, release string, objects ...string) *world {
	if w.f.Record == nil {
		w.f.Record = &state.Package{
			Name: w.f.Package.Name, Digest: "sha256:old", Generation: 1,
			Data: spec.Package{Metadata: spec.Metadata{Version: "1.0.0"}, Build: spec.Build{Architecture: "amd64"}},
		}
	}
	p := w.f.Record
	i := slices.IndexFunc(p.DeployedComponents, func(c state.Component) bool { return c.Name == component })
	if i < 0 {
		p.DeployedComponents = append(p.DeployedComponents, state.Component{Name: component, Status: state.StatusSucceeded})
		p.Data.Components = append(p.Data.Components, spec.Component{Name: component})
		i = len(p.DeployedComponents) - 1
	}
	if release == "" {
		return w
	}
	c := &p.DeployedComponents[i]
	c.InstalledCharts = append(c.InstalledCharts, state.Chart{Namespace: "ns", Name: release, Status: state.StatusSucceeded})
	w.f.Releases[rel(release)] = ReleaseFacts{Exists: true, EverDeployed: true, Package: w.f.Package.Name, Objects: rendered(objects)}
	for _, o := range rendered(objects) {
		w.live(o.Ref, rel(release))
	}
	return w
}

func (w *world) live(r object.Ref, owner object.Release) *world {
	w.f.Live[r.Key()] = object.Live{Ref: r, UID: "uid-" + r.Kind + "-" + r.Name, Owner: owner}
	return w
}

// wants adds a component to the new definition, selected, with a release that renders the objects.
func (w *world) wants(component, release string, objects ...string) *world {
	if !slices.ContainsFunc(w.f.Definition.Components, func(c spec.Component) bool { return c.Name == component }) {
		w.f.Definition.Components = append(w.f.Definition.Components, spec.Component{Name: component})
		w.f.Selected = append(w.f.Selected, component)
	}
	if release != "" {
		w.f.Wanted = append(w.f.Wanted, Wanted{Release: rel(release), Component: component, Chart: release, Objects: rendered(objects)})
	}
	return w
}

func (w *world) prune() *world {
	w.f.Scopes = Scopes{ScopeClusterResources}
	return w
}

// summary is a plan in few words: what goes, what stays, what is denied.
type summary struct {
	Steps, Uninstalled, Deleted, Kept, Moved, Denied []string
}

func summarise(p Plan) summary {
	var s summary
	for _, c := range p.Components {
		s.Steps = append(s.Steps, string(c.Action)+" "+c.Name)
	}
	for _, r := range p.Prune.Releases {
		s.Uninstalled = append(s.Uninstalled, r.Name)
	}
	for _, o := range p.Prune.Objects {
		s.Deleted = append(s.Deleted, fmt.Sprintf("%s/%s (%s)", o.Kind, o.Name, o.Reason))
	}
	for _, k := range p.Prune.Kept {
		if k.Object != nil {
			s.Kept = append(s.Kept, fmt.Sprintf("%s/%s by %s", k.Object.Kind, k.Object.Name, k.By))
		}
	}
	for _, r := range p.Releases {
		for _, m := range r.Moved {
			s.Moved = append(s.Moved, fmt.Sprintf("%s/%s from %s to %s", m.Kind, m.Name, m.From.Name, r.Name))
		}
	}
	for _, f := range p.Denials() {
		s.Denied = append(s.Denied, f.Rule)
	}
	return s
}

func TestForDeploy(t *testing.T) {
	tests := []struct {
		name  string
		world *world
		want  summary
	}{
		{
			name:  "a first deployment installs",
			world: newWorld("shop").wants("web", "web", "ConfigMap/a"),
			want:  summary{Steps: []string{"install web"}},
		},
		{
			name: "a dropped chart is only named without --prune",
			world: newWorld("shop").deployed("web", "web", "ConfigMap/a").deployed("web", "old", "ConfigMap/b").
				wants("web", "web", "ConfigMap/a"),
			want: summary{Steps: []string{"upgrade web"}},
		},
		{
			name: "C1: a dropped chart is pruned when asked for",
			world: newWorld("shop").deployed("web", "web", "ConfigMap/a").deployed("web", "old", "ConfigMap/b").
				wants("web", "web", "ConfigMap/a").prune(),
			want: summary{Steps: []string{"upgrade web"}, Uninstalled: []string{"old"}, Deleted: []string{"ConfigMap/b (chart)"}},
		},
		{
			name: "a dropped component is pruned last deployed first, its charts last installed first",
			world: newWorld("shop").deployed("web", "web", "ConfigMap/a").deployed("db", "d1", "ConfigMap/d1").
				deployed("db", "d2", "ConfigMap/d2").deployed("cache", "c", "ConfigMap/c").
				wants("web", "web", "ConfigMap/a").prune(),
			want: summary{
				Steps:       []string{"upgrade web", "prune cache", "prune db"},
				Uninstalled: []string{"c", "d2", "d1"},
				Deleted:     []string{"ConfigMap/c (component)", "ConfigMap/d2 (component)", "ConfigMap/d1 (component)"},
			},
		},
		{
			name: "an object that an upgraded release no longer renders goes without --prune",
			world: newWorld("shop").deployed("web", "web", "ConfigMap/a", "ConfigMap/b").
				wants("web", "web", "ConfigMap/a"),
			want: summary{Steps: []string{"upgrade web"}, Deleted: []string{"ConfigMap/b (dropped)"}},
		},
		{
			name: "C7: kinds that hold data are kept",
			world: newWorld("shop").deployed("web", "web", "ConfigMap/a", "PersistentVolumeClaim/data", "Namespace/n", "PersistentVolume/v").
				wants("web", "web", "ConfigMap/a"),
			want: summary{Steps: []string{"upgrade web"}, Kept: []string{
				"Namespace/n by data-loss", "PersistentVolume/v by data-loss", "PersistentVolumeClaim/data by data-loss",
			}},
		},
		{
			name: "C15: helm.sh/resource-policy keeps",
			world: newWorld("shop").deployed("web", "web", "ConfigMap/a", "ConfigMap/b!").
				wants("web", "web", "ConfigMap/a"),
			want: summary{Steps: []string{"upgrade web"}, Kept: []string{"ConfigMap/b by resource-policy"}},
		},
		{
			name: "C6: an object that another release owns by now is left alone",
			world: newWorld("shop").deployed("web", "web", "ConfigMap/a").deployed("old", "old", "ConfigMap/b").
				live(ref("ConfigMap/b"), rel("elsewhere")).
				wants("web", "web", "ConfigMap/a").prune(),
			want: summary{
				Steps: []string{"upgrade web", "prune old"}, Uninstalled: []string{"old"}, Kept: []string{"ConfigMap/b by owner"},
			},
		},
		{
			name: "C4, C8: objects of a renamed release change owner",
			world: newWorld("shop").deployed("web", "m1", "ConfigMap/a").
				wants("web", "m2", "ConfigMap/a").prune(),
			want: summary{
				Steps: []string{"upgrade web"}, Uninstalled: []string{"m1"}, Moved: []string{"ConfigMap/a from m1 to m2"},
			},
		},
		{
			name: "C9: an object that moves between releases that both stay changes owner and is not deleted",
			world: newWorld("shop").deployed("one", "r1", "ConfigMap/a", "ConfigMap/x").deployed("two", "r2", "ConfigMap/b").
				wants("one", "r1", "ConfigMap/a").wants("two", "r2", "ConfigMap/b", "ConfigMap/x"),
			want: summary{Steps: []string{"upgrade one", "upgrade two"}, Moved: []string{"ConfigMap/x from r1 to r2"}},
		},
		{
			name: "a chart that moves to another component is not uninstalled",
			world: newWorld("shop").deployed("one", "r", "ConfigMap/a").
				wants("one", "").wants("two", "r", "ConfigMap/a").prune(),
			want: summary{Steps: []string{"upgrade one", "install two"}},
		},
		{
			name: "C10: a chart that renders to nothing is refused",
			world: newWorld("shop").deployed("web", "web", "ConfigMap/a").
				wants("web", "web"),
			want: summary{Steps: []string{"upgrade web"}, Deleted: []string{"ConfigMap/a (dropped)"}, Denied: []string{"empty-render"}},
		},
		{
			name:  "C10: a package without components is refused",
			world: newWorld("shop").deployed("web", "web", "ConfigMap/a").prune(),
			want: summary{
				Steps: []string{"prune web"}, Uninstalled: []string{"web"},
				Deleted: []string{"ConfigMap/a (component)"}, Denied: []string{"empty-package"},
			},
		},
		{
			name: "no component in common and --prune is denied",
			world: newWorld("shop").deployed("web", "web", "ConfigMap/a").
				wants("other", "o", "ConfigMap/o").prune(),
			want: summary{
				Steps: []string{"install other", "prune web"}, Uninstalled: []string{"web"},
				Deleted: []string{"ConfigMap/a (component)"}, Denied: []string{"package-name"},
			},
		},
		{
			name:  "an object of somebody else's is not taken",
			world: newWorld("shop").live(ref("ConfigMap/a"), rel("theirs")).wants("web", "web", "ConfigMap/a"),
			want: summary{
				Steps: []string{"install web"}, Moved: []string{"ConfigMap/a from theirs to web"}, Denied: []string{"object"},
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, summarise(ForDeploy(test.world.f))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDeselectedComponentsAreNotOrphaned(t *testing.T) {
	w := newWorld("shop").deployed("web", "web", "ConfigMap/a").deployed("db", "db", "ConfigMap/d").
		wants("web", "web", "ConfigMap/a").wants("db", "").prune()
	w.f.Selected = []string{"web"}
	want := summary{Steps: []string{"upgrade web", "untouched db"}}
	if diff := cmp.Diff(want, summarise(ForDeploy(w.f))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAllowDataLossLetsClaimsGo(t *testing.T) {
	w := newWorld("shop").deployed("web", "web", "ConfigMap/a", "PersistentVolumeClaim/data").wants("web", "web", "ConfigMap/a")
	w.f.AllowDataLoss = true
	p := ForDeploy(w.f)
	if len(p.Prune.Objects) != 1 || !p.Prune.Objects[0].DataLoss {
		t.Errorf("objects = %+v, want the claim, marked as data loss", p.Prune.Objects)
	}
}

func TestCRDsWithoutResourcesMayGo(t *testing.T) {
	crd := "CustomResourceDefinition/things.example.com"
	w := newWorld("shop").deployed("web", "web", "ConfigMap/a", crd).wants("web", "web", "ConfigMap/a")
	if got := summarise(ForDeploy(w.f)).Deleted; len(got) != 1 {
		t.Errorf("a CRD without resources: deleted = %v, want it", got)
	}
	w.f.Lost[ref(crd).Key()] = []object.Ref{ref("Thing/one")}
	if got := summarise(ForDeploy(w.f)); len(got.Deleted) != 0 || len(got.Kept) != 1 {
		t.Errorf("a CRD with resources: %+v, want it kept", got)
	}
}

func TestFlavorAndArchitectureForbidComponentPrune(t *testing.T) {
	for rule, change := range map[string]func(*Facts){
		"flavor":       func(f *Facts) { f.Package.Flavor = "upstream" },
		"architecture": func(f *Facts) { f.Package.Architecture = "arm64" },
	} {
		w := newWorld("shop").deployed("web", "web", "ConfigMap/a").deployed("db", "db", "ConfigMap/d").
			wants("web", "web", "ConfigMap/a").prune()
		change(&w.f)
		w.f.Accept = []CollisionKind{CollidesName}
		if got := summarise(ForDeploy(w.f)).Denied; !slices.Equal(got, []string{rule}) {
			t.Errorf("denied = %v, want %s", got, rule)
		}
		// Nor after that package was deployed without a prune, when the record is of its kind.
		w.f.Own = w.f.Own.Runs("db", state.From{Version: "1.0.0", Architecture: "amd64"})
		w.f.Record.Data.Build.Flavor, w.f.Record.Data.Build.Architecture = w.f.Package.Flavor, w.f.Package.Architecture
		if got := summarise(ForDeploy(w.f)).Denied; !slices.Equal(got, []string{rule}) {
			t.Errorf("the next time: denied = %v, want %s", got, rule)
		}
	}
}

func TestPlanNeverHoldsSecretsOrCopiesOfThem(t *testing.T) {
	const canary = "canary-3f9a"
	w := newWorld("shop").deployed("web", "web", "ConfigMap/a", "ConfigMap/b", "Secret/s").wants("web", "web", "ConfigMap/a")
	for _, name := range []string{"ConfigMap/b", "Secret/s"} {
		l := w.f.Live[ref(name).Key()]
		l.Annotations = map[string]string{
			"kubectl.kubernetes.io/last-applied-configuration": canary, "harmless": "yes",
		}
		if name == "Secret/s" {
			l.Annotations["note"] = canary
		}
		w.f.Live[ref(name).Key()] = l
	}
	w.f.ConfigDigest = canary
	data, err := json.Marshal(ForDeploy(w.f))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), canary) {
		t.Errorf("the plan holds what it must not:\n%s", data)
	}
	if !strings.Contains(string(data), "harmless") {
		t.Error("a harmless annotation is missing, which plugins judge by")
	}
}

func TestSameAsDeployed(t *testing.T) {
	same := func() *world {
		w := newWorld("shop").deployed("web", "web", "ConfigMap/a").wants("web", "web", "ConfigMap/a")
		w.f.ConfigDigest = "sha256:c"
		w.f.Record.Events = []state.PackageEvent{{Type: state.Deploy, Outcome: state.Succeeded, Digest: "sha256:new", ConfigDigest: "sha256:c"}}
		return w
	}
	if !ForDeploy(same().f).SameAsDeployed {
		t.Error("equal digests and selection are the same deployment")
	}
	for name, change := range map[string]func(*Facts){
		"another package":       func(f *Facts) { f.Package.Digest = "sha256:other" },
		"another configuration": func(f *Facts) { f.ConfigDigest = "sha256:d" },
		"another selection":     func(f *Facts) { f.Selected = nil },
		"a failed component":    func(f *Facts) { f.Record.DeployedComponents[0].Status = state.StatusFailed },
		"a failure since": func(f *Facts) {
			f.Record.Events = append(f.Record.Events, state.PackageEvent{Type: state.Deploy, Outcome: state.Failed})
		},
		"no events": func(f *Facts) { f.Record.Events = nil },
	} {
		w := same()
		change(&w.f)
		if ForDeploy(w.f).SameAsDeployed {
			t.Errorf("%s: the same deployment?", name)
		}
	}
}

func TestDigest(t *testing.T) {
	base := func() *world {
		return newWorld("shop").deployed("web", "web", "ConfigMap/a", "ConfigMap/b").wants("web", "web", "ConfigMap/a")
	}
	first := ForDeploy(base().f).Digest
	if again := ForDeploy(base().f).Digest; again != first {
		t.Errorf("equal facts give %s and %s", first, again)
	}
	for name, change := range map[string]func(*Facts){
		"a warning":  func(f *Facts) { f.Warnings = []string{"careful"} },
		"a recovery": func(f *Facts) { f.Recovery = []Recovery{{Release: rel("web"), Status: "pending-upgrade"}} },
		"the source": func(f *Facts) { f.Package.Source = "elsewhere" },
	} {
		w := base()
		change(&w.f)
		if got := ForDeploy(w.f).Digest; got != first {
			t.Errorf("%s changed the digest", name)
		}
	}
	for name, change := range map[string]func(*Facts){
		"the configuration": func(f *Facts) { f.ConfigDigest = "sha256:other" },
		"the package":       func(f *Facts) { f.Package.Digest = "sha256:other" },
		"an object's UID": func(f *Facts) {
			l := f.Live[ref("ConfigMap/b").Key()]
			l.UID = "another"
			f.Live[ref("ConfigMap/b").Key()] = l
		},
		"an object that is gone": func(f *Facts) { delete(f.Live, ref("ConfigMap/b").Key()) },
	} {
		w := base()
		change(&w.f)
		if got := ForDeploy(w.f).Digest; got == first {
			t.Errorf("%s did not change the digest", name)
		}
	}
}

// A plan never deletes an object that another release owns or that the package renders, whatever
// the facts.
func TestPruneNeverTakesWhatIsWantedOrOwnedElsewhere(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	components := []string{"a", "b", "c"}
	for range 2000 {
		w := newWorld("shop")
		for i := range 6 {
			objects := []string{}
			for o := range 6 {
				if r.IntN(3) == 0 {
					objects = append(objects, fmt.Sprintf("ConfigMap/o%d", o))
				}
			}
			release := fmt.Sprintf("r%d", i)
			if r.IntN(2) == 0 {
				w.deployed(components[r.IntN(3)], release, objects...)
			}
			if r.IntN(2) == 0 {
				w.wants(components[r.IntN(3)], release, objects...)
			}
		}
		if r.IntN(2) == 0 {
			w.prune()
		}
		p := ForDeploy(w.f)
		wanted := map[object.Key]bool{}
		for _, x := range w.f.Wanted {
			for _, o := range x.Objects {
				wanted[o.Key()] = true
			}
		}
		seen := map[object.Key]bool{}
		for _, o := range p.Prune.Objects {
			if wanted[o.Key()] {
				t.Fatalf("%s is wanted and would be deleted", o.Ref)
			}
			if owner := w.f.Live[o.Key()].Owner; owner.String() != o.Release {
				t.Fatalf("%s belongs to %s and would be deleted with %s", o.Ref, owner, o.Release)
			}
			if seen[o.Key()] {
				t.Fatalf("%s is listed twice", o.Ref)
			}
			seen[o.Key()] = true
		}
		for _, gone := range p.Prune.Releases {
			for _, x := range w.f.Wanted {
				if x.Release == gone.Release {
					t.Fatalf("%s is wanted and would be uninstalled", gone.Release)
				}
			}
		}
	}
}
