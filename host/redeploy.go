package host

import (
	"context"
	"fmt"
	"strings"

	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/config"
	"github.com/zarf-host/zarf-host/host/state"
)

// RedeployOptions say which package to deploy again.
type RedeployOptions struct {
	Common
	// Name is that of a deployed package; Namespace the one that it was deployed into instead of its
	// own, if any.
	Name, Namespace string
	// Source is where to find the package, if not where it was found.
	Source string
	// AllowChangedSource goes on with a package of another digest than the recorded one.
	AllowChangedSource bool
	// SkipUnchanged leaves out releases that are unchanged.
	SkipUnchanged bool
}

// Redeploy deploys a package again as it was deployed by its last success: from the same source,
// with the recorded configuration, the same components and the same connectivity. Errors are those
// of Deploy, *NotDeployedError, *ReuseError and *ChangedSourceError.
func Redeploy(ctx context.Context, o RedeployOptions) (Result, error) {
	o.Common = o.defaulted()
	conn, err := cluster.Connect(ctx, o.Cluster)
	if err != nil {
		return Result{}, err
	}
	record, err := conn.Records().Get(ctx, o.Name, o.Namespace)
	if err != nil {
		return Result{}, err
	}
	if !record.Exists {
		return Result{}, &NotDeployedError{Name: o.Name, Namespace: o.Namespace}
	}
	again, err := o.again(record.Record)
	if err != nil {
		return Result{}, err
	}
	return Deploy(ctx, again)
}

// again turns what is on record into the deployment that it was.
func (o RedeployOptions) again(record state.Record) (DeployOptions, error) {
	if why := record.Package.ConfigUnknown(); why != "" {
		return DeployOptions{}, &ReuseError{Name: o.Name, Reason: why}
	}
	last, _ := record.Package.LastSuccessfulDeploy() // there is one: its configuration is known
	how := record.Own.Deployment
	if how == nil {
		return DeployOptions{}, &ReuseError{Name: o.Name, Reason: "which components were selected is not on record"}
	}
	source := o.Source
	if source == "" {
		source = last.Source
	}
	if source == "" {
		return DeployOptions{}, fmt.Errorf("redeploying package %q: where it came from is not on record: name it with --source", o.Name)
	}
	out := DeployOptions{
		Common: o.Common, Source: source, ReuseConfig: true, Connected: how.Connected,
		Components:    strings.Join(append([]string{"-*"}, how.Components...), ","),
		SkipUnchanged: o.SkipUnchanged,
		Layers: []config.Layer{{
			Origin: config.OriginFlag, Config: state.DeployConfig{NamespaceOverride: o.Namespace},
		}},
	}
	if record.Own.Identity.OriginalName != "" {
		out.ReleaseName = record.Package.Name
	}
	if !o.AllowChangedSource {
		out.Digest = last.Digest
	}
	return out, nil
}

// ChangedSourceError says that a package is not the one that was wanted.
type ChangedSourceError struct {
	Source        string
	Wanted, Found string
}

func (e *ChangedSourceError) Error() string {
	return fmt.Sprintf("the package at %s has digest %s, and %s was deployed", e.Source, e.Found, e.Wanted)
}

// Hint says what to do about it.
func (e *ChangedSourceError) Hint() string {
	return "--source names another place to find the deployed package; --allow-changed-source deploys what is there now"
}

// wantDigest refuses a package that is not the wanted one.
func (d *deployment) wantDigest() error {
	if d.Digest == "" || d.Digest == d.pkg.Digest() {
		return nil
	}
	err := &ChangedSourceError{Source: d.pkg.Source(), Wanted: d.Digest, Found: d.pkg.Digest()}
	return &PreflightError{Problems: []string{err.Error()}, Causes: []error{err}}
}
