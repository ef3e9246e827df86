package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/state"
)

const (
	site = "reg.test:5000"
	one  = "sha256:1111111111111111111111111111111111111111111111111111111111111111"
	two  = "sha256:2222222222222222222222222222222222222222222222222222222222222222"
	six  = "sha256:6666666666666666666666666666666666666666666666666666666666666666"
)

// stock is a registry, a package in it and its neighbours, in the words of a test. Images are written
// as authors write them, without their host: x:1 is a.test/x:1. A reference in the registry is written
// without the registry, and +x:1 is the tag that pods use.
type stock struct {
	*world
	neighbours []state.Record
	facts      ImageFacts
}

func newStock() *stock {
	s := &stock{world: newWorld("shop")}
	s.facts = ImageFacts{Registry: site, Has: map[string]RegistryImage{}, Repositories: map[string]Repository{}}
	s.f.Scopes = Scopes{ScopeImages}
	return s
}

func images(names ...string) []string {
	var out []string
	for _, n := range names {
		if !strings.HasPrefix(n, site) {
			n = "a.test/" + n
		}
		out = append(out, n)
	}
	return out
}

// in returns the reference in the registry.
func in(text string) string {
	if name, ok := strings.CutPrefix(text, "+"); ok {
		found, err := targetsOf(spec.Component{Images: images(name)}, site)
		if err != nil {
			panic(err)
		}
		return found[len(found)-1].reference
	}
	return site + "/" + text
}

// was records a component with images, as if it had been deployed; pushed says that we pushed them.
func (s *stock) was(component string, pushed bool, names ...string) *stock {
	s.deployed(component, component)
	i := slices.IndexFunc(s.f.Record.Data.Components, func(c spec.Component) bool { return c.Name == component })
	c := &s.f.Record.Data.Components[i]
	c.Images = append(c.Images, images(names...)...)
	for _, n := range names {
		if strings.HasPrefix(n, site) {
			continue
		}
		for _, reference := range []string{in(n), in("+" + n)} {
			if strings.Contains(n, "@") {
				reference = in(n)
			}
			s.facts.Has[reference] = RegistryImage{Digest: one, Bytes: 7}
			if pushed {
				s.f.Own = s.f.Own.Push(state.PushedImage{Reference: reference, Digest: one, Bytes: 7, Version: "1.0.0"})
			}
		}
	}
	return s
}

// left records a reference that an earlier version pushed.
func (s *stock) left(text, version string) *stock {
	s.f.Own = s.f.Own.Push(state.PushedImage{Reference: in(text), Digest: one, Bytes: 5, Version: version})
	s.facts.Has[in(text)] = RegistryImage{Digest: one}
	return s
}

// now adds a component with images to the new definition; selected says that it is deployed.
func (s *stock) now(component string, selected bool, names ...string) *stock {
	s.f.Definition.Components = append(s.f.Definition.Components, spec.Component{Name: component, Images: images(names...)})
	if selected {
		s.f.Selected = append(s.f.Selected, component)
		s.f.Wanted = append(s.f.Wanted, Wanted{Release: rel(component), Component: component, Objects: rendered([]string{"Deployment/" + component})})
	}
	return s
}

// beside deploys another package.
func (s *stock) beside(name string, change func(*state.Record), names ...string) *stock {
	r := state.Record{Package: state.Package{Name: name, DeployedComponents: []state.Component{{Name: "c", Status: state.StatusSucceeded}}}}
	r.Package.Data.Metadata.Version = "9.0.0"
	r.Package.Data.Components = []spec.Component{{Name: "c", Images: images(names...)}}
	if change != nil {
		change(&r)
	}
	s.neighbours = append(s.neighbours, r)
	return s
}

func (s *stock) with(change func(*stock)) *stock { change(s); return s }

// decide plans, and writes what goes and what stays in the words of the test.
func (s *stock) decide(t *testing.T, op Operation) (Plan, []string) {
	t.Helper()
	for _, r := range s.neighbours {
		n, err := NewNeighbour(r, site)
		if err != nil {
			t.Fatal(err)
		}
		s.facts.Neighbours = append(s.facts.Neighbours, n)
	}
	p := ForDeploy(s.f)
	if op == Remove {
		p = ForRemove(s.f)
	}
	candidates, kept, err := ImageCandidates(p, s.f, site)
	if err != nil {
		t.Fatal(err)
	}
	p = p.WithImages(candidates, kept, s.facts)
	return p, written(p)
}

