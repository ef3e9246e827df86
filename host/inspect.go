package host

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/spec"
)

// InspectOptions say what to look into.
type InspectOptions struct {
	// Target is a package, or the name of a deployed one.
	Target string
	// Namespace is the one that a deployed package is in instead of its own, if any.
	Namespace string
	// Open says how a package is opened that is not on this machine.
	Open    OpenOptions
	Cluster cluster.Options
}

// Inspected is what is known of a package, in an archive or deployed.
type Inspected struct {
	Definition spec.Package
	// DefinitionYAML is zarf.yaml as it is in the package; nil for a deployed one.
	DefinitionYAML []byte
	Digest         string
	Signed         bool
	// Signer is the key whose signature was verified, empty if none was.
	Signer     string
	Verified   bool
	Unverified string // why it is not verified
}

// Images are the references of all images of the package, each once, as its author wrote them.
func (i Inspected) Images() []string {
	var out []string
	for _, c := range i.Definition.Components {
		for _, ref := range c.AllImages() {
			if !slices.Contains(out, ref) {
				out = append(out, ref)
			}
		}
	}
	return out
}

// Inspect looks into a package or, by name, into the record of a deployed one. It changes nothing.
func Inspect(ctx context.Context, o InspectOptions) (Inspected, error) {
	if IsName(o.Target) {
		return inspectDeployed(ctx, o)
	}
	p, err := Open(ctx, o.Target, o.Open)
	if err != nil {
		return Inspected{}, err
	}
	defer func() { _ = p.Close() }() // only read from
	integrity := p.Integrity()
	return Inspected{
		Definition: p.Definition(), DefinitionYAML: p.DefinitionYAML(), Digest: p.Digest(), Signed: p.Signed(), Signer: p.Signer(),
		Verified: integrity.OK, Unverified: integrity.Reason,
	}, nil
}

func inspectDeployed(ctx context.Context, o InspectOptions) (Inspected, error) {
	_, record, err := o.record(ctx)
	if err != nil {
		return Inspected{}, err
	}
	return Inspected{Definition: record.Package.Data, Digest: record.Package.Digest, Verified: true}, nil
}

// record connects and reads the record of a deployed package.
func (o InspectOptions) record(ctx context.Context) (*cluster.Cluster, cluster.Record, error) {
	conn, err := cluster.Connect(ctx, o.Cluster)
	if err != nil {
		return nil, cluster.Record{}, fmt.Errorf("%q is no package file; looking for a deployed package of that name: %w", o.Target, err)
	}
	record, err := conn.Records().Get(ctx, o.Target, o.Namespace)
	if err != nil {
		return nil, cluster.Record{}, err
	}
	if !record.Exists {
		return nil, cluster.Record{}, &NotDeployedError{Name: o.Target, Namespace: o.Namespace}
	}
	return conn, record, nil
}

// ReleaseObjects are the objects of a recorded release, as its newest revision has them. What is in
// them is left out: it was supplied in part, and may be secret.
type ReleaseObjects struct {
	ReleaseStatus
	Objects []object.Ref
}

// InspectObjects returns of which objects the releases of a deployed package consist, by the package's
// name. One that is not there has none.
func InspectObjects(ctx context.Context, o InspectOptions) ([]ReleaseObjects, error) {
	conn, record, err := o.record(ctx)
	if err != nil {
		return nil, err
	}
	charts, err := chartClient(conn, Common{}.defaulted())
	if err != nil {
		return nil, err
	}
	var out []ReleaseObjects
	for _, c := range record.Package.DeployedComponents {
		for _, ch := range c.InstalledCharts {
			history, err := charts.History(ctx, ch.Release())
			if err != nil {
				return nil, err
			}
			r := ReleaseObjects{ReleaseStatus: statusOf(history, c.Name)}
			if latest, ok := history.Latest(); ok {
				for _, d := range latest.Objects {
					r.Objects = append(r.Objects, d.Ref)
				}
			}
			out = append(out, r)
		}
	}
	return out, nil
}

// InspectMissing returns why something is not known of a deployed package: a *NoContentError, which
// says where the package came from if the cluster can be asked, or a *NotDeployedError.
func InspectMissing(ctx context.Context, o InspectOptions, what string) error {
	_, record, err := o.record(ctx)
	var none *NotDeployedError
	if errors.As(err, &none) {
		return err
	}
	last, _ := record.Package.LastSuccessfulDeploy()
	return &NoContentError{Name: o.Target, What: what, Source: last.Source}
}
