package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/state"
)

// Deployment is a confirmed deployment. Record is what is in the cluster, with the attempt's event
// not begun yet.
type Deployment struct {
	Plan       plan.Plan
	Definition spec.Package // the whole definition
	Selected   []string
	Record     state.Record
	Event      state.PackageEvent
	Config     state.DeployConfig
	// Inherited are the references that earlier deployments pushed and the record does not list.
	Inherited []state.PushedImage
	// Identity tells the package from others of its name.
	Identity state.Identity
	// Accepted are the collisions that it goes on with.
	Accepted []state.Acceptance
	// SkipUnchanged leaves out releases that the plan found unchanged.
	SkipUnchanged bool
	// Finally runs after apply and prune and before the success is recorded; its error makes the
	// deployment a failed one. It asks the post-deploy hooks.
	Finally func(ctx context.Context, result Result) error
}

// Deploy carries a deployment out, component by component, and then prunes what its plan lists. The
// result says what was done also when there is an error.
func (e Engine) Deploy(ctx context.Context, d Deployment) (Result, error) {
	r, end := e.begin(ctx, d.Plan, d.Record)
	defer end()
	if err := r.announce(ctx, d); err != nil {
		r.result.Outcome = outcome(ctx, err)
		return r.result, err
	}
	err := r.components(ctx, d)
	if err == nil {
		err = r.prune(ctx)
	}
	if err == nil {
		err = r.pruneImages(ctx)
	}
	if err == nil && d.Finally != nil {
		err = d.Finally(ctx, r.result)
	}
	err = r.finish(ctx, err, &d)
	return r.result, err
}

// announce records the attempt. What it is going to push is on record before the definition changes:
// from then on it may be that nothing else tells what an interrupted run pushed.
func (r *run) announce(ctx context.Context, d Deployment) error {
	if len(r.record.Package.Data.Components) > 0 && len(d.pushed()) > 0 {
		if err := r.note(ctx, func(s *state.Record) { s.Own = s.Own.Push(d.pushed()...) }); err != nil {
			return err
		}
	}
	return r.note(ctx, d.begun)
}

// pushed are the references that earlier deployments wrote to the registry and that this one may
// write. One whose host is the registry itself may be somebody else's.
func (d Deployment) pushed() []state.PushedImage {
	out := slices.Clone(d.Inherited)
	for _, img := range d.Plan.Images {
		if img.Identity {
			continue
		}
		for _, reference := range []string{img.Target, img.Plain} {
			out = append(out, state.PushedImage{
				Reference: reference, Digest: img.Digest, Bytes: img.Bytes, Version: d.Event.Version,
			})
		}
	}
	return out
}

// begun makes of a record that of the attempt that begins.
func (d Deployment) begun(s *state.Record) {
	s.Own = s.Own.Push(d.pushed()...)
	s.Own.Identity, s.Own.Accepted = d.Identity, d.Accepted
	s.Package.Digest = d.Event.Digest
	s.Package.Connectivity = state.Airgap
	if d.Plan.Package.Connected {
		s.Package.Connectivity = state.Connected
	}
	s.Package = s.Package.Define(d.Definition, d.Selected...).Begin(d.Event)
}

// from is the package, as what runs of it remembers it.
func (d Deployment) from() state.From {
	return state.From{
		Version: d.Event.Version, Digest: d.Event.Digest, Flavor: d.Event.Flavor, Architecture: d.Plan.Package.Architecture,
	}
}

// succeeded adds to a record what a successful deployment leaves for the next one.
func (d Deployment) succeeded(s *state.Record) {
	s.Own.MadeUp = s.Own.MadeUp && slices.ContainsFunc(s.Package.DeployedComponents, func(c state.Component) bool {
		return !slices.Contains(d.Selected, c.Name) // of the others the definition is known now
	})
	s.Own.Deployment = &state.Deployment{Components: d.Selected, Connected: d.Plan.Package.Connected}
}

