package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/state"
)

// Who keeps an image, where no hook asked for it.
const (
	byPackage      = "package"      // another deployed package has it
	byComponent    = "component"    // a component of this package that stays may run it
	byDifferential = "differential" // the package is the difference to one that has it
	byPod          = "pod"          // a pod runs it
	byRegistry     = "registry"     // the registry has something else there, or cannot part with it
)

// ImageCandidates returns the references that pushes of this package wrote, and that nothing in it
// needs once the plan is carried out. Whether they go depends on what else there is: see
// Plan.WithImages. What something in the package may still need is among the kept. address is that
// of the cluster's registry.
func ImageCandidates(p Plan, f Facts, address string) ([]PruneImage, []Kept, error) {
	if f.Record == nil {
		return nil, nil, nil
	}
	c := candidates{p: p, f: f, address: address, needed: map[string]bool{}, found: map[string]*PruneImage{}}
	if err := c.look(); err != nil {
		return nil, nil, err
	}
	var out []PruneImage
	var kept []Kept
	for _, i := range c.found {
		if c.needed[i.name] {
			continue
		}
		if by, why := c.held(*i); by != "" {
			kept = append(kept, Kept{Image: i.Reference, By: by, Reason: why})
			continue
		}
		i.Reason = c.reason(i.Components)
		out = append(out, *i)
	}
	slices.SortFunc(out, func(a, b PruneImage) int { return strings.Compare(a.Reference, b.Reference) })
	return out, kept, nil
}

// candidates looks for references that may go.
type candidates struct {
	p       Plan
	f       Facts
	address string
	needed  map[string]bool        // by what the package needs afterwards
	found   map[string]*PruneImage // by name
	foreign map[string]bool        // names that an image of the record has whose host is the registry
}

func (c *candidates) look() error {
	if c.p.Operation == Deploy {
		for _, component := range c.f.Definition.Components {
			if err := c.need(component); err != nil {
				return err
			}
		}
	}
	partial := false // some recorded component is left alone
	for _, has := range c.f.Record.DeployedComponents {
		definition, _ := c.f.Record.Definition(has.Name)
		if c.stays(has) {
			partial = true
			if err := c.need(definition); err != nil {
				return err
			}
		}
	}
	for _, has := range c.f.Record.DeployedComponents {
		definition, _ := c.f.Record.Definition(has.Name)
		if err := c.recorded(has.Name, definition); err != nil {
			return err
		}
	}
	for _, pushed := range c.f.Own.Pushed {
		name := imageName(pushed.Reference)
		i := c.found[name]
		if i == nil {
			if partial && c.p.Operation == Remove {
				continue // of an earlier version, perhaps of a component that stays
			}
			i = &PruneImage{Reference: pushed.Reference, name: name}
			c.found[name] = i
		}
		i.Digest, i.pushed, i.Bytes, i.listed = pushed.Digest, pushed.Digest, pushed.Bytes, true
		i.Version = cmp.Or(pushed.Version, i.Version)
	}
	return nil
}

// recorded adds what a deployment of a recorded component pushed.
func (c *candidates) recorded(component string, definition spec.Component) error {
	targets, err := targetsOf(definition, c.address)
	if err != nil {
		return err
	}
	for _, t := range targets {
		name := imageName(t.reference)
		switch i := c.found[name]; {
		case t.identity:
			if c.foreign == nil {
				c.foreign = map[string]bool{}
			}
			c.foreign[name] = true
		case c.f.Record.Connectivity == state.Connected:
		case i != nil:
			i.Components = append(i.Components, component)
		default:
			c.found[name] = &PruneImage{
				Reference: t.reference, name: name, Version: c.f.Record.Data.Metadata.Version, Components: []string{component},
			}
		}
	}
	return nil
}

// need notes what a component needs afterwards.
func (c *candidates) need(component spec.Component) error {
	targets, err := targetsOf(component, c.address)
	if err != nil {
		return err
	}
	for _, t := range targets {
		c.needed[imageName(t.reference)] = true
	}
	return nil
}

// stays reports whether what a recorded component had before the operation may still run after it.
func (c *candidates) stays(has state.Component) bool {
	step, planned := c.p.Step(has.Name)
	switch {
	case !planned:
		return true
	case step.Action == ComponentUntouched, step.Action == ComponentOrphaned, step.Action == ComponentKeep:
		return true
	}
	return slices.ContainsFunc(has.InstalledCharts, func(chart state.Chart) bool { return c.releaseStays(chart.Release()) })
}

// releaseStays reports whether a release is neither uninstalled nor installed anew, or something
// that runs images is kept of it.
func (c *candidates) releaseStays(r object.Release) bool {
	touched := slices.ContainsFunc(c.p.Releases, func(s Release) bool { return s.Release == r }) ||
		slices.ContainsFunc(c.p.Prune.Releases, func(s PruneRelease) bool { return s.Release == r })
	return !touched || slices.ContainsFunc(c.p.Prune.Kept, func(k Kept) bool {
		return k.Object != nil && k.In == r.String() && k.By != byOwner && runsImages(*k.Object)
	})
}

