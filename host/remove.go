package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/action"
	"github.com/zarf-host/zarf-host/host/apply"
	"github.com/zarf-host/zarf-host/host/chart"
	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/selection"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/state"
	"github.com/zarf-host/zarf-host/host/template"
	"github.com/zarf-host/zarf-host/host/value"
)

// RemoveOptions say what to remove.
type RemoveOptions struct {
	Common
	state.RemoveConfig
	// Target is the name of a deployed package, or a package file whose name and onRemove actions
	// are used.
	Target string
	// Components is Zarf's --components; empty means all of them.
	Components string
	// Prune are the scopes that may be pruned: images.
	Prune plan.Scopes
}

// Remove removes a deployed package, or some of its components, last deployed first. Each step is
// recorded, so that the same call again continues where one stopped. The record goes with the last
// component. Errors are those of Deploy, and *NotDeployedError.
func Remove(ctx context.Context, o RemoveOptions) (result Result, err error) {
	secrets := &mask{}
	defer func() { err = secrets.error(err) }()
	secrets.add(state.DeployConfig{Values: o.Values})
	secrets.allow(o.Target, o.NamespaceOverride)
	o.Sink = secrets.sink(o.Sink)
	o.Common = o.defaulted()
	ctx, cancel := o.bounded(ctx)
	defer cancel()
	r := &removal{RemoveOptions: o}
	defer r.close(ctx)
	if err := r.identify(ctx); err != nil {
		return Result{}, err
	}
	if err := r.connect(ctx); err != nil {
		return Result{}, r.refused(ctx, err)
	}
	if r.over {
		return Result{Recorded: true}, nil
	}
	if err := r.guard(ctx, &r.Common, r.conn, r.pkg); err != nil {
		return Result{}, r.refused(ctx, err)
	}
	result, err = r.decide(ctx, "")
	if err != nil || o.DryRun {
		return result, err
	}
	return r.carryOut(ctx, result)
}

// removal is one removal on its way down the line.
type removal struct {
	RemoveOptions
	guarded
	pkg      *Package // nil where a name was given
	name     string
	digest   string // of the configuration
	values   map[string]any
	given    spec.Package // the definition of a package file, if one was given
	fromFile bool
	source   string

	conn     *cluster.Cluster
	charts   *chart.Client
	record   cluster.Record
	live     map[object.Key]object.Live            // what was observed last
	held     func(object.Release, object.Key) bool // by the manifests of releases
	services *services                             // nil where no image is pruned
	selected []string
	// unprunable is why images cannot be pruned although that was asked for.
	unprunable *ImagePruneError
	over       bool // an earlier removal had come to its end, but for the lease
}

func (r *removal) close(ctx context.Context) {
	_ = r.services.close() // everything was confirmed
	r.release(ctx)
	if r.pkg != nil {
		_ = r.pkg.Close() // only read from
	}
}

// identify finds out which package is meant: a file that exists is opened, anything else is a name.
func (r *removal) identify(ctx context.Context) (err error) {
	if r.digest, err = r.RemoveConfig.Digest(); err != nil {
		return fmt.Errorf("computing the digest of the configuration: %w", err)
	}
	r.values = value.Merge(nil, r.Values)
	if IsName(r.Target) {
		r.name = r.Target
		return nil
	}
	pkg, err := Open(ctx, r.Target, r.openOptions())
	if err != nil {
		return err
	}
	r.pkg = pkg
	r.given, r.fromFile, r.source = pkg.Definition(), true, pkg.Source()
	if ns := r.NamespaceOverride; ns != "" {
		if err := r.given.OverrideNamespace(ns); err != nil {
			return fmt.Errorf("removing from namespace %q: %w", ns, err)
		}
	}
	r.name = r.given.Metadata.Name
	own, err := readValues(ctx, pkg.bundle)
	if err != nil {
		return err
	}
	r.values = value.Merge(own.defaults, r.Values)
	return nil
}

// templating is what onRemove actions are templated with. As in Zarf, they see no variables of the
// package: the record has none. Its values are those of a package file, if one was given, and what
// was supplied to the removal.
func (r *removal) templating() *templating {
	return &templating{variables: template.New(), values: r.values}
}

// IsName reports whether a target is a package's name rather than a package: not the path of
// anything, nor of a form that only packages have.
func IsName(target string) bool {
	if strings.ContainsAny(target, `/\:`) || strings.HasSuffix(target, ".tar") ||
		strings.HasSuffix(target, ".tar.zst") || strings.HasSuffix(target, ".part000") {
		return false
	}
	_, err := os.Stat(target)
	return errors.Is(err, fs.ErrNotExist) || err == nil && !hasDefinition(target)
}

func hasDefinition(dir string) bool {
	_, err := os.Stat(dir + "/zarf.yaml")
	return err == nil
}

