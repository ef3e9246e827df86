package host

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zarf-host/zarf-host/host/chart"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/state"
)

// recovery puts right what interrupted runs of ours left, as a plan says. It needs the lease.
type recovery struct {
	client *chart.Client
	plan   plan.Plan
	own    state.Own
	common Common
	// save records a change before what it announces is done.
	save func(ctx context.Context, change func(*state.Record)) error
}

func (r recovery) run(ctx context.Context) error {
	var keep []object.Ref
	for _, p := range r.plan.Releases {
		keep = append(keep, slices.Concat(p.Added, p.Changed)...)
		for _, m := range p.Moved {
			keep = append(keep, m.Ref)
		}
	}
	var errs []error
	for _, left := range r.plan.Recovery {
		if r.goes(left.Release) {
			continue // its uninstall goes on when the plan comes to it, within what the plan lists
		}
		r.common.say(event.Info, "recover",
			fmt.Sprintf("release %s was left %s by an interrupted operation: %s", left.Release, left.Status, left.Action))
		if err := r.release(ctx, left.Release, keep); err != nil {
			errs = append(errs, fmt.Errorf("recovering release %s: %w", left.Release, err))
		}
	}
	return errors.Join(errs...)
}

func (r recovery) release(ctx context.Context, release object.Release, keep []object.Ref) error {
	_, err := r.client.Recover(ctx, release, chart.RecoverOptions{
		Recorded: r.own.Revision(release), Keep: keep, Timeout: r.common.Timeout,
		OnRevision: func(revision int) error {
			return r.save(ctx, func(s *state.Record) { s.Own = s.Own.SetRevision(release, revision) })
		},
	})
	return err
}

// goes reports whether the plan uninstalls a release, for good or to install it anew.
func (r recovery) goes(release object.Release) bool {
	return slices.ContainsFunc(r.plan.Prune.Releases, func(p plan.PruneRelease) bool { return p.Release == release }) ||
		slices.ContainsFunc(r.plan.Releases, func(p plan.Release) bool { return p.Release == release && p.Anew })
}
