package apply

import (
	"context"
	"slices"

	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/state"
)

// formers deletes what earlier operations kept of releases that do not go now, as far as the plan lists
// it, and tells what stays.
func (r *run) formers(ctx context.Context) error {
	var of []object.Release
	for _, k := range r.record.Own.Kept {
		if !slices.Contains(of, k.Release) {
			of = append(of, k.Release)
		}
	}
	for _, release := range of {
		if err := r.discard(ctx, release); err != nil {
			return err
		}
	}
	for _, k := range r.plan.Prune.Kept {
		if k.Object != nil && r.record.Own.Keeps(object.Instance{Ref: *k.Object, UID: k.UID}) {
			r.kept(*k.Object)
		}
	}
	return nil
}

// discard deletes what earlier operations kept of a release, as far as the plan lists it.
func (r *run) discard(ctx context.Context, release object.Release) error {
	var objects []object.Instance
	for _, o := range r.plan.Formers(release) {
		if r.record.Own.Keeps(o) { // it has not gone with its release before
			objects = append(objects, o)
		}
	}
	if len(objects) == 0 {
		return nil
	}
	kept, err := r.Releases.Discard(ctx, release, objects)
	r.kept(kept...)
	if err != nil {
		return err
	}
	return r.note(ctx, func(s *state.Record) {
		for _, o := range objects {
			if !slices.Contains(kept, o.Ref) {
				s.Own = s.Own.Forget(o.Ref)
			}
		}
	})
}