// connect reads the record. A package file whose components need no cluster is removed without one.
func (r *removal) connect(ctx context.Context) (err error) {
	if r.fromFile && !requireCluster(r.given.Components) {
		r.say(event.Info, "observe", "no component of the package needs a cluster: none is asked, and there is no record")
		return r.choose(r.given.Components)
	}
	if r.conn, err = cluster.Connect(ctx, r.Cluster); err != nil {
		return err
	}
	if r.charts, err = chartClient(r.conn, r.Common); err != nil {
		return err
	}
	if err := r.read(ctx); err != nil {
		return r.finished(ctx, err)
	}
	return r.choose(recordedComponents(r.record.Package))
}

func (r *removal) read(ctx context.Context) (err error) {
	if r.record, err = readRecord(ctx, r.conn, r.charts, r.name, r.NamespaceOverride); err != nil {
		return err
	}
	if !r.record.Exists {
		return &NotDeployedError{Name: r.name, Namespace: r.NamespaceOverride}
	}
	return nil
}

// finished looks whether a package that is not deployed was removed by a run that did not live to let
// go of the lease. That removal is then brought to its end, which is all that was asked for.
func (r *removal) finished(ctx context.Context, missing error) error {
	var none *NotDeployedError
	if !errors.As(missing, &none) || r.DryRun {
		return missing
	}
	name := state.SecretName(r.name, r.NamespaceOverride)
	left, err := r.conn.Holding(ctx, name)
	if err != nil || left.Holder == "" || left.Live {
		return missing // also where leases may not be read: there is nothing to remove
	}
	lease, err := r.conn.Acquire(ctx, name, cluster.LeaseOptions{Timeout: r.LockTimeout, Sink: r.Sink})
	if err != nil {
		return err
	}
	now := r.read(ctx)
	if err := lease.Release(ctx); err != nil {
		return err
	}
	switch {
	case now == nil: // somebody deployed it meanwhile
		return r.choose(recordedComponents(r.record.Package))
	case !errors.As(now, &none):
		return now
	}
	r.say(event.Info, "remove", fmt.Sprintf("package %q was removed by an interrupted run, which only had to let go of its lease", r.name))
	r.over = true
	return nil
}

// recordedComponents returns a definition for every recorded component, made up of its name where
// the record lost it.
func recordedComponents(p state.Package) []spec.Component {
	var out []spec.Component
	for _, has := range p.DeployedComponents {
		c, ok := p.Definition(has.Name)
		if !ok {
			c = spec.Component{Name: has.Name}
		}
		out = append(out, c)
	}
	return out
}

func (r *removal) choose(components []spec.Component) error {
	choices, err := selection.ForRemove(components, selection.Options{Request: r.Components, OS: runtime.GOOS})
	if err != nil {
		return fmt.Errorf("selecting components: %w", err)
	}
	r.selected = names(selection.Chosen(choices))
	var found []string
	var chosen []spec.Component
	var actions []spec.Action
	for _, c := range selection.Chosen(choices) {
		if given := slices.IndexFunc(r.given.Components, func(g spec.Component) bool { return g.Name == c.Name }); given >= 0 {
			c = r.given.Components[given]
		}
		chosen = append(chosen, c)
		set := c.Actions.OnRemove
		actions = slices.Concat(actions, set.Before, set.After, set.OnSuccess)
	}
	settable := template.SettableBy(actions)
	for _, c := range chosen {
		if err := action.Preflight(c, "onRemove", c.Actions.OnRemove); err != nil {
			found = append(found, err.Error())
		}
		p := problems{component: c.Name, settable: settable}
		p.actions("onRemove", r.templating().action(c), c.Actions.OnRemove)
		found = append(found, p.found...)
	}
	return preflightError(found)
}

func (r *removal) observe(ctx context.Context) (plan.Plan, error) {
	facts := plan.Facts{
		Package:    plan.Package{Name: r.name, NamespaceOverride: r.NamespaceOverride, Source: r.source},
		Definition: r.given, Selected: r.selected, ConfigDigest: r.digest, Scopes: r.Prune,
	}
	if r.conn == nil {
		facts.Package.Version = r.given.Metadata.Version
		return plan.ForRemove(facts), nil
	}
	if err := r.read(ctx); err != nil {
		return plan.Plan{}, err
	}
	has := &r.record.Package
	facts.Record, facts.Own = has, r.record.Own
	facts.Warnings = slices.Concat(facts.Warnings, r.record.Notes, r.hooksLeftOut())
	facts.Package.Version, facts.Package.Flavor = has.Data.Metadata.Version, has.Data.Build.Flavor
	facts.Package.Architecture, facts.Package.Digest = has.Data.Build.Architecture, has.Digest
	facts.Package.Connected = has.Connectivity == state.Connected
	o, refused := newObserver(r.charts, r.record.Own, &facts), r.unread
	o.refused, o.noHooks, facts.NoHooks = &refused, r.NoUninstallHooks, r.NoUninstallHooks
	o.kept()
	if err := o.recorded(ctx, has); err != nil {
		return plan.Plan{}, err
	}
	if err := o.claims(ctx, r.conn.Records(), true); err != nil {
		return plan.Plan{}, err
	}
	if err := o.look(ctx); err != nil {
		return plan.Plan{}, err
	}
	r.live, r.held = facts.Live, facts.Held
	facts.Recovery = nil // an uninstall takes a release however it was left
	var err error
	if facts.Access, err = o.access(ctx, r.conn, nil, r.permissions()...); err != nil {
		return plan.Plan{}, err
	}
	p := plan.ForRemove(facts)
	p.NeedsCluster = true
	if err := refused.preflight(ctx, r.conn, r.Common, p.Permissions); err != nil {
		return plan.Plan{}, err
	}
	return r.planImages(ctx, p, facts)
}

