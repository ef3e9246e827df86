package host

import (
	"context"
	"errors"
	"time"

	"github.com/zarf-host/zarf-host/host/chart"
	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/state"
)

// Deployed is one record of a deployed package, or why it cannot be read.
type Deployed struct {
	Secret string
	// Record is without the configuration and digests of it.
	Record state.Package
	// Own is what zarf-host remembers beside the record, likewise without the configuration.
	Own state.Own
	// Unconfirmed are the releases that only Own names. In a Status those that are there and are
	// this package's are in the record again.
	Unconfirmed []state.Unconfirmed
	Err         error
	// Holder is who works on the package right now, empty when nobody does.
	Holder string
	// Interrupted is true when the latest attempt never ended and nobody works on it.
	Interrupted bool
}

// List returns the records of a cluster. One that cannot be read hides none of the others.
func List(ctx context.Context, o cluster.Options) ([]Deployed, error) {
	conn, err := cluster.Connect(ctx, o)
	if err != nil {
		return nil, err
	}
	listed, err := conn.Records().List(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Deployed, 0, len(listed))
	for _, l := range listed {
		d := deployed(l.Record)
		d.Secret, d.Err = l.Secret, l.Err
		if l.Err == nil {
			if err := d.holder(ctx, conn); err != nil {
				return nil, err
			}
		}
		out = append(out, d)
	}
	return out, nil
}

func deployed(r cluster.Record) Deployed {
	return Deployed{Secret: r.Secret(), Record: r.Package.Public(), Own: r.Own.Public(), Unconfirmed: r.Unconfirmed}
}

// Runs returns the version and digest of the package that a component was last successfully
// deployed from, empty where that is not known. After an upgrade that failed and was rolled back it
// is not what the record's definition says.
func (d Deployed) Runs(component string) (version, digest string) {
	c, ok := d.Own.Component(component)
	if ok && c.Digest != "" {
		return c.Version, c.Digest
	}
	has, _ := d.Record.Component(component)
	if has.Status == state.StatusSucceeded && len(d.Record.Events) == 0 {
		return d.Record.Data.Metadata.Version, d.Record.Digest // Zarf's record knows no other
	}
	return "", ""
}

// holder finds out who works on the package. Only a record whose latest attempt is in progress is
// worth a request.
func (d *Deployed) holder(ctx context.Context, conn *cluster.Cluster) error {
	latest, ok := d.Record.LatestEvent()
	if !ok || latest.Outcome != state.InProgress {
		return nil
	}
	holding, err := conn.Holding(ctx, d.Secret)
	if err != nil {
		return err
	}
	d.Interrupted = !holding.Live
	if holding.Live {
		d.Holder = holding.String()
	}
	return nil
}

// ReleaseStatus is a recorded release as Helm has it.
type ReleaseStatus struct {
	object.Release
	Component string
	Exists    bool
	Revision  int
	Status    string
	Chart     string
	Version   string
	// Orphaned is true for a release that the recorded definition of its component has no more: a
	// newer version of the package dropped it, and nothing pruned it.
	Orphaned bool
	// Owner is whose the release is by its labels, where it is not the package's any more.
	Owner string
}

// Status is a deployed package with its releases.
type Status struct {
	Deployed
	Releases []ReleaseStatus
	// Notes say what of the record was repaired when it was read.
	Notes []string
}

// History returns the recorded attempts at a deployed package, the oldest first. The error is a
// *NotDeployedError when there is no such package.
func History(ctx context.Context, o cluster.Options, name, namespace string) ([]state.PackageEvent, error) {
	conn, err := cluster.Connect(ctx, o)
	if err != nil {
		return nil, err
	}
	record, err := conn.Records().Get(ctx, name, namespace)
	if err != nil {
		return nil, err
	}
	if !record.Exists {
		return nil, &NotDeployedError{Name: name, Namespace: namespace}
	}
	return record.Package.Public().Events, nil
}