func (r *run) components(ctx context.Context, d Deployment) error {
	for _, component := range d.Definition.Components {
		if !slices.Contains(d.Selected, component.Name) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := r.component(ctx, component, d); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) component(ctx context.Context, component spec.Component, d Deployment) error {
	r.say(event.Info, "component", component.Name, "deploying component %q", component.Name)
	var was state.Status
	if has, ok := r.record.Package.Component(component.Name); ok {
		was = has.Status
	}
	steps := releasesOf(r.plan, component.Name)
	err := r.save(ctx, func(s *state.Record) {
		s.Package = s.Package.BeginComponent(component.Name, state.Deploy, r.Now(), intended(r.plan, component.Name)...)
	})
	if err == nil {
		err = r.install(ctx, component, steps, d.SkipUnchanged)
	}
	if err == nil {
		err = r.note(ctx, func(s *state.Record) {
			s.Package = s.Package.FinishComponent(component.Name, state.Succeeded, r.Now(), was)
			s.Own = s.Own.Runs(component.Name, d.from())
		})
	}
	r.result.Components = append(r.result.Components, ComponentResult{Name: component.Name, Outcome: outcome(ctx, err)})
	if err == nil {
		return nil
	}
	err = fmt.Errorf("deploying component %q: %w", component.Name, err)
	return r.failure(ctx, component, component.Actions.OnDeploy, was, err)
}

// install does the work of one component in Zarf's order.
func (r *run) install(ctx context.Context, component spec.Component, steps []plan.Release, skipUnchanged bool) error {
	set := component.Actions.OnDeploy
	if err := r.Steps.Run(ctx, component, set, set.Before); err != nil {
		return err
	}
	if err := r.Steps.PlaceFiles(ctx, component); err != nil {
		return err
	}
	if err := r.Steps.PushImages(ctx, component); err != nil {
		return err
	}
	for _, step := range steps {
		if skipUnchanged && step.Action == plan.ReleaseUnchanged {
			r.say(event.Info, "chart", component.Name, "release %s is unchanged: skipped", step.Release)
			r.result.Releases = append(r.result.Releases, ReleaseResult{
				Release: step.Release, Component: component.Name, Outcome: state.Succeeded, Skipped: true,
			})
			continue
		}
		if err := r.release(ctx, component, step); err != nil {
			return err
		}
	}
	if err := r.Steps.Run(ctx, component, set, set.After); err != nil {
		return err
	}
	planned, _ := r.plan.Step(component.Name)
	if len(planned.Health) > 0 {
		if err := r.Steps.WaitHealthy(ctx, planned.Health); err != nil {
			return fmt.Errorf("waiting for health checks: %w", err)
		}
	}
	return r.Steps.Run(ctx, component, set, set.OnSuccess)
}

func (r *run) release(ctx context.Context, component spec.Component, step plan.Release) error {
	if step.Anew {
		if err := r.finishUninstall(ctx, step); err != nil {
			return err
		}
	}
	done, err := r.Releases.Install(ctx, step, func(revision int) error {
		return r.save(ctx, func(s *state.Record) {
			s.Own = s.Own.SetRevision(step.Release, revision)
			s.Own = s.Own.Keep(step.Release, slices.Concat(r.plan.KeptOf(step.Release), r.onTheirWay(step.Release))...)
		})
	})
	how := outcome(ctx, err)
	r.result.Releases = append(r.result.Releases, ReleaseResult{
		Release: step.Release, Component: component.Name, Outcome: how, Revision: done.Revision,
	})
	if leaseLost(ctx) {
		return err
	}
	if how == state.Cancelled {
		if closed := r.Releases.Close(r.books, step.Release); closed != nil {
			err = errors.Join(err, fmt.Errorf("recording that release %s was cancelled: %w", step.Release, closed))
		}
	}
	r.kept(done.Kept...)
	chart := state.Chart{Namespace: step.Namespace, Name: step.Name, Status: state.StatusSucceeded, ConnectStrings: done.ConnectStrings}
	if err != nil {
		chart.Status = state.StatusFailed
	}
	saved := r.note(ctx, func(s *state.Record) {
		s.Package = s.Package.SetChart(component.Name, chart)
		if err == nil {
			// What was kept and it renders again. Before it has them, only the record knows of them.
			s.Own = s.Own.Forget(slices.Concat(step.Changed, refs(step.Moved))...)
		}
	})
	return errors.Join(err, saved)
}

// onTheirWay are the objects that a release is about to lose to another one that is installed later: in
// between only the record knows of them.
func (r *run) onTheirWay(from object.Release) []object.Instance {
	var out []object.Instance
	at := slices.IndexFunc(r.plan.Releases, func(s plan.Release) bool { return s.Release == from })
	for _, later := range r.plan.Releases[at+1:] {
		for _, m := range later.Moved {
			if m.From == from {
				out = append(out, object.Instance{Ref: m.Ref, UID: m.UID})
			}
		}
	}
	return out
}

// finishUninstall ends the uninstall that an interrupted operation began, before the release is
// installed again: what the release renders stays and is taken over by the new one.
func (r *run) finishUninstall(ctx context.Context, step plan.Release) error {
	var stays []object.Ref
	for _, m := range step.Moved {
		if m.From == step.Release {
			stays = append(stays, m.Ref)
		}
	}
	gone := plan.PruneRelease{Release: step.Release, Component: step.Component, Reason: plan.PruneInterrupted}
	if _, err := r.clear(ctx, gone, stays...); err != nil {
		return fmt.Errorf("finishing what an interrupted operation began: %w", err)
	}
	return nil
}

func refs(moves []plan.Move) []object.Ref {
	out := make([]object.Ref, len(moves))
	for i, m := range moves {
		out[i] = m.Ref
	}
	return out
}

// prune removes what the plan lists, components last deployed first, and forgets charts that moved
// to another component.
func (r *run) prune(ctx context.Context) error {
	if err := r.formers(ctx); err != nil {
		return err
	}
	for _, has := range slices.Backward(slices.Clone(r.record.Package.DeployedComponents)) {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := r.forgetMoved(ctx, has); err != nil {
			return err
		}
		if err := r.forgetForeign(ctx, has.Name); err != nil {
			return err
		}
		step, planned := r.plan.Step(has.Name)
		releases := gone(r.plan, has.Name)
		whole := planned && step.Action == plan.ComponentPrune && !keepsSome(r.plan, has)
		if !whole && len(releases) == 0 {
			continue
		}
		component, ok := r.record.Package.Definition(has.Name)
		if !ok {
			component = spec.Component{Name: has.Name}
		}
		if err := r.tearDown(ctx, component, whole, releases); err != nil {
			return err
		}
	}
	return nil
}

// keepsSome reports whether a release of the component stays, so that the component must stay
// recorded and its onRemove actions must not run.
func keepsSome(p plan.Plan, has state.Component) bool {
	return slices.ContainsFunc(has.InstalledCharts, func(c state.Chart) bool { return p.KeepsRelease(c.Release()) })
}

// forgetMoved drops from a component's record the charts that another component installs now.
func (r *run) forgetMoved(ctx context.Context, has state.Component) error {
	for _, chart := range has.InstalledCharts {
		moved := slices.ContainsFunc(r.plan.Releases, func(s plan.Release) bool {
			return s.Release == chart.Release() && s.Component != has.Name
		})
		if !moved {
			continue
		}
		if err := r.save(ctx, func(s *state.Record) {
			s.Package = s.Package.DropChart(has.Name, chart.Release())
		}); err != nil {
			return err
		}
	}
	return nil
}

func releasesOf(p plan.Plan, component string) []plan.Release {
	return slices.DeleteFunc(slices.Clone(p.Releases), func(r plan.Release) bool { return r.Component != component })
}

// intended are the releases that a component is about to have.
func intended(p plan.Plan, component string) []object.Release {
	steps := releasesOf(p, component)
	out := make([]object.Release, len(steps))
	for i, s := range steps {
		out[i] = s.Release
	}
	return out
}
