package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/object"
)

// Keep asks that something which a plan prunes stays. Exactly one of Object, Release, Component and
// Image is set.
type Keep struct {
	Object    *object.Ref
	Release   *object.Release
	Component string
	Image     string // a reference as the plan has it
	By        string // who asks, such as `plugin "guard"`
	Reason    string
}

// WithKept returns the plan with what is asked kept, and whether that changed it. Asking for
// something that the plan does not prune is an error that names it, since whoever asked believes
// that it is safe now.
func (p Plan) WithKept(keeps ...Keep) (Plan, bool, error) {
	before := p.Digest
	p.Components = slices.Clone(p.Components)
	p.Prune.Releases = slices.Clone(p.Prune.Releases)
	p.Prune.Objects = slices.Clone(p.Prune.Objects)
	p.Prune.Images = slices.Clone(p.Prune.Images)
	p.Prune.Kept = slices.Clone(p.Prune.Kept)
	p.Findings = slices.Clone(p.Findings)
	for _, k := range keeps {
		var found bool
		switch {
		case k.Object != nil:
			found = p.keepObject(k)
		case k.Release != nil:
			found = p.keepRelease(*k.Release, k)
		case k.Component != "":
			found = p.keepComponent(k)
		case k.Image != "":
			found = p.keepImage(k)
		}
		if !found {
			return Plan{}, false, fmt.Errorf("%s keeps %s, which the plan does not prune", k.By, k.subject())
		}
	}
	p = finish(p)
	return p, p.Digest != before, nil
}

func (k Keep) subject() string {
	switch {
	case k.Object != nil:
		return k.Object.String()
	case k.Release != nil:
		return "release " + k.Release.String()
	case k.Image != "":
		return fmt.Sprintf("image %q", k.Image)
	default:
		return fmt.Sprintf("component %q", k.Component)
	}
}

func (p *Plan) keepObject(k Keep) bool {
	i := slices.IndexFunc(p.Prune.Objects, func(o Object) bool { return o.Key() == k.Object.Key() })
	if i < 0 {
		return slices.ContainsFunc(p.Prune.Kept, func(has Kept) bool {
			return has.Object != nil && has.Object.Key() == k.Object.Key()
		})
	}
	o := p.Prune.Objects[i]
	if o.Reason == PruneReplaced {
		p.keepReplaced(o, k.By)
	}
	p.Prune.Objects = slices.Delete(p.Prune.Objects, i, i+1)
	p.Prune.Kept = append(p.Prune.Kept, Kept{Object: &o.Ref, UID: o.UID, In: o.Release, By: k.By, Reason: k.Reason})
	if runsImages(o.Ref) {
		p.keepImagesOf(o.Component)
	}
	return true
}

// keepRelease keeps a release that would be uninstalled: it stays, with all its objects, and stays
// recorded. In a removal or a component's prune that keeps the component recorded too.
func (p *Plan) keepRelease(r object.Release, k Keep) bool {
	i := slices.IndexFunc(p.Prune.Releases, func(has PruneRelease) bool { return has.Release == r })
	if i < 0 {
		return slices.ContainsFunc(p.Prune.Kept, func(has Kept) bool { return has.Release != nil && *has.Release == r })
	}
	component := p.Prune.Releases[i].Component
	p.Prune.Releases = slices.Delete(p.Prune.Releases, i, i+1)
	p.Prune.Objects = slices.DeleteFunc(p.Prune.Objects, func(o Object) bool { return o.Release == r.String() })
	p.Prune.Kept = slices.DeleteFunc(p.Prune.Kept, func(has Kept) bool { return has.Object != nil && has.In == r.String() })
	p.Prune.Kept = append(p.Prune.Kept, Kept{Release: &r, By: k.By, Reason: k.Reason})
	p.keepImagesOf(component)
	return true
}

// keepComponent keeps a component that would be pruned or removed, with all its releases.
func (p *Plan) keepComponent(k Keep) bool {
	i := slices.IndexFunc(p.Components, func(c Component) bool { return c.Name == k.Component })
	if i < 0 {
		return false
	}
	switch p.Components[i].Action {
	case ComponentKeep:
		return true
	case ComponentPrune, ComponentRemove:
	default:
		return false
	}
	p.Components[i].Action = ComponentKeep
	p.Components[i].Reason = k.Reason
	p.Components[i].Actions = nil
	for _, r := range slices.Clone(p.Prune.Releases) {
		if r.Component == k.Component {
			p.keepRelease(r.Release, k)
		}
	}
	p.Prune.Kept = append(p.Prune.Kept, Kept{Component: k.Component, By: k.By, Reason: k.Reason})
	p.keepImagesOf(k.Component)
	return true
}