// GetStatus returns what is known of one deployed package; namespace is the one that it was
// deployed into instead of its own, if any. The error is a *NotDeployedError when there is none.
func GetStatus(ctx context.Context, o cluster.Options, name, namespace string) (Status, error) {
	conn, err := cluster.Connect(ctx, o)
	if err != nil {
		return Status{}, err
	}
	charts, err := chartClient(conn, Common{}.defaulted())
	if err != nil {
		return Status{}, err
	}
	return readStatus(ctx, conn, charts, name, namespace)
}

// WatchStatus calls show with what GetStatus returns, now and again after each pause of every, until
// the package is not deployed any more, show returns an error, or ctx ends, whose cause is returned.
// A package that was never there is a *NotDeployedError.
func WatchStatus(ctx context.Context, o cluster.Options, name, namespace string, every time.Duration, show func(Status) error) error {
	conn, err := cluster.Connect(ctx, o)
	if err != nil {
		return err
	}
	charts, err := chartClient(conn, Common{}.defaulted())
	if err != nil {
		return err
	}
	for seen := false; ; seen = true {
		s, err := readStatus(ctx, conn, charts, name, namespace)
		var gone *NotDeployedError
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case seen && errors.As(err, &gone):
			return nil
		case err != nil:
			return err
		}
		if err := show(s); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(every):
		}
	}
}

func readStatus(ctx context.Context, conn *cluster.Cluster, charts *chart.Client, name, namespace string) (Status, error) {
	record, err := conn.Records().Get(ctx, name, namespace)
	if err != nil {
		return Status{}, err
	}
	if !record.Exists {
		return Status{}, &NotDeployedError{Name: name, Namespace: namespace}
	}
	unconfirmed := record.Unconfirmed
	found, err := confirmed(ctx, charts, record)
	if err != nil {
		return Status{}, err
	}
	record.Record = record.Confirm(found...)
	s := Status{Deployed: deployed(record), Notes: record.Notes}
	s.Unconfirmed = unconfirmed
	if err := s.holder(ctx, conn); err != nil {
		return Status{}, err
	}
	for _, c := range record.Package.DeployedComponents {
		for _, ch := range c.InstalledCharts {
			r, err := releaseStatus(ctx, charts, record, c.Name, ch.Release())
			if err != nil {
				return Status{}, err
			}
			r.Orphaned = orphaned(record.Package, c.Name, ch.Release())
			s.Releases = append(s.Releases, r)
		}
	}
	return s, nil
}

// orphaned reports whether the recorded definition of a component lacks a release that it has
// installed. Nothing is said of a component whose definition the record lost.
func orphaned(p state.Package, component string, r object.Release) bool {
	c, ok := p.Definition(component)
	if !ok {
		return false
	}
	for _, ch := range c.Charts {
		if r == (object.Release{Namespace: ch.Namespace, Name: chart.ReleaseName(ch)}) {
			return false
		}
	}
	for _, m := range c.Manifests {
		if r == chart.ManifestRelease(p.Name, component, m) {
			return false
		}
	}
	return true
}

func releaseStatus(ctx context.Context, charts *chart.Client, record cluster.Record, component string, r object.Release) (ReleaseStatus, error) {
	history, err := charts.History(ctx, r)
	if err != nil {
		return ReleaseStatus{}, err
	}
	out := statusOf(history, component)
	has := plan.ReleaseFacts{Package: history.Package(), Override: history.Override()}
	if has.Package != "" && (has.Package != record.Name || has.Override != record.Override) {
		out.Owner = has.Owner()
	}
	return out, nil
}

func statusOf(history chart.History, component string) ReleaseStatus {
	out := ReleaseStatus{Release: history.Release, Component: component}
	if latest, ok := history.Latest(); ok {
		out.Exists, out.Revision, out.Status = true, latest.Number, latest.Status
		out.Chart, out.Version = latest.ChartName, latest.ChartVersion
	}
	return out
}

// chartClient returns what does everything with releases in a connected cluster.
func chartClient(conn *cluster.Cluster, c Common) (*chart.Client, error) {
	waiter, err := conn.Waiter(c.Sink)
	if err != nil {
		return nil, err
	}
	return chart.New(chart.Options{Config: conn.Config(), SecondConfig: conn.Second, Waiter: waiter, Sink: c.Sink})
}
