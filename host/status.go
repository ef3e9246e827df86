package host

import (
	"context"

	"github.com/zarf-host/zarf-host/host/chart"
	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/state"
)

// Deployed is one record of a deployed package, or why it cannot be read.
type Deployed struct {
	Secret string
	// Record is without the configuration and digests of it.
	Record state.Package
	Err    error
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
		d := Deployed{Secret: l.Secret, Record: l.Record.Package.Public(), Err: l.Err}
		if l.Err == nil {
			if err := d.holder(ctx, conn); err != nil {
				return nil, err
			}
		}
		out = append(out, d)
	}
	return out, nil
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
}

// Status is a deployed package with its releases.
type Status struct {
	Deployed
	Releases []ReleaseStatus
}

// GetStatus returns what is known of one deployed package; namespace is the one that it was
// deployed into instead of its own, if any. The error is a *NotDeployedError when there is none.
func GetStatus(ctx context.Context, o cluster.Options, name, namespace string) (Status, error) {
	conn, err := cluster.Connect(ctx, o)
	if err != nil {
		return Status{}, err
	}
	record, err := conn.Records().Get(ctx, name, namespace)
	if err != nil {
		return Status{}, err
	}
	if !record.Exists {
		return Status{}, &NotDeployedError{Name: name, Namespace: namespace}
	}
	s := Status{Deployed: Deployed{Secret: record.Secret(), Record: record.Package.Public()}}
	if err := s.holder(ctx, conn); err != nil {
		return Status{}, err
	}
	charts, err := chartClient(conn, Common{}.defaulted())
	if err != nil {
		return Status{}, err
	}
	for _, c := range record.Package.DeployedComponents {
		for _, ch := range c.InstalledCharts {
			r, err := releaseStatus(ctx, charts, c.Name, ch.Release())
			if err != nil {
				return Status{}, err
			}
			s.Releases = append(s.Releases, r)
		}
	}
	return s, nil
}

func releaseStatus(ctx context.Context, charts *chart.Client, component string, r object.Release) (ReleaseStatus, error) {
	history, err := charts.History(ctx, r)
	if err != nil {
		return ReleaseStatus{}, err
	}
	out := ReleaseStatus{Release: r, Component: component}
	if latest, ok := history.Latest(); ok {
		out.Exists, out.Revision, out.Status = true, latest.Number, latest.Status
		out.Chart, out.Version = latest.ChartName, latest.ChartVersion
	}
	return out, nil
}

// chartClient returns what does everything with releases in a connected cluster.
func chartClient(conn *cluster.Cluster, c Common) (*chart.Client, error) {
	waiter, err := conn.Waiter(c.Sink)
	if err != nil {
		return nil, err
	}
	return chart.New(chart.Options{Config: conn.Config(), SecondConfig: conn.Second, Waiter: waiter, Sink: c.Sink})
}
