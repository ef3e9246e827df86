package host

import (
	"context"
	"slices"

	"github.com/zarf-host/zarf-host/host/cluster"
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
	Verified       bool
	Unverified     string // why it is not verified
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
	if isName(o.Target) {
		return inspectDeployed(ctx, o)
	}
	p, err := Open(ctx, o.Target, o.Open)
	if err != nil {
		return Inspected{}, err
	}
	defer func() { _ = p.Close() }() // only read from
	integrity := p.Integrity()
	return Inspected{
		Definition: p.Definition(), DefinitionYAML: p.DefinitionYAML(), Digest: p.Digest(), Signed: p.Signed(),
		Verified: integrity.OK, Unverified: integrity.Reason,
	}, nil
}

func inspectDeployed(ctx context.Context, o InspectOptions) (Inspected, error) {
	conn, err := cluster.Connect(ctx, o.Cluster)
	if err != nil {
		return Inspected{}, err
	}
	record, err := conn.Records().Get(ctx, o.Target, o.Namespace)
	if err != nil {
		return Inspected{}, err
	}
	if !record.Exists {
		return Inspected{}, &NotDeployedError{Name: o.Target, Namespace: o.Namespace}
	}
	return Inspected{Definition: record.Package.Data, Digest: record.Package.Digest, Verified: true}, nil
}
