package host

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/chart"
	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/state"
	"github.com/zarf-host/zarf-host/host/template"
)

// observer gathers the facts about releases and objects that a plan is made from.
type observer struct {
	client  *chart.Client
	own     state.Own
	facts   *plan.Facts
	refs    map[object.Key]object.Ref
	docs    map[object.Key]chart.Document // what is rendered, by what it is
	crds    []object.Ref
	noHooks bool // uninstalls run no hooks
	// refused, if set, takes the refusals of reads that are not to end the observation.
	refused *reads
}

func newObserver(client *chart.Client, own state.Own, facts *plan.Facts) *observer {
	facts.Releases = map[object.Release]plan.ReleaseFacts{}
	facts.Live = map[object.Key]object.Live{}
	facts.Lost = map[object.Key][]object.Ref{}
	return &observer{client: client, own: own, facts: facts, refs: map[object.Key]object.Ref{}, docs: map[object.Key]chart.Document{}}
}

// release reads what Helm has stored of a release, as recovery will leave it.
func (o *observer) release(ctx context.Context, r object.Release) (chart.History, error) {
	history, err := o.client.History(ctx, r)
	if err = o.refused.unless(err); err != nil {
		return history, fmt.Errorf("reading release %s: %w", r, err)
	}
	if _, known := o.facts.Releases[r]; known {
		return history, nil
	}
	after, recovery := history.AfterRecovery(o.own.Revision(r))
	has := plan.ReleaseFacts{
		Exists: history.Exists(), EverDeployed: after.EverDeployed(), Package: history.Package(),
		Override:     history.Override(),
		Uninstalling: recovery.Action == chart.RecoveryUninstall,
	}
	switch recovery.Action {
	case chart.RecoveryNone:
	case chart.RecoveryForeign:
		has.Busy = plan.Busy{Revision: recovery.Revision, Status: recovery.Status}
		o.facts.Warnings = append(o.facts.Warnings, fmt.Sprintf(
			"release %s is %s at revision %d, which no operation of zarf-host recorded: recovery leaves it alone",
			r, recovery.Status, recovery.Revision))
	default:
		o.facts.Recovery = append(o.facts.Recovery, plan.Recovery{
			Release: r, Revision: recovery.Revision, Status: recovery.Status, Action: recoveryText(recovery, !o.noHooks && len(history.UninstallHooks()) > 0),
		})
	}
	has.Revisions, has.UninstallHooks = len(history.Revisions), history.UninstallHooks()
	if o.noHooks {
		for _, hook := range has.UninstallHooks {
			o.want(hook)
		}
	}
	for _, d := range history.ObjectsSinceDeployed() {
		has.Objects = append(has.Objects, plan.Rendered{Ref: d.Ref, Keep: d.Keep()})
		o.want(d.Ref)
	}
	o.facts.Releases[r] = has
	return after, nil
}

func recoveryText(r chart.Recovery, hooks bool) string {
	switch r.Action {
	case chart.RecoveryReinstall:
		return "mark the interrupted installation failed and install it again"
	case chart.RecoveryRollback:
		return fmt.Sprintf("roll back to revision %d", r.Target)
	case chart.RecoveryUpgrade:
		return "mark the interrupted upgrade failed and upgrade over it"
	case chart.RecoveryUninstall:
		if hooks {
			return "finish uninstalling it, within what this plan lists; its uninstall hooks run again, and --no-hooks leaves them out"
		}
		return "finish uninstalling it, within what this plan lists"
	default:
		return string(r.Action)
	}
}

// want asks for an object to be observed.
func (o *observer) want(ref object.Ref) {
	if _, known := o.refs[ref.Key()]; known {
		return
	}
	o.refs[ref.Key()] = ref
	if ref.Kind == "CustomResourceDefinition" && plan.IsDataLossKind(ref) {
		o.crds = append(o.crds, ref)
	}
}

// kept asks for the objects that earlier operations kept.
func (o *observer) kept() {
	for _, k := range o.own.Kept {
		o.want(k.Ref)
	}
}

// recorded observes the releases of recorded components.
func (o *observer) recorded(ctx context.Context, record *state.Package) error {
	if record == nil {
		return nil
	}
	for _, c := range record.DeployedComponents {
		for _, ch := range c.InstalledCharts {
			if _, err := o.release(ctx, ch.Release()); err != nil {
				return err
			}
		}
	}
	return nil
}