func written(p Plan) []string {
	short := func(reference string) string {
		s := strings.TrimPrefix(reference, site+"/")
		if name, _, ok := strings.Cut(s, "-zarf-"); ok {
			s = "+" + name
		}
		return strings.NewReplacer(one, "one", two, "two", six, "six").Replace(s)
	}
	var out []string
	for _, i := range p.Prune.Images {
		line := fmt.Sprintf("- %s %s %s", short(i.Reference), i.Reason, i.Version)
		if i.Missing {
			line += " missing"
		}
		out = append(out, line)
	}
	for _, k := range p.Prune.Kept {
		if k.Image != "" {
			out = append(out, fmt.Sprintf("= %s %s", short(k.Image), k.By))
		}
	}
	return out
}

func TestImagePrune(t *testing.T) {
	onlyB := func(s *stock) { s.f.Selected = []string{"b"} }
	for _, tt := range []struct {
		name string
		op   Operation // deploy by default
		s    *stock
		want string
	}{
		{name: "what the new version has stays", s: newStock().was("a", true, "x:1").now("a", true, "x:1")},
		{name: "what it has no more goes, under both tags", s: newStock().was("a", true, "x:1", "y:1").now("a", true, "x:1", "y:2"),
			want: "- +y:1 dropped 1.0.0\n- y:1 dropped 1.0.0"},
		{name: "another component took it over", s: newStock().was("a", true, "x:1").now("a", true).now("b", true, "x:1")},
		{name: "a component that is not selected is in the full list", s: newStock().was("a", true, "x:1").now("a", true).now("b", false, "x:1")},
		{name: "Zarf pushed it", s: newStock().was("a", false, "x:1").now("a", true, "x:2"),
			want: "- +x:1 dropped 1.0.0\n- x:1 dropped 1.0.0"},
		{name: "Zarf would have pushed it, and the registry lacks it", s: newStock().was("a", false, "x:1").now("a", true).with(func(s *stock) { clear(s.facts.Has); s.know("x:1", "+x:1") })},
		{name: "we pushed it, and the registry lacks it", s: newStock().was("a", true, "x:1").now("a", true).with(func(s *stock) { clear(s.facts.Has); s.know("x:1", "+x:1") }),
			want: "- +x:1 dropped 1.0.0 missing\n- x:1 dropped 1.0.0 missing"},
		{name: "what the registry does not tell of goes all the same", s: newStock().was("a", true, "x:1").now("a", true).with(func(s *stock) { clear(s.facts.Has) }),
			want: "- +x:1 dropped 1.0.0\n- x:1 dropped 1.0.0"},
		{name: "what a killed run left goes with the next", s: newStock().was("a", true, "x:2").left("x:1", "0.9.0").now("a", true, "x:2"),
			want: "- x:1 left 0.9.0"},
		{name: "connected: only what was pushed before", s: newStock().was("a", false, "x:2").left("x:1", "0.9.0").now("a", true, "x:3").with(func(s *stock) {
			s.f.Record.Connectivity = state.Connected
		}), want: "- x:1 left 0.9.0"},
		{name: "the image's host is the registry", s: newStock().was("a", true, site+"/x:1").now("a", true)},
		{name: "the same reference was pushed and is named in the registry", s: newStock().was("a", true, site+"/x:1").left("x:1", "0.9.0").now("a", true),
			want: "= x:1 registry"},
		{name: "another package has it", s: newStock().was("a", true, "x:1").now("a", true).beside("mall", nil, "x:1"),
			want: "= +x:1 package\n= x:1 package"},
		{name: "another package names it in the registry itself", s: newStock().was("a", true, "x:1").now("a", true).beside("mall", nil, site+"/x:1"),
			want: "- +x:1 dropped 1.0.0\n= x:1 package"},
		{name: "another package has an image of that path from elsewhere", s: newStock().was("a", true, "x:1").now("a", true).beside("mall", func(r *state.Record) {
			r.Package.Data.Components[0].Images = []string{"b.test/x:1"}
		}), want: "- +x:1 dropped 1.0.0\n= x:1 package"},
		{name: "another package failed and may run its former version", s: newStock().was("a", true, "x:1").now("a", true).beside("mall", func(r *state.Record) {
			r.Package.DeployedComponents[0].Status = state.StatusFailed
			r.Own = r.Own.Push(state.PushedImage{Reference: in("x:1")})
		}), want: "- +x:1 dropped 1.0.0\n= x:1 package"},
		{name: "D3: another package is being deployed", s: newStock().was("a", true, "x:1").now("a", true).beside("mall", func(r *state.Record) {
			r.Package.Events = []state.PackageEvent{{Type: state.Deploy, Outcome: state.InProgress}}
			r.Own = r.Own.Push(state.PushedImage{Reference: in("x:1")})
		}), want: "- +x:1 dropped 1.0.0\n= x:1 package"},
		{name: "Zarf deployed another package from a differential one", s: newStock().was("a", true, "x:1").now("a", true).beside("mall", func(r *state.Record) {
			r.Package.Data.Build.Differential = true
			r.Own = r.Own.Push(state.PushedImage{Reference: in("+x:1")})
		}), want: "- x:1 dropped 1.0.0\n= +x:1 package"},
		{name: "a differential package keeps all of its base", s: newStock().was("a", true, "x:1", "y:1").left("x:0", "0.9.0").left("z:1", "1.0.0").now("a", true, "y:2").with(func(s *stock) {
			s.f.Definition.Build.Differential, s.f.Definition.Build.DifferentialPackageVersion = true, "1.0.0"
		}), want: "- x:0 left 0.9.0\n= +x:1 differential\n= +y:1 differential\n= x:1 differential\n= y:1 differential\n= z:1 differential"},
		{name: "a pod that no record knows of runs it", s: newStock().was("a", true, "x:1").now("a", true).with(func(s *stock) {
			s.facts.Pods = []PodImage{{Reference: in("+x:1"), Namespace: "other"}}
		}), want: "- x:1 dropped 1.0.0\n= +x:1 pod"},
		{name: "a pod that the deployment replaces runs it", s: newStock().was("a", true, "x:1").now("a", true, "x:2").with(func(s *stock) {
			s.facts.Pods = []PodImage{{Reference: in("+x:1"), Namespace: "ns", Release: rel("a")}}
		}), want: "- +x:1 dropped 1.0.0\n- x:1 dropped 1.0.0"},
		{name: "the tag is somebody else's by now", s: newStock().was("a", true, "x:1").now("a", true).with(func(s *stock) {
			s.facts.Has[in("x:1")] = RegistryImage{Digest: two}
		}), want: "- +x:1 dropped 1.0.0\n= x:1 registry"},
		{name: "it was pushed to another registry", s: newStock().was("a", true).with(func(s *stock) {
			s.f.Own = s.f.Own.Push(state.PushedImage{Reference: "old.test/x:1", Digest: one})
		}).now("a", true), want: "= old.test/x:1 registry"},
		{name: "a component that is not selected keeps what it has", s: newStock().was("a", true, "x:1").was("b", true, "y:1").now("a", false, "x:2").now("b", true, "y:2").with(onlyB),
			want: "- +y:1 dropped 1.0.0\n- y:1 dropped 1.0.0"},
		{name: "a component that failed may run what an earlier version pushed", s: newStock().was("a", true, "x:2").was("b", true, "y:1").left("x:1", "0.9.0").left("x:0", "0.8.0").now("a", false, "x:3").now("b", true, "y:1").with(func(s *stock) {
			onlyB(s)
			s.f.Record.DeployedComponents[0].Status = state.StatusFailed
			s.f.Own = s.f.Own.Runs("a", state.From{Version: "0.9.0"})
		}), want: "= x:0 component\n= x:1 component"},
		{name: "what another component used since may be run by one that was rolled back", s: newStock().was("a", true, "x:2").was("b", true, "x:1").now("a", false, "x:2").now("b", true, "y:1").with(func(s *stock) {
			onlyB(s)
			s.f.Record.DeployedComponents[0].Status = state.StatusFailed
			s.f.Own = s.f.Own.Runs("a", state.From{Version: "0.9.0"}) // which had x:1
		}), want: "= +x:1 component\n= x:1 component"},
		{name: "a component that was cancelled in the middle runs parts of an earlier version", s: newStock().was("a", true, "x:2").was("b", true, "y:1").left("x:1", "0.9.0").now("a", false, "x:2").now("b", true, "y:1").with(func(s *stock) {
			onlyB(s)
			s.f.Record.DeployedComponents[0].LastEvent = state.ComponentEvent{Type: state.Deploy, Outcome: state.Cancelled}
		}), want: "= x:1 component"},
		{name: "a workload that an earlier operation kept runs it", s: newStock().was("a", true, "y:1").left("x:1", "0.9.0").left("z:1", "0.9.0").now("a", true, "y:1").with(keptWorkload),
			want: "- z:1 left 0.9.0\n= x:1 earlier operation"},
		{name: "remove: a workload that an earlier operation kept runs it", op: Remove, s: newStock().was("a", true, "y:1").left("x:1", "0.9.0").with(keptWorkload).with(func(s *stock) { s.f.Selected = []string{"a"} }),
			want: "- +y:1 remove 1.0.0\n- y:1 remove 1.0.0\n= x:1 earlier operation"},
		{name: "another package has a release that is orphaned and may run it", s: newStock().was("a", true, "x:1").now("a", true).beside("mall", func(r *state.Record) {
			r.Package.Events = []state.PackageEvent{{Type: state.Deploy, Outcome: state.Succeeded}}
			r.Package.Data.Components[0].Charts = []spec.Chart{{Name: "m"}}
			r.Package.DeployedComponents[0].InstalledCharts = []state.Chart{{Namespace: "ns", Name: "m"}, {Namespace: "ns", Name: "old"}}
			r.Own = r.Own.Push(state.PushedImage{Reference: in("x:1")})
		}), want: "- +x:1 dropped 1.0.0\n= x:1 package"},
		{name: "another package kept a workload that may run it", s: newStock().was("a", true, "x:1").now("a", true).beside("mall", func(r *state.Record) {
			r.Own = r.Own.Push(state.PushedImage{Reference: in("x:1")})
			r.Own = r.Own.Keep(rel("m"), object.Instance{Ref: ref("Deployment/m"), UID: "1"})
		}), want: "- +x:1 dropped 1.0.0\n= x:1 package"},
		{name: "a component that is orphaned and stays keeps what it has", s: newStock().was("a", true, "x:1").was("b", true, "y:1").now("b", true, "y:1")},
		{name: "a component that is pruned gives up what it has", s: newStock().was("a", true, "x:1").was("b", true, "y:1").now("b", true, "y:1").with(func(s *stock) {
			s.f.Scopes = Scopes{ScopeClusterResources, ScopeImages}
		}), want: "- +x:1 component 1.0.0\n- x:1 component 1.0.0"},
		{name: "a chart that is orphaned and stays keeps what its component had", s: newStock().was("a", true, "x:1").left("x:0", "0.9.0").now("a", true, "x:2").with(func(s *stock) {
			s.deployed("a", "old")
		}), want: "= x:0 component"},
		{name: "by digest", s: newStock().was("a", true, "x@"+one).now("a", true).with(func(s *stock) { s.repository("x", nil, nil) }),
			want: "- x@one dropped 1.0.0"},
		{name: "by digest, and a foreign tag has it", s: newStock().was("a", true, "x@"+one).now("a", true).with(func(s *stock) {
			s.repository("x", map[string]string{"mine": one}, nil)
		}), want: "= x@one registry"},
		{name: "by digest, and a tag that goes has it", s: newStock().was("a", true, "x@"+one, "x:1").now("a", true).with(func(s *stock) {
			s.repository("x", map[string]string{"1": one, strings.TrimPrefix(in("+x:1"), in("x:")): one}, nil)
		}), want: "- +x:1 dropped 1.0.0\n- x:1 dropped 1.0.0\n- x@one dropped 1.0.0"},
		{name: "by digest, and an index has it", s: newStock().was("a", true, "x@"+one).now("a", true).with(func(s *stock) {
			s.repository("x", nil, map[string][]string{six: {one, two}})
		}), want: "= x@one registry"},
		{name: "an index goes before what it names", s: newStock().was("a", true, "x@"+one, "x@"+six).now("a", true).with(func(s *stock) {
			s.facts.Has[in("x@"+six)] = RegistryImage{Digest: six}
			s.f.Own = s.f.Own.Push(state.PushedImage{Reference: in("x@" + six), Digest: six, Version: "1.0.0"})
			s.repository("x", nil, map[string][]string{six: {one, two}})
		}), want: "- x@six dropped 1.0.0\n- x@one dropped 1.0.0"},
		{name: "an index that stays keeps what it names", s: newStock().was("a", true, "x@"+one, "x@"+six).now("a", true).with(func(s *stock) {
			s.facts.Has[in("x@"+six)] = RegistryImage{Digest: six}
			s.f.Own = s.f.Own.Push(state.PushedImage{Reference: in("x@" + six), Digest: six, Version: "1.0.0"})
			s.repository("x", map[string]string{"mine": six}, map[string][]string{six: {one, two}})
		}), want: "= x@one registry\n= x@six registry"},
		{name: "by digest, and another package names a tag and the digest", s: newStock().was("a", true, "x@"+one).now("a", true).
			beside("mall", nil, "x:1@"+one).with(func(s *stock) { s.repository("x", nil, nil) }), want: "= x@one package"},
		{name: "by digest, and the registry does not tell", s: newStock().was("a", true, "x@"+one).now("a", true), want: "= x@one registry"},
		{name: "nothing was deployed", s: newStock().now("a", true, "x:1")},

		{name: "remove all", op: Remove, s: newStock().was("a", true, "x:1").was("b", false, "y:1").left("x:0", "0.9.0").with(func(s *stock) { s.f.Selected = []string{"a", "b"} }),
			want: "- +x:1 remove 1.0.0\n- +y:1 remove 1.0.0\n- x:0 remove 0.9.0\n- x:1 remove 1.0.0\n- y:1 remove 1.0.0"},
		{name: "remove some: what others have stays", op: Remove, s: newStock().was("a", true, "x:1", "y:1").was("b", true, "y:1").left("x:0", "0.9.0").with(func(s *stock) { s.f.Selected = []string{"a"} }),
			want: "- +x:1 remove 1.0.0\n- x:1 remove 1.0.0"},
		{name: "remove what another package has", op: Remove, s: newStock().was("a", true, "x:1").beside("mall", nil, "x:1").with(func(s *stock) { s.f.Selected = []string{"a"} }),
			want: "= +x:1 package\n= x:1 package"},
		{name: "remove: all components went before, with a killed run", op: Remove, s: newStock().was("a", true, "x:1").with(func(s *stock) {
			*s.f.Record = s.f.Record.DropComponent("a")
		}), want: "- +x:1 remove 1.0.0\n- x:1 remove 1.0.0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.op == "" {
				tt.op = Deploy
			}
			p, got := tt.s.decide(t, tt.op)
			// Tags of one repository sort by checksum or not: what matters is which.
			if diff := cmp.Diff(sorted(strings.Split(tt.want, "\n")), sorted(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if strings.Contains(tt.name, "index goes") && got[0] != "- x@six dropped 1.0.0" {
				t.Errorf("the index does not go first: %v", got)
			}
			if len(p.Prune.Images) > 0 && (p.Prune.Empty() || !p.Changes()) {
				t.Error("the plan does not count its images among what goes")
			}
		})
	}
}

