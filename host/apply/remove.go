package apply

import (
	"context"
	"slices"

	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/state"
)

// Removal is a confirmed removal. Record is what is in the cluster, with the attempt's event not
// begun yet.
type Removal struct {
	Plan       plan.Plan
	Definition spec.Package // the definitions whose onRemove actions run
	Record     state.Record
	Event      state.PackageEvent
	// Inherited are the references that earlier deployments pushed and the record does not list. The
	// definitions that name them go before the images do.
	Inherited []state.PushedImage
}

// Remove carries a removal out, last deployed component first. Each component leaves the record when
// it is gone, and the record goes with the last one, so that a repeat continues where this stopped.
func (e Engine) Remove(ctx context.Context, m Removal) (Result, error) {
	r, end := e.begin(ctx, m.Plan, m.Record)
	defer end()
	r.removing = true
	if err := r.note(ctx, func(s *state.Record) {
		s.Own = s.Own.Push(m.Inherited...)
		s.Package = s.Package.Begin(m.Event)
	}); err != nil {
		r.result.Outcome = outcome(ctx, err)
		return r.result, err
	}
	err := r.removals(ctx, m)
	if err == nil {
		err = r.pruneImages(ctx)
	}
	if err == nil && (r.gone && r.Recorder != nil || r.nothingLeft()) {
		if !r.forgotten {
			err = r.survive(ctx, r.forget(ctx))
		}
		if err == nil {
			r.result.Outcome = state.Succeeded
			return r.result, nil
		}
	}
	err = r.finish(ctx, err, nil)
	return r.result, err
}

// nothingLeft reports whether this is the end of a removal that leaves no component on record.
func (r *run) nothingLeft() bool {
	return r.removing && r.Recorder != nil && len(r.record.Package.DeployedComponents) == 0
}

// forget deletes the record, when nothing of the package is left.
func (r *run) forget(ctx context.Context) error {
	if leaseLost(ctx) {
		return context.Cause(ctx)
	}
	if r.gone {
		return nil
	}
	return r.Recorder.Delete(r.books)
}

func (r *run) removals(ctx context.Context, m Removal) error {
	for _, step := range m.Plan.Components {
		if step.Action != plan.ComponentRemove {
			continue
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := r.forgetForeign(ctx, step.Name); err != nil {
			return err
		}
		component := m.definition(r.record, step.Name)
		has, _ := r.record.Package.Component(step.Name)
		if err := r.tearDown(ctx, component, !keepsSome(m.Plan, has), gone(m.Plan, step.Name)); err != nil {
			return err
		}
	}
	return r.formers(ctx)
}

func (m Removal) definition(record state.Record, name string) spec.Component {
	i := slices.IndexFunc(m.Definition.Components, func(c spec.Component) bool { return c.Name == name })
	if i >= 0 {
		return m.Definition.Components[i]
	}
	if c, ok := record.Package.Definition(name); ok {
		return c
	}
	return spec.Component{Name: name}
}
