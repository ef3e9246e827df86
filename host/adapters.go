package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/zarf-host/zarf-host/host/apply"
	"github.com/zarf-host/zarf-host/host/chart"
	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/state"
)

// recorder writes a record through the cluster, remembering what the next write is checked against.
type recorder struct {
	records *cluster.Records
	current cluster.Record
	version string // written as the record's cliVersion
}

func (r *recorder) Save(ctx context.Context, record state.Record) error {
	next := r.current
	next.Record = record
	next.Package.CLIVersion = r.version
	saved, err := r.records.Write(ctx, next)
	// Also beside an error: it knows then what a write without an answer may have left.
	r.current = saved
	return err
}

func (r *recorder) Delete(ctx context.Context) error { return r.records.Delete(ctx, r.current) }

// releases installs and uninstalls through Helm, within what the confirmed plan allows.
type releases struct {
	client        *chart.Client
	plan          plan.Plan
	wanted        map[object.Release]release
	revisions     map[object.Release]int // created by this operation
	own           state.Own              // as the operation found it
	allowDataLoss bool
	timeout       Common
}

func (r *releases) Install(ctx context.Context, step plan.Release, onRevision func(int) error) (apply.Installed, error) {
	w, err := r.wanted[step.Release].wanted()
	if err != nil {
		return apply.Installed{}, err
	}
	keep, err := r.unplanned(ctx, w)
	if err != nil {
		return apply.Installed{}, err
	}
	if err := r.replace(ctx, step); err != nil {
		return apply.Installed{}, err
	}
	adopt := map[object.Key]string{}
	for _, m := range step.Moved {
		adopt[m.Key()] = m.UID
	}
	done, err := r.client.Apply(ctx, w, chart.ApplyOptions{
		Keep:          append(keep, r.plan.KeptIn(step.Release)...),
		AllowDataLoss: r.allowDataLoss,
		Adopt:         adopt,
		Replace:       step.Replace,
		OnRevision: func(revision int) error {
			r.revisions[step.Release] = revision
			return onRevision(revision)
		},
	})
	return apply.Installed{Revision: done.Revision, ConnectStrings: done.ConnectStrings, Kept: done.Kept},
		errors.Join(err, failedDeletes(done.FailedDeletes))
}

// replace deletes what the release renders anew and cannot change.
func (r *releases) replace(ctx context.Context, step plan.Release) error {
	var old []object.Instance
	for _, o := range step.Replaced {
		old = append(old, object.Instance{Ref: o.Ref, UID: o.UID})
		r.timeout.say(event.Info, "chart", fmt.Sprintf("deleting %s of release %s, which cannot be changed, to install it anew", o.Ref, o.From))
	}
	return r.client.Delete(ctx, old, r.timeout.Timeout)
}

// unplanned returns the objects that the release has, renders no more and that the confirmed plan
// does not delete: variables that actions set may render something else than the plan saw, and an
// object may be on its way to another release.
func (r *releases) unplanned(ctx context.Context, w chart.Wanted) ([]object.Ref, error) {
	history, err := r.client.History(ctx, w.Release)
	if err != nil {
		return nil, err
	}
	listed := r.listed(w.Release)
	var keep []object.Ref
	for _, o := range history.ObjectsSinceDeployed() {
		if !listed[o.Key()] {
			keep = append(keep, o.Ref)
		}
	}
	return keep, nil
}

// listed are the objects of a release that the confirmed plan deletes.
func (r *releases) listed(release object.Release) map[object.Key]bool {
	out := map[object.Key]bool{}
	for _, o := range r.plan.Prune.Objects {
		if o.Release == release.String() {
			out[o.Key()] = true
		}
	}
	return out
}

func (r *releases) Uninstall(ctx context.Context, step plan.PruneRelease, keep []object.Ref, beforeDelete func([]object.Instance, int) error) (apply.Uninstalled, error) {
	listed := r.listed(step.Release)
	history, err := r.client.History(ctx, step.Release)
	if err != nil {
		return apply.Uninstalled{}, err
	}
	newest, _ := history.Latest()
	done, err := r.client.Uninstall(ctx, step.Release, chart.UninstallOptions{
		Keep:          keep,
		Former:        r.own.KeptOf(step.Release),
		KeepOther:     func(live object.Live) bool { return !listed[live.Key()] },
		AllowDataLoss: true, // the plan decided, and lists what goes
		NoHooks:       r.timeout.NoUninstallHooks,
		Timeout:       r.timeout.Timeout,
		BeforeDelete:  func(kept []object.Instance) error { return beforeDelete(kept, newest.Number) },
	})
	return apply.Uninstalled{Gone: done.Gone, Kept: done.Kept}, errors.Join(err, failedDeletes(done.FailedDeletes))
}

func (r *releases) Discard(ctx context.Context, release object.Release, objects []object.Instance) ([]object.Ref, error) {
	done, err := r.client.Discard(ctx, release, objects, r.timeout.Timeout)
	return done.Kept, errors.Join(err, failedDeletes(done.FailedDeletes))
}

func (r *releases) Close(ctx context.Context, release object.Release) error {
	revision, ok := r.revisions[release]
	if !ok {
		return nil // nothing was written
	}
	return r.client.CloseRelease(ctx, release, revision, "cancelled")
}

func failedDeletes(failed []chart.FailedDelete) error {
	var errs []error
	for _, f := range failed {
		errs = append(errs, fmt.Errorf("deleting %s: %w", f.Ref, f.Err))
	}
	return errors.Join(errs...)
}
