package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/state"
)

// ForDeploy plans a deployment.
func ForDeploy(f Facts) Plan {
	d := deployment{Facts: f, p: begin(Deploy, f)}
	d.indexWanted()
	d.namesake()
	d.wantedReleases()
	d.components()
	d.dropped()
	d.orphans()
	d.formers()
	d.replacements()
	d.hooks()
	d.interrupted()
	d.refusals()
	hooksLeft(&d.p, f)
	d.unrecorded()
	d.unknownKinds()
	d.p.SameAsDeployed = d.sameAsDeployed()
	d.p.Blocked = append(d.p.Blocked, RenderedTwice(f.Wanted)...)
	d.p.Blocked = append(d.p.Blocked, busy(d.p, f.Releases)...)
	return finish(d.p)
}

// deployment is the plan of a deployment while it is made.
type deployment struct {
	Facts
	p        Plan
	rendered map[object.Key]object.Release // the release that will own each rendered object
	releases map[object.Release]int        // index into p.Releases
	opaque   bool                          // some release cannot be rendered before it is applied
}

func (d *deployment) indexWanted() {
	d.rendered = map[object.Key]object.Release{}
	d.releases = map[object.Release]int{}
	for _, w := range d.Wanted {
		d.opaque = d.opaque || w.CannotRender != ""
		for _, o := range w.Objects {
			d.rendered[o.Key()] = w.Release
		}
	}
}

func (d *deployment) wantedReleases() {
	for _, w := range d.Wanted {
		has := d.Releases[w.Release]
		r := Release{
			Release: w.Release, Component: w.Component, Chart: w.Chart, Version: w.Version,
			Action: ReleaseInstall, Namespaces: w.Namespaces,
			KnownAfterApply: w.KnownAfterApply, CannotRender: w.CannotRender,
		}
		switch {
		case has.Uninstalling:
			r.Anew = true
		case w.Unchanged:
			r.Action = ReleaseUnchanged
		case has.Exists && has.EverDeployed:
			r.Action = ReleaseUpgrade
		case has.Exists:
			r.Replace = true
		}
		for _, o := range w.Objects {
			live, ok := d.Live[o.Key()]
			switch {
			case !ok, has.Uninstalling && live.Terminating:
				r.Added = append(r.Added, o.Ref)
			case has.Uninstalling && live.Owner == w.Release:
				r.Moved = append(r.Moved, Move{Ref: o.Ref, UID: live.UID, From: w.Release})
			case live.Owner == w.Release || d.TakeOwnership:
				r.Changed = append(r.Changed, o.Ref)
			case d.canMove(live) && len(d.Immutable[o.Key()]) > 0:
				// See replacements.
			case d.canMove(live):
				r.Moved = append(r.Moved, Move{Ref: o.Ref, UID: live.UID, From: live.Owner})
			default:
				// Whoever lets the collision pass lets the object change its owner.
				r.Moved = append(r.Moved, Move{Ref: o.Ref, UID: live.UID, From: live.Owner})
				d.objectCollision(w, live)
			}
		}
		d.releases[w.Release] = len(d.p.Releases)
		d.p.Releases = append(d.p.Releases, r)
		if has.Exists && !d.Owns(w.Release) {
			d.releaseCollision(w, has)
		}
	}
}

// canMove reports whether a live object may change its owner: it belongs to a release that this
// package has and that does not go on with it, or an earlier prune of this package kept it.
func (d *deployment) canMove(live object.Live) bool {
	if live.Owner == (object.Release{}) {
		return d.Own.Keeps(live.Instance())
	}
	_, stays := d.staysWith(live.Owner)
	return d.names(live.Owner) && d.Owns(live.Owner) && !stays
}

func (d *deployment) components() {
	for _, c := range d.Definition.Components {
		_, known := d.recordOf(c.Name)
		if !slices.Contains(d.Selected, c.Name) {
			if known {
				d.p.Components = append(d.p.Components, Component{Name: c.Name, Action: ComponentUntouched, Reason: "not selected"})
			}
			continue
		}
		step := Component{Name: c.Name, Action: ComponentInstall, Actions: actions(c.Actions.OnDeploy), Health: health(c)}
		for _, file := range c.Files {
			step.Files = append(step.Files, file.Target)
		}
		if known {
			step.Action = ComponentUpgrade
			if d.unchanged(c) {
				step.Action = ComponentUnchanged
			}
		}
		d.p.Components = append(d.p.Components, step)
	}
}

func (d *deployment) recordOf(component string) (state.Component, bool) {
	if d.Record == nil {
		return state.Component{}, false
	}
	return d.Record.Component(component)
}

