package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/state"
)

const (
	// cancelBudget is how long everything that follows a cancellation may take together (SPEC 2).
	cancelBudget = 10 * time.Second
	// bookReserve is what is left of it when onFailure actions are stopped.
	bookReserve = time.Second
)

// ErrLeaseLost is the cause with which an operation's context is cancelled when its lease is lost:
// somebody else may be at work, so nothing more is written.
var ErrLeaseLost error = leaseLostError{}

type leaseLostError struct{}

func (leaseLostError) Error() string { return "the lease was lost" }

// Hint says what to do about it.
func (leaseLostError) Hint() string {
	return "somebody else may be at work on the package: once status shows no holder, run the same command again"
}

// Recorder writes the record of the package. It must work after the operation's context is done,
// because the outcome of a cancelled operation is recorded too.
type Recorder interface {
	Save(ctx context.Context, record state.Record) error
	Delete(ctx context.Context) error
}

// Releases installs and uninstalls Helm releases.
type Releases interface {
	// Install installs or upgrades a release as the step says. It calls onRevision with the number
	// of the revision that it is about to create, before it writes anything.
	Install(ctx context.Context, step plan.Release, onRevision func(int) error) (Installed, error)
	// Uninstall removes a release but leaves the objects in keep alive. Before it deletes anything
	// it calls beforeDelete with all objects that it will leave, and the newest revision, which is
	// the one that an interruption would leave.
	Uninstall(ctx context.Context, step plan.PruneRelease, keep []object.Ref, beforeDelete func(kept []object.Instance, revision int) error) (Uninstalled, error)
	// Discard deletes objects that upgrades of a release kept, and returns those that stay after all.
	Discard(ctx context.Context, release object.Release, objects []object.Instance) (kept []object.Ref, err error)
	// Close writes the status of a release whose installation was cut off by a cancellation.
	Close(ctx context.Context, release object.Release) error
}

// Steps does what a component needs beside its releases.
type Steps interface {
	Run(ctx context.Context, component spec.Component, set spec.ActionSet, actions []spec.Action) error
	PlaceFiles(ctx context.Context, component spec.Component) error
	// PushImages brings the images of a component to the cluster's registry.
	PushImages(ctx context.Context, component spec.Component) error
	WaitHealthy(ctx context.Context, objects []object.Ref) error
}

// Installed is what came of an installation.
type Installed struct {
	Revision       int
	ConnectStrings state.ConnectStrings
	Kept           []object.Ref // objects that it renders no more and that were left alive
}

// Uninstalled is what came of an uninstallation.
type Uninstalled struct {
	Gone bool         // there was no such release any more
	Kept []object.Ref // objects that were left alive
}

// Engine is what an operation works with.
type Engine struct {
	Recorder Recorder // nil when the operation needs no cluster
	Releases Releases
	Images   Images // nil where no image is pruned
	Steps    Steps
	Sink     event.Sink
	Now      func() time.Time
	// ClusterGone reports whether an error means that the cluster does not exist any more, which is
	// what a removal whose actions destroy it ends with. Nil means that it never does.
	ClusterGone func(ctx context.Context, err error) bool
}

// Result is what an operation did, whether it succeeded or not.
type Result struct {
	Outcome    state.EventOutcome
	Components []ComponentResult
	Releases   []ReleaseResult
	Images     []ImageResult // that were to be pruned
	Kept       []object.Ref
	Record     state.Record // as it was written last
}

// ComponentResult is what became of one component.
type ComponentResult struct {
	Name    string
	Outcome state.EventOutcome
	Pruned  bool
}

// ReleaseResult is what became of one release.
type ReleaseResult struct {
	object.Release
	Component string
	Outcome   state.EventOutcome
	Revision  int
	Pruned    bool
	Skipped   bool
}

// run is one operation while it is carried out.
type run struct {
	Engine
	plan   plan.Plan
	record state.Record
	result Result
	// books is for writing down what became of the work, late for what a failure asks for: both live
	// on for a while when the operation's context is done.
	books, late context.Context
	// acted is true once an onRemove action ran; gone once the cluster was gone after that, with its
	// releases and the record.
	acted, gone bool
	removing    bool
	forgotten   bool // the record is deleted
}

// begin starts an operation. The caller calls end when it is over.
func (e Engine) begin(ctx context.Context, p plan.Plan, record state.Record) (r *run, end func()) {
	books, endBooks := outliving(ctx, cancelBudget)
	late, endLate := outliving(ctx, cancelBudget-bookReserve)
	r = &run{Engine: e, plan: p, record: record, books: books, late: late}
	r.result.Record = record
	return r, func() { endLate(); endBooks() }
}

