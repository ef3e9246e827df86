package host

import (
	"context"
	"fmt"
	"slices"

	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/object"
)

// claims finds out which other records name releases of which that matters: those of the same package
// in other namespaces where a release of ours is about to go or carries another namespace's label,
// and all records where a release has no label. Whoever may not read other packages' records goes by
// the labels.
func (o *observer) claims(ctx context.Context, records *cluster.Records, goes bool) error {
	twins, all := o.doubtful(goes)
	if !twins && !all {
		return nil
	}
	list := func() ([]cluster.Listed, error) { return records.ListOf(ctx, o.facts.Package.Name) }
	if all {
		list = func() ([]cluster.Listed, error) { return records.List(ctx) }
	}
	listed, err := list()
	if cluster.IsForbidden(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking for other packages that have the same releases: %w", err)
	}
	o.facts.TwinsKnown = !slices.ContainsFunc(listed, func(l cluster.Listed) bool { return l.Err != nil })
	for _, l := range listed {
		if l.Err == nil && (l.Record.Name != o.facts.Package.Name || l.Record.Override != o.facts.Package.NamespaceOverride) {
			o.claimed(l.Record)
		}
	}
	return nil
}

// doubtful says whether the records of the same package, or all records, have to be looked at.
func (o *observer) doubtful(goes bool) (twins, all bool) {
	recorded := o.facts.Recorded()
	for r, has := range o.facts.Releases {
		switch {
		case !has.Exists:
		case has.Package == "":
			all = all || goes || len(has.Objects) > 0 // without objects there is nothing to label, nor to lose
		case has.Package == o.facts.Package.Name && slices.Contains(recorded, r):
			twins = twins || goes || has.Override != o.facts.Package.NamespaceOverride
		}
	}
	return twins, all
}

// claimed notes what another record names. Of a release that carries the label of a package, only
// records of that package matter.
func (o *observer) claimed(other cluster.Record) {
	who := fmt.Sprintf("package %q", other.Name)
	if other.Override != "" {
		who += fmt.Sprintf(" in namespace %q", other.Override)
	}
	named := map[object.Release]bool{}
	for _, c := range other.Package.DeployedComponents {
		for _, ch := range c.InstalledCharts {
			named[ch.Release()] = true
		}
	}
	for r, has := range o.facts.Releases {
		if named[r] && (has.Package == "" || has.Package == other.Name) {
			has.Claims = append(has.Claims, who)
			o.facts.Releases[r] = has
		}
	}
}
