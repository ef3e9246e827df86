package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host/state"
)

// known says what of a signal is known, and whether it is the same.
type known int

const (
	equal known = iota
	unequal
	notDeployed // the record lacks it
	notWanted   // the package lacks it
	neither
	states
)

func (k known) values() (deployed, wanted string) {
	switch k {
	case unequal:
		return "a", "b"
	case notDeployed:
		return "", "b"
	case notWanted:
		return "a", ""
	case neither:
		return "", ""
	default:
		return "a", "a"
	}
}

// The truth table of SPEC 7, over every combination of what is known of every signal.
func TestA1_Compare(t *testing.T) {
	n := 0
	for signer := range states {
		for repository := range states {
			for components := range states {
				for architecture := range states {
					for name := range states {
						for metadata := range states {
							var a, b Signals
							a.Signer, b.Signer = signer.values()
							a.Repository, b.Repository = repository.values()
							a.Architecture, b.Architecture = architecture.values()
							a.OriginalName, b.OriginalName = name.values()
							a.URL, b.URL = metadata.values()
							a.Source, b.Source = metadata.values()
							a.Vendor, b.Vendor = metadata.values()
							one, other := components.values()
							a.Components, b.Components = list(one), list(other)
							want := Same
							switch {
							case signer == unequal || name == unequal || repository == unequal && components == unequal:
								want = Different
							case repository == unequal, components == unequal, architecture == unequal:
								want = LikelyDifferent
							}
							differences := 0
							for _, k := range []known{signer, repository, components, architecture, name, metadata, metadata, metadata} {
								if k == unequal {
									differences++
								}
							}
							got, evidence := Compare(a, b)
							if got != want || len(evidence) != differences {
								t.Fatalf("%+v and %+v are %s with %d pieces of evidence, want %s with %d", a, b, got, len(evidence), want, differences)
							}
							n++
						}
					}
				}
			}
		}
	}
	if n != 15625 {
		t.Fatalf("%d combinations", n)
	}
}

func list(component string) []string {
	if component == "" {
		return nil
	}
	return []string{"x" + component, "y" + component}
}

// One component of many in common is enough.
func TestCompareOneComponentInCommon(t *testing.T) {
	likeness, evidence := Compare(Signals{Repository: "r/a", Components: []string{"one", "two"}}, Signals{Repository: "r/b", Components: []string{"three", "two"}})
	if likeness != LikelyDifferent || len(evidence) != 1 {
		t.Errorf("likeness is %s, by %q", likeness, evidence)
	}
}