// runsImages reports whether an object of this kind has pods, or is one.
func runsImages(ref object.Ref) bool {
	switch ref.Kind {
	case "Pod", "ReplicationController", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob":
		return true
	}
	return false
}

// held says what in the package may still need a reference that no definition of it names.
func (c *candidates) held(i PruneImage) (by, why string) {
	def := c.f.Definition
	switch {
	case c.foreign[i.name]:
		return byRegistry, "an image of the package is named in the registry itself: somebody else may have put it there"
	case c.p.Operation == Deploy && def.Build.Differential &&
		(len(i.Components) > 0 || i.Version == def.Build.DifferentialPackageVersion):
		return byDifferential, fmt.Sprintf("the package is the difference to %s and does not say what it has in all", def.Build.DifferentialPackageVersion)
	}
	if workload := c.keptWorkload(i.name); workload != "" {
		return byEarlier, fmt.Sprintf("%s, which an earlier operation kept, runs it", workload)
	}
	for _, has := range c.f.Record.DeployedComponents {
		switch {
		case !c.stays(has):
		case unsettled(has):
			// Which version of it runs is known, but not what that version had: other components may
			// have used the same since.
			return byComponent, fmt.Sprintf("component %q, whose last attempt did not succeed, may still run it", has.Name)
		case len(i.Components) == 0 && c.orphanedChart(has) != "":
			return byComponent, fmt.Sprintf("release %s, which is not in the package any more, may run it: --prune=%s uninstalls it",
				c.orphanedChart(has), ScopeClusterResources)
		}
	}
	return "", ""
}

// unsettled reports whether parts of an earlier version of a component may run beside, or instead of,
// what is recorded of it. A cancelled attempt leaves the status as it was.
func unsettled(has state.Component) bool {
	last := has.LastEvent.Outcome
	return has.Status != state.StatusSucceeded || last != "" && last != state.Succeeded
}

// keptWorkload names an object that an earlier operation kept, which stays, and which runs an image.
func (c *candidates) keptWorkload(image string) string {
	for _, k := range c.f.formers() {
		goes := slices.ContainsFunc(c.p.Prune.Objects, func(o Object) bool { return o.Key() == k.Key() })
		if !goes && slices.ContainsFunc(c.f.Runs[k.Key()], func(reference string) bool { return c.pulls(reference, image) }) {
			return k.Ref.String()
		}
	}
	return ""
}

// pulls reports whether a pod that names a reference pulls an image, itself or through Zarf's agent.
func (c *candidates) pulls(reference, image string) bool {
	if imageName(reference) == image {
		return true
	}
	targets, err := targetsOf(spec.Component{Images: []string{reference}}, c.address)
	return err == nil && slices.ContainsFunc(targets, func(t target) bool { return imageName(t.reference) == image })
}

// orphanedChart names a release that the new definition of a component dropped and that stays.
func (c *candidates) orphanedChart(has state.Component) string {
	if step, _ := c.p.Step(has.Name); c.p.Operation != Deploy || step.Action == ComponentUntouched {
		return ""
	}
	for _, chart := range has.InstalledCharts {
		if c.releaseStays(chart.Release()) {
			return chart.Release().String()
		}
	}
	return ""
}

// reason says why a reference that recorded components have would go.
func (c *candidates) reason(components []string) PruneReason {
	switch {
	case c.p.Operation == Remove:
		return PruneRemove
	case len(components) == 0:
		return PruneLeft
	case slices.ContainsFunc(components, func(name string) bool {
		step, _ := c.p.Step(name)
		return step.Action != ComponentPrune
	}):
		return PruneDropped
	default:
		return PruneComponent
	}
}

// WithImages returns the plan with the candidates that nobody else needs among what goes, and the
// others, with those that were kept already, among what stays.
func (p Plan) WithImages(candidates []PruneImage, kept []Kept, f ImageFacts) Plan {
	f.Pods = slices.DeleteFunc(slices.Clone(f.Pods), func(pod PodImage) bool { return p.replaces(pod.Release) })
	gone, stays := JudgeImages(candidates, f)
	p.Prune.Images, p.shared = gone, nil
	for _, i := range candidates {
		if slices.ContainsFunc(stays, func(k Kept) bool { return k.Image == i.Reference && k.By == byPackage }) {
			p.shared = append(p.shared, i)
		}
	}
	p.Prune.Kept = slices.Concat(p.Prune.Kept, kept, stays)
	return finish(p)
}

// Shared returns the references that stay because other packages have them. Where all of these are being
// removed at the same time, the last one is to take them.
func (p Plan) Shared() []PruneImage { return p.shared }

// replaces reports whether the plan uninstalls a release or installs it anew, and so ends the pods
// that it has now.
func (p Plan) replaces(r object.Release) bool {
	if r == (object.Release{}) {
		return false
	}
	return slices.ContainsFunc(p.Prune.Releases, func(s PruneRelease) bool { return s.Release == r }) ||
		slices.ContainsFunc(p.Releases, func(s Release) bool { return s.Release == r && s.Action != ReleaseUnchanged })
}

