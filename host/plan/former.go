package plan

import (
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/state"
)

// formers are the objects that earlier operations kept and that are still there: no manifest has them
// any more, so nothing but our own key knows of them.
func (f Facts) formers() []state.KeptObject {
	return slices.DeleteFunc(f.Own.StillKept(f.Live, f.Held).Kept, func(k state.KeptObject) bool {
		return f.Held(k.Release, k.Key()) // it was let go of by an uninstall that goes on
	})
}

// Held reports whether a release has an object in its manifests.
func (f Facts) Held(r object.Release, key object.Key) bool {
	return slices.ContainsFunc(f.Releases[r].Objects, func(o Rendered) bool { return o.Key() == key })
}

// former adds an object that an earlier operation kept to what is pruned. One that its release still
// has goes like any other, but never with its data. One that was let go is nobody's, so that nobody may
// delete it here; it is named as long as it is known.
func former(p *Prune, f Facts, k state.KeptObject) {
	live := f.Live[k.Key()]
	if live.Owner == (object.Release{}) {
		p.Kept = append(p.Kept, Kept{
			Object: &k.Ref, UID: k.UID, In: k.Release.String(), By: byEarlier,
			Reason: "an earlier operation kept it when its release went, and it belongs to none since: delete it by hand where it is not needed",
		})
		return
	}
	component, _ := f.componentOf(k.Release)
	addObject(p, f, Rendered{Ref: k.Ref}, live, k.Release, component, PruneFormer)
}

// formers finds what earlier operations kept and nothing of the package renders. It goes when cluster
// resources are to be pruned; otherwise the plan only names it.
func (d *deployment) formers() {
	var left []string
	for _, k := range d.Facts.formers() {
		if _, wanted := d.rendered[k.Key()]; wanted || d.unfinished(k.Release) || d.deselected(k.Release) {
			continue
		}
		if has := d.Releases[k.Release]; has.Exists && !d.Owns(k.Release) {
			continue
		}
		if d.Scopes.Has(ScopeClusterResources) {
			former(&d.p.Prune, d.Facts, k)
		} else if d.Live[k.Key()].Owner != (object.Release{}) {
			left = append(left, k.Ref.String())
		}
	}
	if len(left) > 0 {
		d.warn("earlier operations kept what is not in the package any more: --prune=%s deletes %s", ScopeClusterResources, strings.Join(left, ", "))
	}
}

// unfinished reports whether a release is being uninstalled and installed again: what it has is settled
// by then.
func (d *deployment) unfinished(r object.Release) bool {
	return d.Releases[r].Uninstalling && d.wants(r)
}

// deselected reports whether a release is of a component that the package has and that is not deployed
// this time.
func (d *deployment) deselected(r object.Release) bool {
	component, known := d.componentOf(r)
	return known && d.defines(component) && !slices.Contains(d.Selected, component)
}

// formersOf adds to a removal what earlier operations kept of the releases that go, and, with the whole
// package, of those that went before.
func formersOf(p *Plan, f Facts) {
	stays := slices.ContainsFunc(p.Components, func(c Component) bool { return c.Action != ComponentRemove })
	for _, k := range f.formers() {
		going := slices.ContainsFunc(p.Prune.Releases, func(r PruneRelease) bool { return r.Release == k.Release })
		if going || !stays && !f.names(k.Release) {
			former(&p.Prune, f, k)
		}
	}
}

// Formers returns the objects of a release that the plan deletes though no manifest has them, since an
// earlier operation kept them.
func (p Plan) Formers(r object.Release) []object.Instance {
	var out []object.Instance
	for _, o := range p.Prune.Objects {
		if o.Reason == PruneFormer && o.Release == r.String() {
			out = append(out, object.Instance{Ref: o.Ref, UID: o.UID})
		}
	}
	return out
}