func (r *removal) decide(ctx context.Context, again string) (Result, error) {
	p, err := r.observe(ctx)
	if err != nil {
		return Result{}, r.refused(ctx, err)
	}
	failed := errors.Join(preflightError(p.Blocked), preflightAccess(ctx, r.conn, r.Common, p.Permissions))
	if r.unprunable != nil {
		failed = errors.Join(failed, r.unprunable.preflight())
	}
	if failed != nil {
		return Result{Plan: p, Policies: r.refs(), Recorded: true}, r.refuse(ctx, p, again, failed)
	}
	asked := p
	p, outcomes, err := r.asker().decide(ctx, p, hook.PreRemove)
	result := Result{Plan: p, Policies: r.refs(), Outcomes: outcomes, Recorded: r.conn != nil}
	if err == nil { // what is kept after all is let go of, which takes other rights than deleting it
		err = preflightAccess(ctx, r.conn, r.Common, newPermissions(p, asked))
	}
	if err != nil {
		return result, err
	}
	return result, review(ctx, r.Common, result, again)
}

func (r *removal) asker() asker {
	a := asker{
		common: r.Common, operation: hook.Operation{Name: hook.OperationRemove, Flags: map[string]string{}},
		pkg: hookPackage(r.given, "", r.source), policies: r.refs(),
	}
	if r.DryRun {
		a.operation.Flags["dry-run"] = "true"
	}
	if r.NoUninstallHooks {
		a.operation.Flags["no-hooks"] = "true"
	}
	if len(r.Prune) > 0 {
		a.operation.Flags["prune"] = fmt.Sprint(r.Prune)
	}
	if r.conn != nil {
		has := &r.record.Package
		a.pkg = hookPackage(has.Data, has.Digest, r.source)
		a.deployed = hookDeployed(has)
		a.cluster = &hook.Cluster{Version: r.conn.Version(), Context: r.conn.Context()}
		a.world = world{charts: r.charts}
	}
	return a
}

// afterwards asks the post-remove hooks, which can only warn: nothing is left to refuse.
func (r *removal) afterwards(ctx context.Context, result Result, err error) (Result, error) {
	if err != nil {
		return result, err
	}
	outcome, err := r.asker().ask(ctx, hook.PostRemove, result.Plan, hookResult(*result.Applied))
	if err != nil {
		return result, err
	}
	result.Outcomes = append(result.Outcomes, outcome)
	return result, outcome.Err()
}

func (r *removal) carryOut(ctx context.Context, decided Result) (Result, error) {
	if r.conn == nil {
		done, err := r.engine(decided.Plan, nil).Remove(ctx, r.order(decided.Plan))
		decided.Applied = &done
		return r.afterwards(ctx, decided, err)
	}
	return underLease(ctx, r.Common, r.conn, r.record.Secret(), func(ctx context.Context) (Result, error) {
		now, err := r.observe(ctx)
		if err != nil {
			return decided, err
		}
		result := decided
		kept, _, err := now.WithKept(decided.Plan.Asked()...)
		if err != nil || kept.Digest != decided.Plan.Digest {
			if result, err = r.decide(ctx, "the cluster changed meanwhile"); err != nil {
				return result, err
			}
		}
		engine := r.engine(result.Plan, &recorder{records: r.conn.Records(), current: r.record, version: r.cliVersion()})
		done, err := engine.Remove(ctx, r.order(result.Plan))
		result.Applied = &done
		return r.afterwards(ctx, result, err)
	})
}

func (r *removal) order(p plan.Plan) apply.Removal {
	record := r.record.Record
	record.Own = record.Own.StillKept(r.live, r.held)
	return apply.Removal{
		Plan: p, Definition: r.given, Record: record, Inherited: r.inherited(),
		Event: state.PackageEvent{
			Type: state.Remove, Timestamp: r.Now(), Version: p.Package.Version, Flavor: p.Package.Flavor,
			Digest: p.Package.Digest, ConfigDigest: r.digest,
		},
	}
}

func (r *removal) engine(p plan.Plan, rec *recorder) apply.Engine {
	e := apply.Engine{
		Steps: &steps{common: r.Common, templates: r.templating(), loader: os.ReadFile, conn: r.conn},
		Sink:  r.Sink, Now: r.Now,
	}
	if rec == nil {
		return e
	}
	e.Recorder = rec
	if r.services != nil {
		e.Images = r.pruner()
	}
	e.ClusterGone = r.conn.Gone
	e.Releases = &releases{
		client: r.charts, own: r.record.Own, plan: p, revisions: map[object.Release]int{}, allowDataLoss: true, timeout: r.Common,
	}
	return e
}