// JudgeImages decides which candidates go, in the order in which they do: tags first, an index
// before what it names. The rest is kept, each with the reason.
func JudgeImages(candidates []PruneImage, f ImageFacts) (gone []PruneImage, kept []Kept) {
	for _, i := range candidates {
		i.name = imageName(i.Reference)
		if by, why := f.keeps(i); by != "" {
			kept = append(kept, Kept{Image: i.Reference, By: by, Reason: why})
			continue
		}
		if has, told := f.Has[i.Reference]; told {
			if i.Missing = has.Digest == ""; i.Missing && !i.listed {
				continue // never pushed, or deleted by whoever took it off the record
			}
			if !i.Missing {
				i.Digest, i.Bytes = has.Digest, cmp.Or(i.Bytes, has.Bytes)
			}
		}
		gone = append(gone, i)
	}
	// What keeps one image may be another that is kept, so it is asked until nothing changes.
	for again := true; again; {
		again = false
		going := map[string]bool{}
		for _, i := range gone {
			going[i.name] = true
		}
		gone = slices.DeleteFunc(gone, func(i PruneImage) bool {
			if !i.ByDigest() || i.Missing {
				return false
			}
			why := f.holds(i.Repository(), i.Digest, going)
			if why == "" {
				return false
			}
			again = true
			kept = append(kept, Kept{Image: i.Reference, By: byRegistry, Reason: why})
			return true
		})
	}
	slices.SortFunc(gone, func(a, b PruneImage) int {
		return cmp.Or(cmp.Compare(f.depth(a), f.depth(b)), strings.Compare(a.Reference, b.Reference))
	})
	return gone, kept
}

// keeps says what else has a reference, or why it is not to be touched.
func (f ImageFacts) keeps(i PruneImage) (by, why string) {
	if f.Registry == "" {
		return byRegistry, "the state of the cluster names no registry"
	}
	if !strings.HasPrefix(i.Reference, f.Registry+"/") {
		return byRegistry, "it was pushed to another registry than the cluster's"
	}
	var users []string
	for _, n := range f.Neighbours {
		if n.uses[i.name] {
			users = append(users, n.String())
		}
	}
	if len(users) > 0 {
		return byPackage, strings.Join(users, ", ") + " has it"
	}
	for _, n := range f.Neighbours {
		if n.may[i.name] {
			return byPackage, fmt.Sprintf("%s, %s", n, n.why)
		}
	}
	for _, pod := range f.Pods {
		if imageName(pod.Reference) == i.name {
			return byPod, fmt.Sprintf("a pod in namespace %q runs it", pod.Namespace)
		}
	}
	if has := f.Has[i.Reference]; has.Digest != "" && i.pushed != "" && has.Digest != i.pushed {
		return byRegistry, "somebody else put another image there: " + has.Digest
	}
	return "", ""
}

// holds says what in a repository would lose an image that is deleted by its digest, besides the
// references that go anyway. going is by name.
func (f ImageFacts) holds(repository, digest string, going map[string]bool) string {
	has, told := f.Repositories[repository]
	if !told {
		return "the registry does not tell what else has it"
	}
	for _, n := range f.Neighbours {
		if n.uses[repository+"@"+digest] || n.may[repository+"@"+digest] {
			return n.String() + " has it by its digest"
		}
	}
	var holders []string
	for tag, d := range has.Tags {
		if d == digest && !going[repository+":"+tag] {
			holders = append(holders, "tag "+tag)
		}
	}
	for index, below := range has.Indexes {
		if slices.Contains(below, digest) && !going[repository+"@"+index] {
			holders = append(holders, "index "+index)
		}
	}
	if len(holders) == 0 {
		return ""
	}
	slices.Sort(holders)
	return strings.Join(holders, ", ") + " in its repository has it too"
}

// HoldsManifest says what in a repository keeps a manifest from being deleted by its digest, for a
// registry that does not delete by tag: a tag that is not among those that go, an index, or somebody
// who names it by its digest. It is empty where nothing does.
func (f ImageFacts) HoldsManifest(i PruneImage, going []PruneImage) string {
	names := map[string]bool{}
	for _, g := range going {
		names[g.name] = true
	}
	for _, pod := range f.Pods {
		if imageName(pod.Reference) == i.Repository()+"@"+i.Digest {
			return fmt.Sprintf("a pod in namespace %q runs it by its digest", pod.Namespace)
		}
	}
	return f.holds(i.Repository(), i.Digest, names)
}

// depth orders deletions: 0 for tags, and for digests one more than there are indexes above.
func (f ImageFacts) depth(i PruneImage) int {
	if !i.ByDigest() {
		return 0
	}
	depth := 1
	for _, below := range f.Repositories[i.Repository()].Indexes {
		if slices.Contains(below, i.Digest) {
			depth++
		}
	}
	return depth
}