func (p *Plan) keepImage(k Keep) bool {
	i := slices.IndexFunc(p.Prune.Images, func(i PruneImage) bool { return i.Reference == k.Image })
	if i < 0 {
		p.shared = slices.DeleteFunc(slices.Clone(p.shared), func(i PruneImage) bool { return i.Reference == k.Image })
		return slices.ContainsFunc(p.Prune.Kept, func(has Kept) bool { return has.Image == k.Image })
	}
	p.Prune.Images = slices.Delete(p.Prune.Images, i, i+1)
	p.Prune.Kept = append(p.Prune.Kept, Kept{Image: k.Image, By: k.By, Reason: k.Reason})
	return true
}

// keepImagesOf keeps the images that a component had, since something of it stays, and with them
// those that no recorded component has: an earlier version of it may have.
func (p *Plan) keepImagesOf(component string) {
	p.Prune.Images = slices.DeleteFunc(p.Prune.Images, func(i PruneImage) bool {
		if len(i.Components) > 0 && !slices.Contains(i.Components, component) {
			return false
		}
		p.Prune.Kept = append(p.Prune.Kept, Kept{Image: i.Reference, By: byComponent, Reason: fmt.Sprintf("component %q, of which something is kept, may run it", component)})
		return true
	})
}

// KeepsRelease reports whether a release that would have gone stays.
func (p Plan) KeepsRelease(r object.Release) bool {
	return slices.ContainsFunc(p.Prune.Kept, func(k Kept) bool { return k.Release != nil && *k.Release == r })
}

// KeptIn returns the objects that a release loses without their being deleted.
func (p Plan) KeptIn(r object.Release) []object.Ref {
	var out []object.Ref
	for _, k := range p.Prune.Kept {
		if k.Object != nil && k.In == r.String() {
			out = append(out, *k.Object)
		}
	}
	return out
}

// KeptOf returns the objects of KeptIn that are the release's own to lose: those that another owner
// has by now are nobody's to remember.
func (p Plan) KeptOf(r object.Release) []object.Instance {
	var out []object.Instance
	for _, k := range p.Prune.Kept {
		if k.Object != nil && k.In == r.String() && k.By != byOwner && k.By != byEarlier {
			out = append(out, object.Instance{Ref: *k.Object, UID: k.UID})
		}
	}
	return out
}

// Step returns the step of a component.
func (p Plan) Step(component string) (Component, bool) {
	i := slices.IndexFunc(p.Components, func(c Component) bool { return c.Name == component })
	if i < 0 {
		return Component{}, false
	}
	return p.Components[i], true
}

func compareKept(a, b Kept) int {
	key := func(k Kept) string {
		switch {
		case k.Object != nil:
			return "o" + k.Object.String() + k.Object.APIVersion
		case k.Release != nil:
			return "r" + k.Release.String()
		case k.Image != "":
			return "i" + k.Image
		default:
			return "c" + k.Component
		}
	}
	return cmp.Or(strings.Compare(key(a), key(b)), strings.Compare(a.By, b.By), strings.Compare(a.In, b.In))
}

// Asked returns what hooks asked to be kept, so that the same can be asked of a newer plan.
func (p Plan) Asked() []Keep {
	var out []Keep
	for _, k := range p.Prune.Kept {
		switch k.By {
		case byOwner, byEarlier, byDefinition, byResourcePolicy, byDataLoss, byPackage, byComponent, byDifferential, byPod, byRegistry:
			continue
		}
		out = append(out, Keep{Object: k.Object, Release: k.Release, Component: k.Component, Image: k.Image, By: k.By, Reason: k.Reason})
	}
	// Components first: keeping one keeps its releases, and those must not be asked for twice.
	slices.SortStableFunc(out, func(a, b Keep) int { return strings.Compare(b.Component, a.Component) })
	return out
}
