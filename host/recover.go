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
	}
	var errs []error
	for _, left := range r.plan.Recovery {
		if r.goes(left.Release) {
			continue // its uninstall goes on when the plan prunes it, within what the plan lists
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
	done, err := r.client.Recover(ctx, release, chart.RecoverOptions{
		Recorded: r.own.Revision(release), Keep: keep, Timeout: r.common.Timeout,
		OnRevision: func(revision int) error {
			return r.save(ctx, func(s *state.Record) { s.Own = s.Own.SetRevision(release, revision) })
		},
		Uninstall: chart.UninstallOptions{
			Timeout: r.common.Timeout,
			// What may hold data stays, and the release that is installed next may have it again.
			BeforeDelete: func(kept []object.Ref) error {
				if len(kept) == 0 {
					return nil
				}
				return r.save(ctx, func(s *state.Record) { s.Own = s.Own.Keep(release, kept...) })
			},
		},
	})
	if err != nil || done.Action != chart.RecoveryUninstall || r.installs(release) {
		return err
	}
	if err := r.save(ctx, func(s *state.Record) { s.Own = s.Own.DropChart(release) }); err != nil {
		return err
	}
	return r.save(ctx, func(s *state.Record) {
		for _, c := range s.Package.DeployedComponents {
			s.Package = s.Package.DropChart(c.Name, release)
		}
	})
}

func (r recovery) goes(release object.Release) bool {
	return slices.ContainsFunc(r.plan.Prune.Releases, func(p plan.PruneRelease) bool { return p.Release == release })
}

func (r recovery) installs(release object.Release) bool {
	return slices.ContainsFunc(r.plan.Releases, func(p plan.Release) bool { return p.Release == release })
}
