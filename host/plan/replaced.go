package plan

import (
	"fmt"
	"strings"

	"github.com/zarf-host/zarf-host/host/object"
)

// replacements finds what is to change its owner and cannot be changed. All releases are known by now.
func (d *deployment) replacements() {
	for _, w := range d.Wanted {
		if d.TakeOwnership {
			return // whoever asks for that has it changed, or fails
		}
		for _, o := range w.Objects {
			live, ok := d.Live[o.Key()]
			if ok && live.Owner != w.Release && len(d.Immutable[o.Key()]) > 0 && d.canMove(live) {
				d.replace(&d.p.Releases[d.releases[w.Release]], w, o, live)
			}
		}
	}
}

// replace settles what becomes of an object that is to change its owner and cannot, because the API
// server refuses to change a field of it. The old one goes first, within the rules of any prune, and
// what it does is down until the new one is there.
func (d *deployment) replace(r *Release, w Wanted, o Rendered, live object.Live) {
	fields := strings.Join(d.Immutable[o.Key()], ", ")
	refuse := func(remedy string) {
		d.deny("immutable-field", fmt.Sprintf("%s cannot be taken over by release %s, since these fields of it cannot be changed: %s",
			live.Ref, w.Release, fields), remedy)
	}
	switch {
	case live.Owner == (object.Release{}):
		refuse("it was kept when its release went: delete it, or leave these fields as they are")
		return
	case !d.wants(live.Owner) && !d.Scopes.Has(ScopeClusterResources):
		refuse(fmt.Sprintf("--prune=%s deletes it first, with its release", ScopeClusterResources))
		return
	}
	before := len(d.p.Prune.Objects)
	addObject(&d.p.Prune, d.Facts, Rendered{Ref: live.Ref, Keep: o.Keep}, live, live.Owner, w.Component, PruneReplaced)
	if len(d.p.Prune.Objects) == before {
		refuse("it is kept: " + d.p.Prune.Kept[len(d.p.Prune.Kept)-1].Reason)
		return
	}
	r.Replaced = append(r.Replaced, Replacement{Ref: live.Ref, UID: live.UID, From: live.Owner, Fields: d.Immutable[o.Key()]})
	d.warn("%s is deleted before release %s is installed, since it cannot be changed (%s): until then it is down", live.Ref, w.Release, fields)
}

// keepReplaced makes a plan that keeps an object which was to be replaced one that is denied: the
// release cannot be installed beside it.
func (p *Plan) keepReplaced(o Object, by string) {
	p.Findings = append(p.Findings, Finding{
		Severity: Deny, Rule: "immutable-field",
		Message: fmt.Sprintf("%s keeps %s, which has to go before it can be installed anew", by, o.Ref),
	})
}