// unchanged reports whether a component's releases and images are all there and unchanged, and
// nothing else of it needs to be done again.
func (d *deployment) unchanged(c spec.Component) bool {
	has, _ := d.recordOf(c.Name)
	set := c.Actions.OnDeploy
	if has.Status != state.StatusSucceeded || len(c.Files) > 0 ||
		len(set.Before)+len(set.After)+len(set.OnSuccess)+len(set.OnFailure) > 0 {
		return false
	}
	parts := 0
	for _, r := range d.p.Releases {
		if r.Component != c.Name {
			continue
		}
		if r.Action != ReleaseUnchanged {
			return false
		}
		parts++
	}
	for _, img := range d.Images {
		if img.Component != c.Name {
			continue
		}
		if img.Action != ImagePresent {
			return false
		}
		parts++
	}
	return parts > 0
}

func health(c spec.Component) []object.Ref {
	var out []object.Ref
	for _, h := range c.HealthChecks {
		out = append(out, object.Ref{APIVersion: h.APIVersion, Kind: h.Kind, Namespace: h.Namespace, Name: h.Name})
	}
	return out
}

// dropped finds the objects that an upgraded release no longer renders: Helm deletes them, with or
// without --prune.
func (d *deployment) dropped() {
	for _, w := range d.Wanted {
		has := d.Releases[w.Release]
		if w.CannotRender != "" || !has.Exists {
			continue
		}
		reason := PruneDropped
		if has.Uninstalling {
			reason = PruneInterrupted
		}
		d.goes(w.Release, w.Component, has, reason)
		if len(w.Objects) == 0 && len(has.Objects) > 0 {
			d.deny("empty-render", fmt.Sprintf("release %s renders no object any more, but has %d", w.Release, len(has.Objects)),
				"a chart that renders to nothing is never a reason to delete: look at its values, or drop the chart from the package")
		}
	}
}

// goes adds the objects of a release that would be deleted, or says why they are kept.
func (d *deployment) goes(r object.Release, component string, has ReleaseFacts, reason PruneReason) {
	for _, o := range has.Objects {
		live, ok := d.Live[o.Key()]
		if !ok {
			continue // it is gone already
		}
		if _, wanted := d.rendered[o.Key()]; wanted && !(reason == PruneInterrupted && live.Terminating) {
			continue // it stays, or changes owner
		}
		addObject(&d.p.Prune, d.Facts, o, live, r, component, reason)
	}
}

// addObject adds one live object of a release that goes, or the reason why it is kept.
func addObject(p *Prune, f Facts, o Rendered, live object.Live, r object.Release, component string, reason PruneReason) {
	keep := func(by, why string) {
		p.Kept = append(p.Kept, Kept{Object: &o.Ref, UID: live.UID, In: r.String(), By: by, Reason: why})
	}
	key := o.Key()
	loss := IsDataLossKind(o.Ref) && (o.Kind != "CustomResourceDefinition" || len(f.Lost[key]) > 0)
	switch {
	case live.Owner != r:
		by := "nothing that Helm manages"
		if live.Owner != (object.Release{}) {
			by = "release " + live.Owner.String()
		}
		keep(byOwner, "it belongs to "+by)
		return
	case o.Keep || object.AsksToBeKept(live.Annotations):
		keep(byResourcePolicy, object.ResourcePolicy+": keep")
		return
	case loss && !f.AllowDataLoss && reason != PruneRemove:
		keep(byDataLoss, dataLoss(o.Ref, f.Lost[key]))
		return
	}
	p.Objects = append(p.Objects, Object{
		Ref: o.Ref, UID: live.UID, Labels: live.Labels, Annotations: shown(o.Ref, live.Annotations),
		CreationTimestamp: live.CreationTimestamp, HoldsData: live.HoldsData, DataLoss: loss,
		Component: component, Release: r.String(), Owner: live.Owner.String(), Reason: reason, Lost: f.Lost[key],
	})
}

func dataLoss(ref object.Ref, lost []object.Ref) string {
	if len(lost) == 0 {
		return "data would be lost: --allow-data-loss deletes it"
	}
	names := make([]string, len(lost))
	for i, l := range lost {
		names[i] = l.String()
	}
	return fmt.Sprintf("data would be lost, with %s: --allow-data-loss deletes it", strings.Join(names, ", "))
}