// What a likeness and a version come to in a plan: each built-in verdict, with and without a prune.
func TestA1_NameCollisions(t *testing.T) {
	deploy := state.PackageEvent{Type: state.Deploy, Outcome: state.Succeeded, ConfigDigest: "sha256:ours"}
	tests := map[string]struct {
		change func(*world)
		plain  string // kind and verdict of the collisions without --prune
		prune  string // and with it
	}{
		"the same package": {func(*world) {}, "", ""},
		"another repository and no component in common": {func(w *world) {
			w.f.Own.Identity.Repository, w.f.Identity.Repository = "r/a", "r/b"
			w.f.Record.DeployedComponents[0].Name, w.f.Record.Data.Components[0].Name = "db", "db"
		}, "package-name different deny", "package-name different deny"},
		"another repository": {func(w *world) {
			w.f.Own.Identity.Repository, w.f.Identity.Repository = "r/a", "r/b"
		}, "package-name likely-different warn", "package-name likely-different deny"},
		"another repository than before Zarf deployed something": {func(w *world) {
			w.f.Own.Identity.Repository, w.f.Identity.Repository = "r/a", "r/b"
			w.f.Record.Events[0].ConfigDigest = ""
		}, "", ""},
		"the same bytes from another repository": {func(w *world) {
			w.f.Own.Identity.Repository, w.f.Identity.Repository = "r/a", "r/b"
			w.f.Record.Digest = w.f.Package.Digest
		}, "", ""},
		"another signer": {func(w *world) {
			w.f.Own.Identity.Signer, w.f.Identity.Signer = "k1", "k2"
		}, "package-name different deny", "package-name different deny"},
		"another architecture": {func(w *world) { w.f.Package.Architecture = "arm64" },
			"package-name likely-different warn", "package-name likely-different deny"},
		"another package under this name": {func(w *world) { w.f.Identity.OriginalName = "other" },
			"package-name different deny", "package-name different deny"},
		"other metadata": {func(w *world) {
			w.f.Record.Data.Metadata.Vendor, w.f.Definition.Metadata.Vendor = "v1", "v2"
		}, "package-name same allow", "package-name same allow"},
		"a lower version": {func(w *world) { w.f.Package.Version = "0.9.0" }, "downgrade warn", "downgrade warn"},
		"a lower version in another form": {func(w *world) {
			w.f.Record.Data.Metadata.Version, w.f.Package.Version = "v1.10.0", "1.9.0"
		}, "downgrade warn", "downgrade warn"},
		"a version without order": {func(w *world) { w.f.Package.Version = "nightly" }, "", ""},
		"another flavor":          {func(w *world) { w.f.Package.Flavor = "registry1" }, "flavor-change warn", "flavor-change warn"},
		"a lower version of another package": {func(w *world) {
			w.f.Own.Identity.Signer, w.f.Identity.Signer = "k1", "k2"
			w.f.Package.Version, w.f.Package.Flavor = "0.9.0", "registry1"
		}, "package-name different deny", "package-name different deny"},
		"accepted": {func(w *world) {
			w.f.Own.Identity.Signer, w.f.Identity.Signer = "k1", "k2"
			w.f.Accept = []CollisionKind{CollidesName}
		}, "package-name different allow accepted", "package-name different allow accepted"},
		"another kind accepted": {func(w *world) {
			w.f.Package.Version = "0.9.0"
			w.f.Accept = []CollisionKind{CollidesName}
		}, "downgrade warn", "downgrade warn"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for _, prune := range []bool{false, true} {
				w := newWorld("shop").deployed("web", "web", "ConfigMap/a").wants("web", "web", "ConfigMap/a")
				w.f.Record.Events = []state.PackageEvent{deploy}
				want := tt.plain
				if prune {
					w.prune()
					want = tt.prune
				}
				tt.change(w)
				p := ForDeploy(w.f)
				if got := collisions(p); got != want {
					t.Errorf("prune %t: %q, want %q", prune, got, want)
				}
				if denied, want := len(p.Denials()) > 0, strings.Contains(want, "deny"); denied != want {
					t.Errorf("prune %t: denied %t, want %t: %+v", prune, denied, want, p.Denials())
				}
			}
		})
	}
}

// collisions are those of a plan in a line.
func collisions(p Plan) string {
	var out []string
	for _, c := range p.Collisions {
		words := []string{string(c.Kind), string(c.Likeness), string(c.Verdict)}
		if c.Accepted {
			words = append(words, "accepted")
		}
		out = append(out, strings.Join(strings.Fields(strings.Join(words, " ")), " "))
	}
	return strings.Join(out, "; ")
}

// Nothing is a collision with what is not deployed.
func TestFirstDeploymentCollidesWithNothing(t *testing.T) {
	w := newWorld("shop").wants("web", "web", "ConfigMap/a")
	w.f.Identity = state.Identity{Repository: "r/a", Signer: "k"}
	if got := collisions(ForDeploy(w.f)); got != "" {
		t.Error(fmt.Sprint("collisions: ", got))
	}
}

// What a removal left of a package, or what a rebuilt record makes up, tells nothing about which package
// it was.
func TestComponentsThatTellNothing(t *testing.T) {
	for name, change := range map[string]func(*world){
		"a removal left some": func(w *world) {
			w.f.Record.Events = append(w.f.Record.Events, state.PackageEvent{Type: state.Remove, Outcome: state.InProgress})
		},
		"the record was rebuilt": func(w *world) {
			w.f.Record.Events = nil
			w.f.Record.DeployedComponents[0].Name = state.RecoveredComponent
			w.f.Record.Data.Components[0].Name = state.RecoveredComponent
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld("shop").deployed("rest", "rest")
			w.f.Record.Events = []state.PackageEvent{{Type: state.Deploy, Outcome: state.Succeeded, ConfigDigest: "c"}}
			w.wants("web", "web", "ConfigMap/a")
			w.f.Scopes = Scopes{ScopeClusterResources}
			if p := ForDeploy(w.f); len(p.Collisions) != 1 {
				t.Fatalf("without it the test shows nothing: %v", p.Collisions)
			}
			change(w)
			if p := ForDeploy(w.f); len(p.Collisions) > 0 {
				t.Errorf("%+v", p.Collisions)
			}
		})
	}
}
