package plan

import (
	"fmt"

	"github.com/zarf-host/zarf-host/host/object"
)

// hooks settles what becomes of objects that have the names of hooks. Helm creates hooks without
// owning them and deletes by name what it finds there, so that a chart could take anything. Here an
// object that is not the release's is refused, and one that holds data is asked about.
func (d *deployment) hooks() {
	for _, w := range d.Wanted {
		for _, h := range w.Hooks {
			live, ok := d.Live[h.Key()]
			if !ok {
				continue
			}
			switch {
			case live.Owner != w.Release && !(live.Owner == (object.Release{}) && (h.Known || runsOnce(h.Ref))):
				// No collision that may be accepted: the hook does not take the object over, but deletes it.
				if !d.TakeOwnership {
					d.deny("hook-object", fmt.Sprintf("a hook of release %s takes the place of %s, which belongs to %s", w.Release, live.Ref, ownerOf(live)),
						"deploy with --take-ownership, or remove the object first")
				}
			case !h.Replaces, runsOnce(h.Ref):
			case IsDataLossKind(h.Ref) && !d.AllowDataLoss:
				d.deny("hook-data-loss", fmt.Sprintf("a hook of release %s takes the place of %s, whose data would be lost", w.Release, h.Ref),
					"--allow-data-loss deletes it; a hook that is not deleted before it is created again keeps it")
			case live.HoldsData, IsDataLossKind(h.Ref):
				d.p.Prune.Objects = append(d.p.Prune.Objects, Object{
					Ref: h.Ref, UID: live.UID, Labels: live.Labels, Annotations: shown(h.Ref, live.Annotations),
					CreationTimestamp: live.CreationTimestamp, HoldsData: live.HoldsData, DataLoss: IsDataLossKind(h.Ref),
					Component: w.Component, Release: w.Release.String(), Owner: live.Owner.String(), Reason: PruneHook,
				})
			}
		}
	}
}

// runsOnce reports whether an object is only there to run to its end: nothing is lost with it, and
// hooks of these kinds that an earlier life of a release left carry no owner.
func runsOnce(ref object.Ref) bool {
	switch ref.Group() + "/" + ref.Kind {
	case "batch/Job", "/Pod":
		return true
	}
	return false
}

// hooksLeft warns of objects that uninstall hooks created in attempts before and that stay, since the
// hooks are left out now: with their release nothing knows of them any more.
func hooksLeft(p *Plan, f Facts) {
	if !f.NoHooks {
		return
	}
	for _, r := range p.uninstalls() {
		for _, hook := range f.Releases[r].UninstallHooks {
			if _, lives := f.Live[hook.Key()]; lives {
				p.Warnings = append(p.Warnings, fmt.Sprintf("%s, which an uninstall hook of release %s created before, stays: delete it by hand", hook, r))
			}
		}
	}
}

// uninstalls returns the releases that are uninstalled, as far as they are there: for good, or to be
// installed anew.
func (p Plan) uninstalls() []object.Release {
	var out []object.Release
	for _, r := range p.Prune.Releases {
		if !r.Missing {
			out = append(out, r.Release)
		}
	}
	for _, r := range p.Releases {
		if r.Anew {
			out = append(out, r.Release)
		}
	}
	return out
}
