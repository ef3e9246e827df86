package plan

import (
	"fmt"
	"slices"

	"github.com/zarf-host/zarf-host/host/object"
)

// interrupted settles what becomes of releases that an interrupted operation began to uninstall. One
// that is installed goes first, within what the plan lists; one that nothing of this operation
// concerns is left as it is: finishing it would delete what nobody was asked about.
func (d *deployment) interrupted() {
	d.p.Recovery = slices.DeleteFunc(d.p.Recovery, func(r Recovery) bool {
		has := d.Releases[r.Release]
		if !has.Uninstalling || d.wants(r.Release) || d.prunes(r.Release) {
			return false
		}
		d.warn("an interrupted operation began to uninstall release %s, which this one does not touch: "+
			"it is left as it is; removing its component finishes that", r.Release)
		return true
	})
	for _, w := range d.Wanted {
		if w.CannotRender != "" && d.Releases[w.Release].Uninstalling {
			d.deny("interrupted-uninstall", fmt.Sprintf("an interrupted operation began to uninstall release %s, "+
				"and what it needs of its objects is only known while it is applied", w.Release),
				fmt.Sprintf("remove component %q first", w.Component))
		}
	}
}

func (d *deployment) prunes(r object.Release) bool {
	return slices.ContainsFunc(d.p.Prune.Releases, func(p PruneRelease) bool { return p.Release == r })
}

// movedAway keeps a release that a component which is not selected installs from now on: it is not
// orphaned, and what it runs is that component's.
func (d *deployment) movedAway(r object.Release, to string) {
	d.p.Prune.Kept = append(d.p.Prune.Kept, Kept{
		Release: &r, By: byDefinition, Reason: fmt.Sprintf("component %q, which is not selected, has it now", to),
	})
}

// busy names the releases that the plan touches and that somebody else seems to be working on.
func busy(p Plan, facts map[object.Release]ReleaseFacts) []string {
	var out []string
	say := func(r object.Release, b Busy) {
		out = append(out, fmt.Sprintf("release %s is %s at revision %d, which no operation of zarf-host recorded: another program may be "+
			"working on it; wait for that, or, if it has died, roll the release back or uninstall it with Helm", r, b.Status, b.Revision))
	}
	for _, r := range p.Releases {
		if b := facts[r.Release].Busy; b.Status != "" {
			say(r.Release, b)
		}
	}
	for _, r := range p.Prune.Releases {
		// What somebody began to uninstall is uninstalled to the end: that is what is asked for.
		if b := facts[r.Release].Busy; b.Status != "" && b.Status != uninstalling {
			say(r.Release, b)
		}
	}
	return out
}
