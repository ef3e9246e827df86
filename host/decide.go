package host

import (
	"context"
	"fmt"
	"slices"

	"github.com/zarf-host/zarf-host/host/config"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/state"
)

// observe gathers the facts and makes the plan.
func (d *deployment) observe(ctx context.Context) (plan.Plan, error) {
	def := d.definition
	facts := plan.Facts{
		Package: plan.Package{
			Name: def.Metadata.Name, Version: def.Metadata.Version, Flavor: def.Build.Flavor,
			Architecture: def.Build.Architecture, Digest: d.pkg.Digest(), Source: d.pkg.Source(),
			NamespaceOverride: d.resolved.Config.NamespaceOverride, Connected: d.connected(), Signed: d.pkg.Signed(),
			OriginalName: d.originalName,
		},
		Accept: d.Accept, Identity: d.identity(),
		Definition: def, Selected: names(d.selected), Scopes: d.Prune,
		Unselected:    unselected(d.recordName(), def.Components, d.selected),
		AllowDataLoss: d.AllowDataLoss, TakeOwnership: d.TakeOwnership, ConfigDigest: d.digest,
		Config: plan.ConfigChanges{Origins: d.resolved.Origins},
	}
	facts.Warnings = append(facts.Warnings, d.undeclared()...)
	if d.conn == nil {
		return plan.ForDeploy(facts), nil
	}
	refused := d.unread
	var err error
	d.record, err = readRecord(ctx, d.conn, d.charts, d.recordName(), d.resolved.Config.NamespaceOverride)
	if err = refused.unless(err); err != nil {
		return plan.Plan{}, err
	}
	if err := d.stillReusable(); err != nil {
		return plan.Plan{}, err
	}
	facts.Warnings = slices.Concat(facts.Warnings, d.record.Notes, d.hooksLeftOut())
	facts.Own = d.record.Own
	facts.Definition = d.planned()
	facts.Unselected = unselected(d.recordName(), facts.Definition.Components, d.selected)
	if d.record.Exists {
		facts.Record = &d.record.Package
		facts.Config.Changed = config.Changed(d.record.Package.DeployConfig, d.resolved.Config)
	}
	o := newObserver(d.charts, d.record.Own, &facts)
	o.refused, o.noHooks, facts.NoHooks = &refused, d.NoUninstallHooks, d.NoUninstallHooks
	o.kept()
	if err := o.recorded(ctx, facts.Record); err != nil {
		return plan.Plan{}, err
	}
	for _, r := range d.wanted {
		if err := o.wanted(ctx, r, d.settable); err != nil {
			return plan.Plan{}, err
		}
	}
	if err := o.claims(ctx, d.conn.Records(), d.Prune.Has(plan.ScopeClusterResources)); err != nil {
		return plan.Plan{}, err
	}
	if err := o.look(ctx); err != nil {
		return plan.Plan{}, err
	}
	if facts.Images, err = d.wantedImages(ctx); err != nil {
		return plan.Plan{}, err
	}
	facts.Warnings = append(facts.Warnings, d.differentialWarnings()...)
	for i, w := range facts.Wanted {
		facts.Wanted[i].CannotRender = d.secrets.text(w.CannotRender)
	}
	d.live, d.held = facts.Live, facts.Held
	if facts.Access, err = o.access(ctx, d.conn, []string{state.Namespace}, d.permissions(facts.Images)...); err != nil {
		return plan.Plan{}, err
	}
	facts.Access.SkipUnchanged = d.SkipUnchanged
	p := plan.ForDeploy(facts)
	p.NeedsCluster = true
	if err := refused.preflight(ctx, d.conn, d.Common, p.Permissions); err != nil {
		return plan.Plan{}, err
	}
	return d.planImages(ctx, p, facts)
}

func (d *deployment) connected() bool { return d.Connected || d.definition.Metadata.YOLO }

// decide plans, asks the plugins and shows what came of it.
func (d *deployment) decide(ctx context.Context, again string) (Result, error) {
	p, err := d.observe(ctx)
	if err != nil {
		return Result{}, d.refused(ctx, err)
	}
	forbidden, err := d.judge()
	if err != nil {
		return Result{}, err
	}
	p.Findings = append(p.Findings, forbidden...)
	if len(forbidden) == 0 && d.SkipSame && p.SameAsDeployed {
		d.say(event.Info, "plan", "package, configuration and selection are those deployed last: nothing to do")
		return Result{Plan: p, Policies: d.refs(), Same: true, Recorded: d.conn != nil}, nil
	}
	if err := d.preflightPlan(ctx, p, again); err != nil {
		return Result{Plan: p, Policies: d.refs(), Recorded: d.conn != nil}, err
	}
	a := d.asker()
	var outcomes []hook.Outcome
	if len(p.Refusals()) == 0 {
		asked := p
		p, outcomes, err = a.decide(ctx, p, hook.PreDeploy)
		if err == nil { // what is kept after all is let go of, which takes other rights than deleting it
			err = preflightAccess(ctx, d.conn, d.Common, newPermissions(p, asked))
		}
		if err != nil {
			return Result{Plan: p, Policies: d.refs(), Outcomes: outcomes}, err
		}
	}
	result := Result{Plan: p, Policies: d.refs(), Outcomes: outcomes, Recorded: d.conn != nil}
	return result, review(ctx, d.Common, result, again)
}

// review shows a plan, and turns a denial or a no into an error.
func review(ctx context.Context, c Common, result Result, again string) error {
	p, outcomes := result.Plan, result.Outcomes
	var denied error
	if denials := p.Denials(); len(denials) > 0 {
		denied = &DeniedError{Findings: denials}
	} else {
		denied = denial(outcomes)
	}
	if denied == nil && c.PlanDigest != "" && c.PlanDigest != p.Digest {
		denied = &PlanMovedError{Wanted: c.PlanDigest, Found: p.Digest}
	}
	if c.Reviewer == nil {
		return denied
	}
	yes, err := c.Reviewer.Review(ctx, Review{Plan: p, Policies: result.Policies, Outcomes: outcomes, Again: again, Ask: denied == nil && !c.DryRun})
	switch {
	case denied != nil:
		return denied
	case err != nil:
		return err
	case !yes && !c.DryRun:
		return ErrDeclined
	}
	return nil
}

func (d *deployment) asker() asker {
	flags := map[string]string{}
	if len(d.Prune) > 0 {
		flags["prune"] = fmt.Sprint(d.Prune)
	}
	if len(d.Accept) > 0 {
		flags["accept-collision"] = acceptFlag(d.Accept)
	}
	if d.ReleaseName != "" {
		flags["release-name"] = d.ReleaseName
	}
	for name, on := range map[string]bool{
		"connected": d.Connected, "allow-data-loss": d.AllowDataLoss, "take-ownership": d.TakeOwnership, "dry-run": d.DryRun,
		"skip-values-schema-validation": d.SkipValuesSchema, "no-hooks": d.NoUninstallHooks,
	} {
		if on {
			flags[name] = "true"
		}
	}
	a := asker{
		common: d.Common, operation: hook.Operation{Name: hook.OperationDeploy, Flags: flags},
		policies: d.refs(),
		pkg:      hookPackage(d.definition, d.pkg.Digest(), d.pkg.Source()),
		world:    world{charts: d.charts, pkg: d.pkg, config: hookConfig(d.resolved.Config, d.digest, d.definition)},
	}
	if d.conn != nil {
		a.cluster = &hook.Cluster{Version: d.conn.Version(), Context: d.conn.Context()}
		if d.record.Exists {
			a.deployed = hookDeployed(&d.record.Package)
		}
	}
	return a
}