// wanted renders a release and adds it to the facts. settable is what actions of the
// package may set before it is installed.
func (o *observer) wanted(ctx context.Context, r release, settable template.Settable) error {
	history, err := o.release(ctx, r.Release)
	if err != nil {
		return err
	}
	w := plan.Wanted{Release: r.Release, Component: r.component, Chart: r.chart, Version: r.version}
	wants, err := r.wanted()
	var rendered chart.Rendered
	if err == nil {
		wants = wants.After(history)
		rendered, err = o.client.Render(ctx, wants)
	}
	switch {
	case err != nil && !settable.Empty() && ctx.Err() == nil:
		// A template may need what an action is going to set; apply renders again and knows.
		w.CannotRender = err.Error()
	case err != nil:
		return fmt.Errorf("rendering chart %q of component %q: %w", r.chart, r.component, err)
	default:
		w.Namespaces = rendered.Namespaces
		for _, d := range rendered.CRDs {
			w.CRDs = append(w.CRDs, d.Ref)
		}
		for _, s := range wants.Secrets {
			w.Secrets = append(w.Secrets, s.Name)
		}
		if w.Version == "" && wants.Generated == nil {
			w.Version = rendered.ChartVersion
		}
		known := map[string]bool{}
		for _, why := range r.unsettled(settable) {
			known[why] = true
		}
		for _, d := range rendered.Objects {
			w.Objects = append(w.Objects, plan.Rendered{Ref: d.Ref, Keep: d.Keep()})
			o.want(d.Ref)
			o.docs[d.Key()] = d
			o.markers(d, settable, known)
		}
		for _, d := range rendered.HooksNow(wants) {
			w.Hooks = append(w.Hooks, plan.HookObject{Ref: d.Ref, Replaces: d.ReplacesHook(), Known: history.HasHook(d.Ref)})
			o.want(d.Ref)
		}
		w.KnownAfterApply = slices.Sorted(maps.Keys(known))
		if len(known) == 0 {
			w.Unchanged, err = o.client.Unchanged(ctx, wants, rendered, history)
			if err = o.refused.unless(err); err != nil {
				return fmt.Errorf("comparing release %s: %w", r.Release, err)
			}
		}
	}
	o.facts.Wanted = append(o.facts.Wanted, w)
	return nil
}

// markers finds what of an object only apply will know, and warns of markers that nobody fills.
func (o *observer) markers(d chart.Document, settable template.Settable, known map[string]bool) {
	if d.KnownAfterApply != "" {
		known[fmt.Sprintf("%s: %s", d.Ref, d.KnownAfterApply)] = true
	}
	for _, marker := range template.New().Unknown(d.Body) {
		name := strings.TrimPrefix(strings.Trim(marker, "#"), "ZARF_VAR_")
		if settable.Variables[name] {
			known[fmt.Sprintf("%s: variable %s is set by an action", d.Ref, name)] = true
			continue
		}
		o.facts.Warnings = append(o.facts.Warnings, fmt.Sprintf(
			"%s holds %s, which nothing fills: it is deployed as it stands", d.Ref, marker))
	}
}

// look observes the objects that were asked for, and the custom resources that would go with CRDs.
func (o *observer) look(ctx context.Context) error {
	refs := slices.SortedFunc(maps.Values(o.refs), object.Ref.Compare)
	live, err := o.client.Observe(ctx, refs)
	if err = o.refused.unless(err); err != nil {
		return fmt.Errorf("observing the objects in the cluster: %w", err)
	}
	o.facts.Live = live
	for _, crd := range o.crds {
		if _, ok := live[crd.Key()]; !ok {
			continue
		}
		resources, err := o.client.CustomResources(ctx, crd)
		if err = o.refused.unless(err); err != nil {
			return fmt.Errorf("looking for resources of %s: %w", crd, err)
		}
		if len(resources) > 0 {
			o.facts.Lost[crd.Key()] = resources
		}
	}
	if err := o.keptWorkloads(ctx); err != nil {
		return err
	}
	return o.immutable(ctx)
}

// keptWorkloads reads which images the workloads run that earlier operations kept: no definition names
// them any more.
func (o *observer) keptWorkloads(ctx context.Context) error {
	var refs []object.Ref
	for _, k := range o.own.Kept {
		if _, lives := o.facts.Live[k.Key()]; lives {
			refs = append(refs, k.Ref)
		}
	}
	runs, err := o.client.PodImages(ctx, refs)
	if err = o.refused.unless(err); err != nil {
		return fmt.Errorf("reading what the kept workloads run: %w", err)
	}
	o.facts.Runs = runs
	return nil
}

// immutable asks what of the objects that are to change their owner cannot be changed.
func (o *observer) immutable(ctx context.Context) error {
	var moves []chart.Document
	recorded := o.facts.Recorded()
	for _, w := range o.facts.Wanted {
		for _, obj := range w.Objects {
			live, ok := o.facts.Live[obj.Key()]
			if ok && live.Owner != w.Release && (slices.Contains(recorded, live.Owner) || o.own.Keeps(live.Instance())) {
				moves = append(moves, o.docs[obj.Key()])
			}
		}
	}
	found, err := o.client.Immutable(ctx, moves)
	o.facts.Immutable = found
	return err
}

// settable returns what the onDeploy actions of components may set.
func settable(components []spec.Component) template.Settable {
	var actions []spec.Action
	for _, c := range components {
		set := c.Actions.OnDeploy
		actions = slices.Concat(actions, set.Before, set.After, set.OnSuccess)
	}
	return template.SettableBy(actions)
}