// outliving returns a context that ends some time after ctx.
func outliving(ctx context.Context, by time.Duration) (context.Context, func()) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(by)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-longer.Done():
		}
	})
	return longer, func() { stop(); cancel() }
}

func (r *run) say(level event.Level, step, component, format string, args ...any) {
	r.Sink.Emit(event.Event{Level: level, Step: step, Component: component, Message: fmt.Sprintf(format, args...)})
}

// note records what became of some work, also when the operation was cancelled meanwhile: what was
// done was done. After the lease was lost it is the successor's to say.
func (r *run) note(ctx context.Context, change func(*state.Record)) error {
	if leaseLost(ctx) {
		return context.Cause(ctx)
	}
	return r.save(r.books, change)
}

// save writes a changed package record, unless ctx is over: what is not to be begun any more needs no
// record.
func (r *run) save(ctx context.Context, change func(*state.Record)) error {
	if r.Recorder == nil || r.gone {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	next := r.record
	change(&next)
	if err := r.Recorder.Save(ctx, next); err != nil {
		return fmt.Errorf("recording package %q: %w", next.Package.Name, err)
	}
	r.record = next
	r.result.Record = next
	return nil
}

// outcome says how an attempt that ended with err is recorded.
func outcome(ctx context.Context, err error) state.EventOutcome {
	switch {
	case err == nil:
		return state.Succeeded
	case leaseLost(ctx):
		return state.Failed // nobody cancelled it; what is recorded is the successor's to say
	case ctx.Err() != nil:
		return state.Cancelled
	default:
		return state.Failed
	}
}

// leaseLost reports whether the operation ended because its lease was lost.
func leaseLost(ctx context.Context) bool {
	return errors.Is(context.Cause(ctx), ErrLeaseLost)
}

// failure runs what a failing component asks for and records the outcome of the component. On a
// cancellation the records come first, that of the whole attempt too, because the actions may use up
// what time is left.
func (r *run) failure(ctx context.Context, component spec.Component, set spec.ActionSet, was state.Status, err error) error {
	if leaseLost(ctx) {
		return err
	}
	how := outcome(ctx, err)
	record := func() error {
		return r.note(ctx, func(s *state.Record) {
			s.Package = s.Package.FinishComponent(component.Name, how, r.Now(), was)
			if how == state.Cancelled {
				s.Package = s.Package.Finish(how, r.Now(), nil)
			}
		})
	}
	actions := func() {
		if len(set.OnFailure) == 0 {
			return
		}
		if failed := r.Steps.Run(r.late, component, set, set.OnFailure); failed != nil {
			r.say(event.Warn, "action", component.Name, "onFailure of component %q failed too: %v", component.Name, failed)
		}
	}
	if how != state.Cancelled {
		actions()
		return errors.Join(err, record())
	}
	recorded := record()
	actions()
	return errors.Join(err, recorded)
}

// finish records the outcome of the whole operation; d is nil for a removal.
func (r *run) finish(ctx context.Context, err error, d *Deployment) error {
	r.result.Outcome = outcome(ctx, err)
	if latest, _ := r.record.Package.LatestEvent(); leaseLost(ctx) || r.result.Outcome == state.Cancelled && latest.Outcome == state.Cancelled {
		return err // it is the successor's to say, or on record already
	}
	record := func(how state.EventOutcome) error {
		r.result.Outcome = how
		return r.note(ctx, func(s *state.Record) {
			if d == nil {
				s.Package = s.Package.Finish(how, r.Now(), nil)
				return
			}
			s.Package = s.Package.Finish(how, r.Now(), &d.Config)
			if how == state.Succeeded {
				d.succeeded(s)
			}
		})
	}
	saved := record(r.result.Outcome)
	if err == nil && saved != nil && !leaseLost(ctx) {
		// A success that is not on record is none; perhaps that can be written.
		if again := record(state.Failed); again != nil {
			r.say(event.Warn, "record", "", "the attempt stays on record as in progress until the next one closes it: %v", again)
		}
	}
	return errors.Join(err, saved)
}

// tearDown uninstalls releases of one component and drops them from the record one by one, so that
// a repeat goes on where this stopped. When the component goes as a whole, its onRemove actions run
// around that, and it leaves the record.
func (r *run) tearDown(ctx context.Context, component spec.Component, whole bool, releases []plan.PruneRelease) error {
	set := component.Actions.OnRemove
	was := state.StatusSucceeded
	if has, ok := r.record.Package.Component(component.Name); ok {
		was = has.Status
	}
	err := func() error {
		if whole {
			if err := r.save(ctx, func(s *state.Record) {
				s.Package = s.Package.BeginComponent(component.Name, state.Remove, r.Now())
			}); err != nil {
				return err
			}
			if err := r.act(ctx, component, set, set.Before); err != nil {
				return err
			}
		}
		for _, release := range releases {
			if err := r.survive(ctx, r.uninstall(ctx, release)); err != nil {
				return err
			}
		}
		if !whole {
			return nil
		}
		if err := r.act(ctx, component, set, set.After); err != nil {
			return err
		}
		return r.act(ctx, component, set, set.OnSuccess)
	}()
	if err == nil && whole {
		err = r.survive(ctx, r.note(ctx, func(s *state.Record) { s.Package = s.Package.DropComponent(component.Name) }))
	}
	if whole {
		r.result.Components = append(r.result.Components, ComponentResult{Name: component.Name, Outcome: outcome(ctx, err), Pruned: true})
	}
	if err == nil {
		return nil
	}
	err = fmt.Errorf("removing component %q: %w", component.Name, err)
	if !whole {
		return err
	}
	return r.failure(ctx, component, set, was, err)
}

// act runs onRemove actions.
func (r *run) act(ctx context.Context, component spec.Component, set spec.ActionSet, actions []spec.Action) error {
	r.acted = r.acted || len(actions) > 0
	return r.Steps.Run(ctx, component, set, actions)
}

// survive turns an error into none if it is that an action of this removal took the whole cluster
// away: what the cluster had is gone too, and the rest of the removal goes on without it.
func (r *run) survive(ctx context.Context, err error) error {
	if err == nil || !r.acted || r.gone || ctx.Err() != nil || r.ClusterGone == nil || !r.ClusterGone(ctx, err) {
		return err
	}
	r.gone = true
	r.say(event.Warn, "remove", "", "the cluster is gone since an action of this removal ran: what was in it is taken as removed")
	return nil
}

func (r *run) uninstall(ctx context.Context, release plan.PruneRelease) error {
	if r.gone {
		return nil
	}
	done, err := r.clear(ctx, release)
	r.result.Releases = append(r.result.Releases, ReleaseResult{
		Release: release.Release, Component: release.Component, Outcome: outcome(ctx, err), Pruned: true,
	})
	if err != nil {
		return err
	}
	if done.Gone {
		r.say(event.Warn, "prune", release.Component, "release %s is gone already", release.Release)
	}
	// In this order, and each in a write of its own: what is left after the first is a chart that is
	// gone, which a repeat finds out, and not a note about a chart that no record names.
	if err := r.note(ctx, func(s *state.Record) { s.Own = s.Own.DropChart(release.Release) }); err != nil {
		return err
	}
	return r.note(ctx, func(s *state.Record) {
		s.Package = s.Package.DropChart(release.Component, release.Release)
	})
}

// clear uninstalls a release, less what the plan keeps and what else is to stay.
func (r *run) clear(ctx context.Context, release plan.PruneRelease, stays ...object.Ref) (Uninstalled, error) {
	if err := r.discard(ctx, release.Release); err != nil {
		return Uninstalled{}, err
	}
	keep := slices.Concat(r.plan.KeptIn(release.Release), stays)
	done, err := r.Releases.Uninstall(ctx, release, keep, func(kept []object.Instance, revision int) error {
		if len(kept) == 0 && r.record.Own.Revision(release.Release) == revision {
			return nil
		}
		return r.save(ctx, func(s *state.Record) {
			// Only a revision that is recorded may be recovered: Zarf may have made this one.
			s.Own = s.Own.SetRevision(release.Release, revision).Keep(release.Release, kept...)
		})
	})
	r.kept(slices.DeleteFunc(slices.Clone(done.Kept), func(ref object.Ref) bool { return slices.Contains(stays, ref) })...)
	return done, err
}

// kept adds objects to what the result says was kept.
func (r *run) kept(objects ...object.Ref) {
	for _, ref := range objects {
		if !slices.Contains(r.result.Kept, ref) {
			r.result.Kept = append(r.result.Kept, ref)
		}
	}
}

// gone returns the releases of a component that the plan uninstalls, in the plan's order.
func gone(p plan.Plan, component string) []plan.PruneRelease {
	return slices.DeleteFunc(slices.Clone(p.Prune.Releases), func(r plan.PruneRelease) bool { return r.Component != component })
}
