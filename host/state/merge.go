package state

import (
	"fmt"
	"slices"
	"time"

	"github.com/zarf-host/zarf-host/host/object"
)

// Unconfirmed is a release that only zarf-host's own key names. It counts only if it exists and its
// objects carry the label of this package; otherwise somebody removed it, and it is forgotten with
// the next write.
type Unconfirmed struct {
	Component string
	Release   object.Release
}

// copies returns what is remembered with its copies of what the record has brought in line.
// Components that the record does not have are forgotten.
func (o Own) copies(p Package) Own {
	if len(p.Events) == 0 {
		return o // Zarf's record, or one before there were events: there is nothing to copy
	}
	o.CLIVersion, o.Events, o.DeployConfig = p.CLIVersion, p.Events, p.DeployConfig
	components := make([]OwnComponent, 0, len(p.DeployedComponents))
	for _, has := range p.DeployedComponents {
		c, _ := o.Component(has.Name)
		c.Name, c.LastEvent, c.Releases = has.Name, has.LastEvent, nil
		for _, chart := range has.InstalledCharts {
			c.Releases = append(c.Releases, chart.Release())
		}
		components = append(components, c)
	}
	o.Components = components
	return o
}

// Merged returns a record as it is to be understood. Where Zarf wrote last, its key has no events
// any more: then those that we copied are history, what Zarf did follows them as far as it is
// known, the configuration is unknown, and what Zarf forgot is unconfirmed. written is when that
// was, the zero time if that is unknown. A record that Zarf did not write last, or that was never
// ours, is returned as it is.
func (r Record) Merged(written time.Time) Record {
	if len(r.Package.Events) > 0 || len(r.Own.Events) == 0 {
		return r
	}
	own := r.Own
	removal := own.CLIVersion != "" && own.CLIVersion == r.Package.CLIVersion
	p := r.Package
	p.Events = slices.Clone(own.Events)
	if latest := &p.Events[len(p.Events)-1]; latest.Outcome == InProgress {
		latest.Outcome = Failed // somebody else went on, so its program is gone
	}
	p.Events = retain(append(p.Events, p.foreignEvent(own, removal, written)))
	p.DeployConfig = nil
	p.DeployedComponents = slices.Clone(p.DeployedComponents)
	for i, has := range p.DeployedComponents {
		switch known, ok := own.Component(has.Name); {
		case removal && ok:
			p.DeployedComponents[i].LastEvent = known.LastEvent
		case !removal && has.Status == StatusSucceeded:
			own = own.Runs(has.Name, From{
				Version: p.Data.Metadata.Version, Digest: p.Digest, Flavor: p.Data.Build.Flavor, Architecture: p.Data.Build.Architecture,
			})
		}
	}
	r.Unconfirmed = nil
	for _, c := range own.Components {
		has, _ := p.Component(c.Name)
		for _, release := range c.Releases {
			if _, recorded := has.Chart(release); !recorded {
				r.Unconfirmed = append(r.Unconfirmed, Unconfirmed{Component: c.Name, Release: release})
			}
		}
	}
	what := "deployed"
	if removal {
		what = "removed a part of"
	}
	r.Notes = append(slices.Clone(r.Notes), fmt.Sprintf("Zarf %s this package last, and does not record the configuration", what))
	r.Package, r.Own = p, own
	return r
}

// foreignEvent is what is known of what Zarf did.
func (p Package) foreignEvent(own Own, removal bool, written time.Time) PackageEvent {
	e := PackageEvent{
		Type: Deploy, Outcome: Succeeded, Timestamp: moment(written), Version: p.Data.Metadata.Version,
		Flavor: p.Data.Build.Flavor, Digest: p.Digest,
	}
	if removal {
		e.Type = Remove
	}
	for _, c := range p.DeployedComponents {
		known, _ := own.Component(c.Name)
		lost := slices.ContainsFunc(known.Releases, func(r object.Release) bool { _, ok := c.Chart(r); return !ok })
		switch {
		case removal && lost, !removal && c.Status == StatusFailed:
			e.Outcome = Failed
		case !removal && c.Status == StatusDeploying && e.Outcome != Failed:
			e.Outcome = InProgress
		}
	}
	return e
}

// Confirm returns the record with unconfirmed releases in it again, since they are there. Their
// components are what they were when we wrote last. The others are forgotten.
func (r Record) Confirm(releases ...object.Release) Record {
	p := r.Package
	for _, u := range r.Unconfirmed {
		if !slices.Contains(releases, u.Release) {
			continue
		}
		known, _ := r.Own.Component(u.Component)
		if _, has := p.Component(u.Component); !has {
			p.DeployedComponents = append(slices.Clone(p.DeployedComponents), Component{
				Name: u.Component, Status: known.LastEvent.status(StatusSucceeded), LastEvent: known.LastEvent,
			})
			p = p.ordered()
		}
		p = p.SetChart(u.Component, Chart{Namespace: u.Release.Namespace, Name: u.Release.Name, Status: StatusSucceeded})
	}
	r.Package, r.Unconfirmed = p, nil
	return r
}

// ConfigUnknown says why the configuration of the last successful deployment cannot be used again,
// empty when it can.
func (p Package) ConfigUnknown() string {
	last, ok := p.LastSuccessfulDeploy()
	switch {
	case len(p.Events) == 0:
		return "Zarf, or a program before there were events, deployed the package, and did not record a configuration"
	case !ok:
		return "no recorded deployment of the package ever succeeded, so there is no configuration to use again"
	case last.ConfigDigest == "":
		return fmt.Sprintf("the last deployment that succeeded, of version %q, was Zarf's, which does not record a configuration", last.Version)
	case p.DeployConfig == nil:
		return "another program wrote the record since, and the configuration is not in it any more"
	}
	return ""
}