// shown leaves out of an object's annotations what may hold a copy of its content.
func shown(ref object.Ref, annotations map[string]string) map[string]string {
	if ref.Group() == "" && ref.Kind == "Secret" {
		return nil
	}
	out := map[string]string{}
	for key, value := range annotations {
		if !strings.HasSuffix(key, "/last-applied-configuration") {
			out[key] = value
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// orphans finds recorded charts and components that the new definition lacks. They go, last
// installed first, when cluster resources are to be pruned; otherwise the plan only names them.
func (d *deployment) orphans() {
	if d.Record == nil {
		return
	}
	prune := d.Scopes.Has(ScopeClusterResources)
	for _, has := range slices.Backward(d.Record.DeployedComponents) {
		reason := PruneChart
		if !d.defines(has.Name) {
			reason = PruneComponent
			d.orphanedComponent(has.Name, prune)
		} else if !slices.Contains(d.Selected, has.Name) {
			continue // deselected is not orphaned
		}
		for _, chart := range slices.Backward(has.InstalledCharts) {
			if d.wants(chart.Release()) {
				continue // installed again, here or by another component
			}
			if to, ok := d.Unselected[chart.Release()]; ok && to != has.Name {
				d.movedAway(chart.Release(), to)
				continue
			}
			if d.othersOrphan(chart.Release(), has.Name, prune) {
				continue
			}
			if !prune {
				d.warn("release %s of component %q is not in the package any more: --prune=%s uninstalls it",
					chart.Release(), has.Name, ScopeClusterResources)
				continue
			}
			release := d.Releases[chart.Release()]
			d.p.Prune.Releases = append(d.p.Prune.Releases, PruneRelease{
				Release: chart.Release(), Component: has.Name, Reason: reason, Missing: !release.Exists,
			})
			d.goes(chart.Release(), has.Name, release, reason)
		}
	}
}

func (d *deployment) orphanedComponent(name string, prune bool) {
	step := Component{Name: name, Action: ComponentOrphaned, Reason: "not in the package any more"}
	if prune {
		step.Action = ComponentPrune
		if c, ok := d.Record.Definition(name); ok {
			step.Actions = actions(c.Actions.OnRemove)
		}
	} else {
		d.warn("component %q is not in the package any more: --prune=%s removes it", name, ScopeClusterResources)
	}
	d.p.Components = append(d.p.Components, step)
}

func (d *deployment) defines(component string) bool {
	return slices.ContainsFunc(d.Definition.Components, func(c spec.Component) bool { return c.Name == component })
}

func (d *deployment) wants(r object.Release) bool {
	_, ok := d.releases[r]
	return ok
}

// refusals are the built-in verdicts on what a prune must never be made from (SPEC 6, 7).
func (d *deployment) refusals() {
	if len(d.Definition.Components) == 0 {
		d.deny("empty-package", "the package has no components", "deploy a package that has some")
		return
	}
	if d.Record == nil || !d.Scopes.Has(ScopeClusterResources) {
		return
	}
	for _, c := range d.p.Components {
		if c.Action == ComponentPrune && d.elsewhere(c.Name) {
			break
		}
	}
	if d.opaque && !d.p.Prune.Empty() {
		d.deny("cannot-render", "some releases can only be rendered while they are applied, so what they still need is not known",
			"deploy without --prune first")
	}
}

// elsewhere denies that a component is pruned by a package of another flavor or architecture than the one
// that it came from, whatever was deployed in between.
func (d *deployment) elsewhere(component string) bool {
	flavor, architecture := d.Record.Data.Build.Flavor, recordedArchitecture(d.Record.Data)
	if from, ok := d.Own.Component(component); ok && from.Architecture != "" {
		flavor, architecture = from.Flavor, from.Architecture
	}
	what, has, wants := "flavor", flavor, d.Package.Flavor
	if flavor == d.Package.Flavor {
		what, has, wants = "architecture", architecture, d.Package.Architecture
	}
	if has == wants || what == "architecture" && has == "" {
		return false
	}
	d.deny(what, fmt.Sprintf("components cannot be pruned: %q was deployed from a package of %s %q and this one is of %q, and components of another %s are not in a package",
		component, what, has, wants, what), "deploy without --prune")
	return true
}

func recordedArchitecture(p spec.Package) string {
	if p.Build.Architecture != "" {
		return p.Build.Architecture
	}
	return p.Metadata.Architecture
}

// sameAsDeployed reports whether package digest, config digest and component selection equal those
// of the last successful deployment.
func (d *deployment) sameAsDeployed() bool {
	if d.Record == nil {
		return false
	}
	last, ok := d.Record.LastSuccessfulDeploy()
	if !ok || last.Digest == "" || last.Digest != d.Package.Digest || last.ConfigDigest != d.ConfigDigest {
		return false
	}
	if latest, _ := d.Record.LatestEvent(); latest != last {
		return false
	}
	var succeeded []string
	for _, c := range d.Record.DeployedComponents {
		if c.Status != state.StatusSucceeded || !d.defines(c.Name) {
			return false
		}
		succeeded = append(succeeded, c.Name)
	}
	selected := slices.Clone(d.Selected)
	slices.Sort(succeeded)
	slices.Sort(selected)
	return slices.Equal(succeeded, selected)
}

func (d *deployment) deny(rule, message, remedy string) {
	d.p.Findings = append(d.p.Findings, Finding{Severity: Deny, Rule: rule, Message: message, Remedy: remedy})
}

func (d *deployment) warn(format string, args ...any) {
	d.p.Warnings = append(d.p.Warnings, fmt.Sprintf(format, args...))
}
