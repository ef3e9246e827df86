package chart

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/release"

	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/object"
)

// RecoveryAction is what is done about a release that an interrupted run left.
type RecoveryAction string

// The ways to recover.
const (
	RecoveryNone      RecoveryAction = ""          // nothing was interrupted
	RecoveryReinstall RecoveryAction = "reinstall" // marked failed; the next Apply installs anew
	RecoveryRollback  RecoveryAction = "rollback"  // rolled back to the deployed revision
	RecoveryUpgrade   RecoveryAction = "upgrade"   // marked failed; the next Apply upgrades over it
	RecoveryUninstall RecoveryAction = "uninstall" // Uninstall finishes it, within what a plan lists
	RecoveryForeign   RecoveryAction = "foreign"   // interrupted, but not by us: left alone
)

// Recovery says what was, or is to be, recovered.
type Recovery struct {
	Release  object.Release
	Action   RecoveryAction
	Revision int    // the interrupted revision
	Status   string // and its status
	Target   int    // the revision that a rollback goes back to
	Kept     []object.Ref
}

// RecoverOptions tell what may be recovered, and how.
type RecoverOptions struct {
	// Recorded is the newest revision that we recorded before creating it; no other is touched.
	Recorded int
	// Keep are objects that a rollback must leave alone: all that the package is about to render,
	// in whatever release. The interrupted upgrade may have taken them over.
	Keep []object.Ref
	// OnRevision is called with the number of a revision before it is created.
	OnRevision func(revision int) error
	Timeout    time.Duration
	// DryRun only tells what would be done.
	DryRun bool
}

// AfterRecovery returns the history as Recover will leave it, and what it will do. recorded is as in
// RecoverOptions.
func (h History) AfterRecovery(recorded int) (History, Recovery) {
	r := Recovery{Release: h.Release}
	latest, ok := h.Latest()
	if !ok {
		return h, r
	}
	status := release.Status(latest.Status)
	if !status.IsPending() && status != release.StatusUninstalling {
		return h, r
	}
	r.Revision, r.Status = latest.Number, latest.Status
	if latest.Number != recorded {
		r.Action = RecoveryForeign
		return h, r
	}
	after := History{Release: h.Release, Revisions: slices.Clone(h.Revisions)}
	if status == release.StatusUninstalling {
		r.Action = RecoveryUninstall
		after.Revisions = nil
		return after, r
	}
	last := &after.Revisions[len(after.Revisions)-1]
	last.Status, last.Description = string(release.StatusFailed), markInterrupted(status, interruptedBefore)
	deployed, ok := h.Deployed()
	switch {
	case status == release.StatusPendingInstall && !h.EverDeployed():
		r.Action = RecoveryReinstall
	case !ok:
		r.Action = RecoveryUpgrade
	default:
		r.Action, r.Target = RecoveryRollback, deployed.Number
		for i := range after.Revisions {
			if after.Revisions[i].Status == string(release.StatusDeployed) {
				after.Revisions[i].Status = string(release.StatusSuperseded)
			}
		}
		deployed.Number = latest.Number + 1
		deployed.Description = rollbackDescription + strconv.Itoa(r.Target)
		after.Revisions = append(after.Revisions, deployed)
	}
	return after, r
}

// interruptedBefore describes a revision that an earlier run left pending.
const interruptedBefore = "an earlier run ended in the middle"

// Recover puts right what an interrupted run left of a release. Call it only while nobody else can
// be working on the release. Nothing is ever uninstalled: a release that was being uninstalled is
// left for Uninstall, since what goes with it has to be asked about.
func (c *Client) Recover(ctx context.Context, r object.Release, o RecoverOptions) (Recovery, error) {
	if err := c.canWrite(); err != nil {
		return Recovery{}, err
	}
	stored, err := c.stored(ctx, r)
	if err != nil {
		return Recovery{}, fmt.Errorf("recovering release %q: %w", r, err)
	}
	h, err := history(r, stored, c.scope(ctx))
	if err != nil {
		return Recovery{}, fmt.Errorf("recovering release %q: %w", r, err)
	}
	_, what := h.AfterRecovery(o.Recorded)
	if o.DryRun || what.Action == RecoveryNone || what.Action == RecoveryUninstall {
		return what, nil
	}
	if what.Action == RecoveryForeign {
		c.emit(event.Warn, r, "revision %d is %s and none of ours: it is left alone", what.Revision, what.Status)
		return what, nil
	}
	c.emit(event.Info, r, "recovering revision %d, which an interrupted run left %s: %s", what.Revision, what.Status, what.Action)
	// First of all: whatever becomes of the rest, the release can be upgraded from now on.
	pending := stored[len(stored)-1]
	pending.SetStatus(release.StatusFailed, markInterrupted(pending.Info.Status, interruptedBefore))
	if err := c.store(ctx, o.Timeout, r).Update(storageKey(r.Name, pending.Version), pending); err != nil {
		return what, fmt.Errorf("marking revision %d of release %q failed: %w", what.Revision, r, err)
	}
	if what.Action != RecoveryRollback {
		return what, nil
	}
	if o.OnRevision != nil {
		if err := o.OnRevision(what.Revision + 1); err != nil {
			return what, fmt.Errorf("recording that revision %d of release %q is about to be created: %w", what.Revision+1, r, err)
		}
	}
	err = c.rollBack(ctx, rollback{
		release:  r,
		to:       what.Target,
		revision: what.Revision + 1,
		keep:     o.Keep,
		timeout:  Wanted{Timeout: o.Timeout}.timeout(),
		journal:  func(op *operation) { op.kube.note(func(j *journal) { what.Kept = j.kept }) },
	})
	if err != nil {
		err = fmt.Errorf("rolling release %q back to revision %d: %w", r, what.Target, err)
	}
	return what, err
}

func (c *Client) store(ctx context.Context, timeout time.Duration, r object.Release) *store {
	return newStore(ctx, c.driver(r.Namespace), time.Now().Add(Wanted{Timeout: timeout}.timeout()))
}

// rollback is a release and the revision that it goes back to.
type rollback struct {
	release  object.Release
	to       int
	revision int // the revision that this creates
	keep     []object.Ref
	wait     bool
	timeout  time.Duration
	journal  func(*operation) // receives what was done
}

// rollBack makes an earlier revision's content the newest revision. What later revisions brought
// goes, less what may hold data; what has another owner by now is left alone.
func (c *Client) rollBack(ctx context.Context, r rollback) error {
	stored, err := c.stored(ctx, r.release)
	if err != nil {
		return err
	}
	h, err := history(r.release, stored, c.scope(ctx))
	if err != nil {
		return err
	}
	earlier, err := objectsSince(stored, h.since())
	if err != nil {
		return err
	}
	op, err := c.operate(ctx, r.release, rules{keep: keySet(r.keep), leaveForeign: true, earlier: earlier, hooks: h.hooks()}, r.timeout)
	if err != nil {
		return err
	}
	back := action.NewRollback(op.config)
	back.Version = r.to
	back.Wait = r.wait
	back.Timeout = r.timeout
	back.MaxHistory = maxHistory
	err = op.run(ctx, func(context.Context) error { return back.Run(r.release.Name) })
	if r.journal != nil {
		r.journal(op)
	}
	if err != nil && ctx.Err() != nil {
		c.closeAfter(ctx, r.release, r.revision)
	}
	return err
}