// keptWorkload makes an earlier operation have kept a Deployment without pods that runs x:1.
func keptWorkload(s *stock) {
	kept := object.Instance{Ref: ref("Deployment/dear"), UID: "1"}
	s.f.Own = s.f.Own.Keep(rel("gone"), kept)
	if s.f.Live == nil {
		s.f.Live = map[object.Key]object.Live{}
	}
	s.f.Live[kept.Key()] = object.Live{Ref: kept.Ref, UID: "1"}
	s.f.Runs = map[object.Key][]string{kept.Key(): {"a.test/x:1"}}
}

func sorted(lines []string) string {
	lines = slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return l == "" })
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// know says that the registry was asked and has nothing.
func (s *stock) know(names ...string) {
	for _, n := range names {
		s.facts.Has[in(n)] = RegistryImage{}
	}
}

func (s *stock) repository(name string, tags map[string]string, indexes map[string][]string) {
	s.facts.Repositories[in(name)] = Repository{Tags: tags, Indexes: indexes}
}

func TestImagePruneDigest(t *testing.T) {
	s := newStock().was("a", true, "x:1").now("a", true)
	p, _ := s.decide(t, Deploy)
	bare := ForDeploy(s.f)
	if p.Digest == bare.Digest {
		t.Error("what goes from the registry is not covered by the plan's digest")
	}
	again, _ := s.decide(t, Deploy)
	if again.Digest != p.Digest {
		t.Error("equal facts, different digests")
	}
	s.facts.Has[in("x:1")] = RegistryImage{Digest: two}
	if moved, _ := s.decide(t, Deploy); moved.Digest == p.Digest {
		t.Error("a tag that moved is not covered by the plan's digest")
	}
}

