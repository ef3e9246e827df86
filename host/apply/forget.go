package apply

import (
	"context"

	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/state"
)

// forgetForeign drops from the record the releases of a component that are another package's by now.
// Nothing of them is touched.
func (r *run) forgetForeign(ctx context.Context, component string) error {
	for _, foreign := range r.plan.Forgets(component) {
		r.say(event.Warn, "prune", component, "release %s belongs to %s: it is left alone, and leaves the record", foreign.Release, foreign.Owner)
		// Two writes, as after an uninstall: a note about a chart that no record names must not be left.
		if err := r.save(ctx, func(s *state.Record) { s.Own = s.Own.DropChart(foreign.Release) }); err != nil {
			return err
		}
		if err := r.save(ctx, func(s *state.Record) { s.Package = s.Package.DropChart(component, foreign.Release) }); err != nil {
			return err
		}
	}
	return nil
}
