package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/spec"
)

// Owner names whose a release is that is not ours.
func (has ReleaseFacts) Owner() string {
	switch {
	case has.Package != "" && has.Override != "":
		return fmt.Sprintf("package %q in namespace %q", has.Package, has.Override)
	case has.Package != "":
		return fmt.Sprintf("package %q", has.Package)
	case len(has.Claims) > 0:
		return strings.Join(has.Claims, " and ")
	default:
		return "nobody known"
	}
}

// Owns reports whether a release that exists is this record's. What decides is what its newest
// labelled revision says, since whoever installs a release labels its objects with the package and
// the namespace override; the record alone is not believed, because another package, or this one in
// another namespace, may have got the release since. A release without labels, which old versions
// of Zarf left, is this record's if it names it, no other one does, and it is not the one that we
// installed, which had labels.
func (f Facts) Owns(r object.Release) bool {
	has := f.Releases[r]
	switch {
	case has.Package == "":
		relabelled := f.Own.Revision(r) > 0 && len(has.Objects) > 0
		return f.names(r) && !relabelled && len(has.Claims) == 0
	case has.Package != f.Package.Name:
		return false
	case has.Override == f.Package.NamespaceOverride:
		return true
	default:
		// The other one has it, unless it is known to have gone without it.
		return f.names(r) && f.TwinsKnown && len(has.Claims) == 0
	}
}

// shared reports whether another record of the same package, in another namespace, names a release
// of ours: versions of Zarf recorded one release twice. Whichever goes first leaves it to the other.
func (f Facts) shared(r object.Release) bool { return len(f.Releases[r].Claims) > 0 }

// Recorded returns the releases that the record names.
func (f Facts) Recorded() []object.Release {
	var out []object.Release
	if f.Record == nil {
		return nil
	}
	for _, c := range f.Record.DeployedComponents {
		for _, chart := range c.InstalledCharts {
			out = append(out, chart.Release())
		}
	}
	return out
}

// names reports whether the record names a release.
func (f Facts) names(r object.Release) bool {
	_, ok := f.componentOf(r)
	return ok
}

func (f Facts) componentOf(r object.Release) (string, bool) {
	if f.Record == nil {
		return "", false
	}
	for _, c := range f.Record.DeployedComponents {
		if _, ok := c.Chart(r); ok {
			return c.Name, true
		}
	}
	return "", false
}

// ForgottenRelease is a recorded release that is another package's by now. It is left alone with all
// its objects, and leaves the record.
type ForgottenRelease struct {
	object.Release
	Component string `json:"component"`
	Owner     string `json:"owner"` // whose it is, as a person reads it
}

// forgets notes that a recorded release is not this package's to uninstall, if that is so.
func forgets(p *Plan, f Facts, r object.Release, component string) bool {
	has := f.Releases[r]
	if !has.Exists || f.Owns(r) && !f.shared(r) {
		return false
	}
	owner := has.Owner()
	if f.Owns(r) {
		owner = strings.Join(has.Claims, " and ") + " too"
	}
	p.Prune.Forgotten = append(p.Prune.Forgotten, ForgottenRelease{Release: r, Component: component, Owner: owner})
	p.Warnings = append(p.Warnings, fmt.Sprintf(
		"release %s, which component %q has on record, belongs to %s: it is left alone, and leaves the record", r, component, owner))
	return true
}

// Forgets reports whether the plan lets a release go that is another package's.
func (p Plan) Forgets(component string) []ForgottenRelease {
	return slices.DeleteFunc(slices.Clone(p.Prune.Forgotten), func(r ForgottenRelease) bool { return r.Component != component })
}

// releaseEvidence says what shows whose a release is.
func (d *deployment) releaseEvidence(r object.Release, has ReleaseFacts) []string {
	var out []string
	if has.Package != "" {
		out = append(out, "its objects are labelled as those of "+has.Owner())
	} else {
		out = append(out, "its objects have no label of a package")
	}
	for _, claim := range has.Claims {
		out = append(out, "the record of "+claim+" names it")
	}
	if component, ok := d.componentOf(r); ok {
		out = append(out, fmt.Sprintf("component %q of this package has it on record", component))
	}
	return out
}

// staysWith returns the component whose release keeps what it has, because the component is not
// selected: its objects are no orphans.
func (d *deployment) staysWith(r object.Release) (component string, stays bool) {
	component, recorded := d.componentOf(r)
	installed := slices.ContainsFunc(d.Wanted, func(w Wanted) bool { return w.Release == r })
	if !recorded || installed || !d.Owns(r) {
		return "", false
	}
	if to, moved := d.Unselected[r]; moved {
		return to, true
	}
	if slices.Contains(d.Selected, component) {
		return "", false
	}
	defined := slices.ContainsFunc(d.Definition.Components, func(c spec.Component) bool { return c.Name == component })
	return component, defined
}

// othersOrphan settles what becomes of a recorded release that the package no longer installs and
// that is not its own to uninstall either.
func (d *deployment) othersOrphan(r object.Release, component string, prune bool) bool {
	if prune {
		return forgets(&d.p, d.Facts, r, component)
	}
	has := d.Releases[r]
	if !has.Exists || d.Owns(r) {
		return false
	}
	d.warn("release %s, which component %q has on record, belongs to %s: --prune=%s drops it from the record, and leaves it alone",
		r, component, has.Owner(), ScopeClusterResources)
	return true
}