func TestKeepImage(t *testing.T) {
	s := newStock().was("a", true, "x:1").was("b", true, "y:1").now("c", true).with(func(s *stock) {
		s.f.Scopes = Scopes{ScopeClusterResources, ScopeImages}
		s.f.Record.Data.Build.Architecture = "amd64"
	}).left("z:1", "0.9.0")
	p, _ := s.decide(t, Deploy)
	if len(p.Prune.Images) != 5 {
		t.Fatalf("goes: %v", written(p))
	}
	kept, changed, err := p.WithKept(Keep{Image: in("x:1"), By: `plugin "guard"`, Reason: "why not"})
	if err != nil || !changed || len(kept.Prune.Images) != 4 || len(p.Prune.Images) != 5 {
		t.Errorf("keeping an image: %v, %v, %v", written(kept), changed, err)
	}
	if asked := kept.Asked(); len(asked) != 1 || asked[0].Image != in("x:1") {
		t.Errorf("asked: %+v", asked)
	}
	if _, _, err := p.WithKept(Keep{Image: in("nope:1"), By: `plugin "guard"`}); err == nil || !strings.Contains(err.Error(), "nope:1") {
		t.Errorf("keeping what does not go: %v", err)
	}
	// Whatever stays of a component may run its images, and those that no version of the package names.
	for name, keep := range map[string]Keep{
		"component": {Component: "a"},
		"release":   {Release: &object.Release{Namespace: "ns", Name: "a"}},
	} {
		keep.By = `plugin "guard"`
		kept, _, err := p.WithKept(keep)
		if err != nil || len(kept.Prune.Images) != 2 {
			t.Errorf("keeping a %s: %v, %v", name, written(kept), err)
		}
	}
}

// Property: whatever the neighbours have is never among what goes.
func TestImagePruneNeverTakesANeighbours(t *testing.T) {
	all := []string{"x:1", "x:2", "y:1", "z:1"}
	for mask := range 1 << len(all) {
		var has []string
		for i, name := range all {
			if mask&(1<<i) != 0 {
				has = append(has, name)
			}
		}
		p, _ := newStock().was("a", true, all...).now("a", true, "z:1").beside("mall", nil, has...).decide(t, Deploy)
		for _, i := range p.Prune.Images {
			for _, name := range append(has, "z:1") {
				if i.Reference == in(name) || i.Reference == in("+"+name) {
					t.Fatalf("neighbour has %v, and %s goes", has, i.Reference)
				}
			}
		}
		if want := 2 * (3 - len(slices.DeleteFunc(slices.Clone(has), func(n string) bool { return n == "z:1" }))); len(p.Prune.Images) != want {
			t.Fatalf("neighbour has %v, and %d references go, want %d", has, len(p.Prune.Images), want)
		}
	}
}

func TestPushed(t *testing.T) {
	s := newStock().was("a", false, "x:1", site+"/own:1", "z@"+one).left("x:1", "0.9.0")
	s.f.Record.Data.Components = append(s.f.Record.Data.Components, spec.Component{Name: "never", Images: images("n:1")})
	var got []string
	for _, i := range Pushed(*s.f.Record, s.f.Own, site) {
		got = append(got, i.Reference+" "+i.Version)
	}
	if diff := cmp.Diff([]string{in("+x:1") + " 1.0.0", in("z@"+one) + " 1.0.0"}, got); diff != "" {
		t.Errorf("what Zarf pushed (-want +got):\n%s", diff)
	}
	s.f.Record.Connectivity = state.Connected
	if got := Pushed(*s.f.Record, s.f.Own, site); len(got) > 0 {
		t.Errorf("of a connected package: %v", got)
	}
}

func TestNewNeighbourRefusesWhatItCannotRead(t *testing.T) {
	r := state.Record{Package: state.Package{Name: "mall", Data: spec.Package{Components: []spec.Component{{Name: "c", Images: []string{"NOT AN IMAGE"}}}}}}
	if _, err := NewNeighbour(r, site); err == nil || !strings.Contains(err.Error(), `"mall"`) {
		t.Errorf("got %v", err)
	}
}

func TestNewNeighbourRefusesMadeUpRecords(t *testing.T) {
	r := state.Record{Package: state.Package{Name: "mall", Connectivity: state.Airgap}, Own: state.Own{MadeUp: true}}
	var madeUp *MadeUpError
	if _, err := NewNeighbour(r, site); !errors.As(err, &madeUp) || madeUp.Hint() == "" {
		t.Errorf("got %v", err)
	}
	r.Package.Connectivity = state.Connected // it has no images in the registry
	if _, err := NewNeighbour(r, site); err != nil {
		t.Error(err)
	}
}
