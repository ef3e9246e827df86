package host

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/zarf-host/zarf-host/host/apply"
	"github.com/zarf-host/zarf-host/host/chart"
	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/config"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/registry"
	"github.com/zarf-host/zarf-host/host/selection"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/state"
	"github.com/zarf-host/zarf-host/host/template"
	"github.com/zarf-host/zarf-host/host/validate"
)

// DeployOptions say what to deploy and how.
type DeployOptions struct {
	Common
	// Source is the package, as Open takes it.
	Source string
	// Layers are what was supplied, the weakest first. The result is recorded.
	Layers []config.Layer
	// ReuseConfig puts the configuration of the last successful deployment under the layers.
	ReuseConfig bool
	// Digest, if set, is that of the only package that may be deployed.
	Digest string
	// Components is Zarf's --components: names and globs, a leading '-' excludes.
	Components string
	// Interactive lets Choose and Prompt be asked.
	Interactive bool
	// Choose is asked about optional components, and Prompt for variables, when Interactive.
	Choose func(ctx context.Context, choices []selection.Choice) ([]string, error)
	Prompt func(ctx context.Context, variable spec.InteractiveVariable) (string, error)
	// Connected deploys without pushing images and repos.
	Connected bool
	// Prune are the scopes that may be pruned.
	Prune plan.Scopes
	// AllowDataLoss lets a prune delete Namespaces, PersistentVolumes, claims, and CRDs with resources.
	AllowDataLoss bool
	// TakeOwnership takes over objects that exist already, whoever owns them.
	TakeOwnership bool
	// SkipUnchanged leaves out releases that are unchanged, SkipSame the whole deployment when
	// package, configuration and selection are those deployed last.
	SkipUnchanged bool
	SkipSame      bool
	// ReleaseName deploys the package under another name than its own: as a package of its own beside
	// others of its name.
	ReleaseName string
	// Accept are the kinds of collisions that do not stop the deployment, unless a plugin says so.
	Accept []plan.CollisionKind
	// SkipValuesSchema does not hold the values against the package's schema.
	SkipValuesSchema bool
}

// Result is what an operation came to.
type Result struct {
	Plan plan.Plan
	// Outcomes are what the plugins said.
	Outcomes []hook.Outcome
	// Applied is what was done; nil when nothing was (a dry run, a denial, nothing to do).
	Applied *apply.Result
	// Same is true when SkipSame found nothing to do.
	Same bool
	// Recorded is false when the package needs no cluster, and so leaves no record.
	Recorded bool
}

// Plan returns what Deploy would do, with what the plugins said about it. Nothing is changed. A
// denial or a failing preflight is an error beside the result.
func Plan(ctx context.Context, o DeployOptions) (Result, error) {
	o.DryRun = true
	return Deploy(ctx, o)
}

// Deploy deploys a package: it opens, validates, selects, resolves, observes and plans; asks the
// plugins and the Reviewer; then takes the lease, applies, prunes and records. An error before the
// lease is taken leaves the cluster exactly as it was. Errors a caller may want to tell apart:
// *DeniedError, *hook.DeniedError, *PreflightError, *InvalidError, *cluster.LockedError,
// ErrDeclined, context.Canceled.
func Deploy(ctx context.Context, o DeployOptions) (result Result, err error) {
	secrets := &mask{}
	defer func() { err = secrets.error(err) }()
	o.Sink = secrets.sink(o.Sink)
	o.Common = o.defaulted()
	if err := checkReleaseName(o.ReleaseName); err != nil {
		return Result{}, err
	}
	ctx, cancel := o.bounded(ctx)
	defer cancel()
	d := &deployment{DeployOptions: o, start: o.Now(), secrets: secrets}
	defer d.close()
	d.secrets.add(config.Resolve(o.Layers...).Config)
	if err := d.open(ctx); err != nil {
		return Result{}, err
	}
	if err := d.wantDigest(); err != nil {
		return Result{}, err
	}
	if err := d.reuse(ctx); err != nil {
		return Result{}, d.refused(ctx, err)
	}
	if err := d.resolve(ctx); err != nil {
		return Result{}, err
	}
	if err := d.connect(ctx); err != nil {
		return Result{}, d.refused(ctx, err)
	}
	if err := d.preflightValues(); err != nil {
		return Result{}, err
	}
	result, err = d.decide(ctx, "")
	if err != nil || o.DryRun || result.Same {
		return result, err
	}
	return d.carryOut(ctx, result)
}

// deployment is one deployment on its way down the line.
type deployment struct {
	DeployOptions
	start time.Time

	originalName string // the package's own, where it is deployed under another one

	validator  *validate.Validator
	pkg        *Package
	definition spec.Package // the whole one, namespace override applied
	selected   []spec.Component
	resolved   config.Resolved
	digest     string // of the resolved configuration
	variables  *template.Variables
	templates  *templating
	settable   template.Settable // by actions of the selected components
	contents   map[string]content
	wanted     []release

	conn     *cluster.Cluster
	charts   *chart.Client
	services *services // nil where no cluster is needed
	images   *registry.Content
	record   cluster.Record
	live     map[object.Key]object.Live // what was observed last
	held     map[object.Key]bool        // by the manifests of releases
	stored   *state.DeployConfig        // the recorded configuration that is used again
	secrets  *mask                      // takes what was supplied out of what comes out
	found    []plan.Image               // what the registry had when it was asked first
	// unprunable is why images cannot be pruned although that was asked for.
	unprunable *ImagePruneError
}

func (d *deployment) close() {
	_ = d.services.close() // everything was confirmed
	if d.pkg != nil {
		_ = d.pkg.Close() // only read from
	}
}

// open opens, validates and selects.
func (d *deployment) open(ctx context.Context) (err error) {
	d.say(event.Info, "open", "reading the package and verifying its checksums")
	if d.pkg, err = Open(ctx, d.Source, d.openOptions()); err != nil {
		return err
	}
	if d.validator, err = validate.New(); err != nil {
		return err
	}
	if err := validateDefinition(d.validator, d.pkg); err != nil {
		return err
	}
	integrity := d.pkg.Integrity()
	if !integrity.OK {
		return &PreflightError{Problems: []string{fmt.Sprintf("the package cannot be verified: %s; it may be inspected, not deployed", integrity.Reason)}}
	}
	checked := "verified %d files, package digest %s"
	if integrity.OnDemand {
		checked = "checked what the registry declares of %d files, each of which is verified when it is fetched; package digest %s"
	}
	d.say(event.Info, "open", fmt.Sprintf(checked, integrity.Files, integrity.Digest))
	if d.pkg.Signed() {
		d.say(event.Warn, "open", "the package is signed, and its signature was not verified")
	}
	d.definition = d.pkg.Definition()
	d.rename()
	return nil
}

// resolve merges the configuration and applies it: components, namespace, variables.
func (d *deployment) resolve(ctx context.Context) (err error) {
	choices, err := selection.ForDeploy(d.definition.Components, selection.Options{
		Request: d.Components, OS: runtime.GOOS, Interactive: d.Interactive && d.Choose != nil,
	})
	if err != nil {
		return fmt.Errorf("selecting components: %w", err)
	}
	if choices, err = d.choose(ctx, choices); err != nil {
		return err
	}
	d.resolved = config.Resolve(d.Layers...)
	if err := validateConfig(d.validator, d.resolved.Config); err != nil {
		return err
	}
	if err := d.prompt(ctx); err != nil {
		return err
	}
	d.secrets.add(d.resolved.Config) // with what was stored and what was asked for
	if d.digest, err = d.resolved.Config.Digest(); err != nil {
		return fmt.Errorf("computing the digest of the configuration: %w", err)
	}
	if ns := d.resolved.Config.NamespaceOverride; ns != "" {
		if err := d.definition.OverrideNamespace(ns); err != nil {
			return fmt.Errorf("deploying into namespace %q: %w", ns, err)
		}
	}
	for _, choice := range choices {
		if choice.Selected {
			i := slices.IndexFunc(d.definition.Components, func(c spec.Component) bool { return c.Name == choice.Component.Name })
			d.selected = append(d.selected, d.definition.Components[i])
		}
	}
	if d.variables, err = template.Resolve(d.definition, d.resolved.Config.SetVariables); err != nil {
		return fmt.Errorf("resolving variables: %w", err)
	}
	if err := d.resolveValues(ctx); err != nil {
		return err
	}
	d.settable = settable(d.selected)
	d.contents = map[string]content{}
	build := d.builder()
	for _, c := range d.selected {
		has, err := readContent(ctx, d.pkg.bundle, c)
		if err != nil {
			return err
		}
		d.contents[c.Name] = has
		d.wanted = append(d.wanted, build.releases(c, has)...)
		d.secrets.allow(c.Name)
	}
	d.secrets.allow(d.resolved.Config.NamespaceOverride)
	for _, r := range d.wanted {
		d.secrets.allow(r.Namespace, r.Name, r.chart)
	}
	return d.preflight()
}

func (d *deployment) choose(ctx context.Context, choices []selection.Choice) ([]selection.Choice, error) {
	asked := slices.ContainsFunc(choices, func(c selection.Choice) bool { return c.Ask })
	if !asked || d.Choose == nil {
		return choices, nil
	}
	names, err := d.Choose(ctx, choices)
	if err != nil {
		return nil, fmt.Errorf("choosing components: %w", err)
	}
	for i, c := range choices {
		if c.Ask {
			choices[i].Selected = slices.Contains(names, c.Component.Name)
		}
	}
	return choices, nil
}

// prompt asks for variables that the package wants to be asked for.
func (d *deployment) prompt(ctx context.Context) error {
	if !d.Interactive || d.Prompt == nil {
		return nil
	}
	answers := map[string]string{}
	for _, v := range template.Prompts(d.definition, d.resolved.Config.SetVariables) {
		value, err := d.Prompt(ctx, v)
		if err != nil {
			return fmt.Errorf("asking for variable %s: %w", v.Name, err)
		}
		answers[v.Name] = value
	}
	if len(answers) > 0 {
		d.Layers = append(d.Layers, config.Layer{Origin: "prompt", Config: state.DeployConfig{SetVariables: answers}})
		d.resolved = config.Resolve(d.Layers...)
	}
	return nil
}

func (d *deployment) builder() *builder {
	return &builder{
		pkg: d.definition, name: d.definition.Metadata.Name, templates: d.templates,
		config: d.resolved.Config, loader: os.ReadFile, start: d.start, common: d.Common, takeOver: d.TakeOwnership,
		prepare: func(w *chart.Wanted) error { return d.services.prepare(w, d.connected()) },
	}
}

func (d *deployment) needsCluster() bool {
	return len(d.Prune) > 0 || requireCluster(d.selected)
}

// connect dials the cluster if the package needs it and reads the package's record.
func (d *deployment) connect(ctx context.Context) (err error) {
	if !d.needsCluster() {
		d.say(event.Info, "observe", "no selected component needs a cluster: none is asked, no policies of a cluster are read, and no record is left")
		d.conn, d.charts = nil, nil // only the configuration was read from it
		return nil
	}
	if err := d.dial(ctx); err != nil {
		return err
	}
	return d.connectServices(ctx)
}

func (d *deployment) dial(ctx context.Context) (err error) {
	if d.conn != nil {
		return nil
	}
	if d.conn, err = cluster.Connect(ctx, d.Cluster); err != nil {
		return err
	}
	d.charts, err = chartClient(d.conn, d.Common)
	return err
}

// connectServices reads which registry and git server the cluster has, and tells the templates. A
// connected package needs neither, and whoever deploys it may not be allowed to know.
func (d *deployment) connectServices(ctx context.Context) (err error) {
	d.services, err = readServices(ctx, d.conn, d.Common, d.namespaces())
	switch {
	case err != nil && d.connected() && cluster.IsForbidden(err):
		d.services = &services{conn: d.conn, common: d.Common}
	case err != nil:
		return err
	}
	if d.services.exists {
		d.variables.SetBuiltins(d.services.builtins())
		d.templates.state = d.services.template()
	}
	if d.connected() {
		return nil
	}
	if problems := d.services.problems(d.selected); len(problems) > 0 {
		return &PreflightError{Problems: problems}
	}
	if err := d.services.readCerts(ctx); err != nil {
		return err
	}
	d.images, err = registry.ReadContent(ctx, d.pkg.bundle)
	return err
}

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
	var refused reads
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
	if d.record.Exists {
		facts.Record = &d.record.Package
		facts.Config.Changed = config.Changed(d.record.Package.DeployConfig, d.resolved.Config)
	}
	o := newObserver(d.charts, d.record.Own, &facts)
	o.refused = &refused
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
	for i, w := range facts.Wanted {
		facts.Wanted[i].CannotRender = d.secrets.text(w.CannotRender)
	}
	d.live, d.held = facts.Live, o.held()
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
	if d.SkipSame && p.SameAsDeployed {
		d.say(event.Info, "plan", "package, configuration and selection are those deployed last: nothing to do")
		return Result{Plan: p, Same: true, Recorded: d.conn != nil}, nil
	}
	if err := d.preflightPlan(ctx, p, again); err != nil {
		return Result{Plan: p, Recorded: d.conn != nil}, err
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
			return Result{Plan: p, Outcomes: outcomes}, err
		}
	}
	result := Result{Plan: p, Outcomes: outcomes, Recorded: d.conn != nil}
	return result, review(ctx, d.Common, p, outcomes, again)
}

// review shows a plan, and turns a denial or a no into an error.
func review(ctx context.Context, c Common, p plan.Plan, outcomes []hook.Outcome, again string) error {
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
	yes, err := c.Reviewer.Review(ctx, Review{Plan: p, Outcomes: outcomes, Again: again, Ask: denied == nil && !c.DryRun})
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
		pkg:   hookPackage(d.definition, d.pkg.Digest(), d.pkg.Source()),
		world: world{charts: d.charts, pkg: d.pkg, config: hookConfig(d.resolved.Config, d.digest, d.definition)},
	}
	if d.conn != nil {
		a.cluster = &hook.Cluster{Version: d.conn.Version(), Context: d.conn.Context()}
		if d.record.Exists {
			a.deployed = hookDeployed(&d.record.Package)
		}
	}
	return a
}

// carryOut does what was decided, under the lease.
func (d *deployment) carryOut(ctx context.Context, decided Result) (Result, error) {
	if d.conn == nil {
		done, err := d.engine(decided.Plan, nil).Deploy(ctx, d.order(&decided))
		decided.Applied = &done
		return decided, err
	}
	return underLease(ctx, d.Common, d.conn, d.name(), func(ctx context.Context) (Result, error) {
		result, err := d.again(ctx, decided)
		if err != nil {
			return result, err
		}
		d.tellAccepted(result.Plan)
		engine := d.engine(result.Plan, &recorder{records: d.conn.Records(), current: d.record, version: d.cliVersion()})
		done, err := engine.Deploy(ctx, d.order(&result))
		result.Applied = &done
		return result, err
	})
}

func (d *deployment) name() string {
	return state.SecretName(d.recordName(), d.resolved.Config.NamespaceOverride)
}

// recordName is the name that the package is recorded under.
func (d *deployment) recordName() string { return d.definition.Metadata.Name }

// again recovers what was planned and observes once more under the lease: only facts that differ
// make it plan, ask and show again.
func (d *deployment) again(ctx context.Context, decided Result) (Result, error) {
	if err := d.recover(ctx, decided.Plan); err != nil {
		return decided, err
	}
	now, err := d.observe(ctx)
	if err != nil {
		return decided, err
	}
	kept, _, err := now.WithJudged(decided.Plan.Judged()...).WithKept(decided.Plan.Asked()...)
	if err == nil && kept.Digest == decided.Plan.Digest {
		return decided, nil
	}
	return d.decide(ctx, "the cluster changed meanwhile")
}

// recover puts right what an interrupted run left. A new revision is recorded before it is made.
func (d *deployment) recover(ctx context.Context, p plan.Plan) error {
	if len(p.Recovery) == 0 {
		return nil
	}
	r := &recorder{records: d.conn.Records(), current: d.record, version: d.cliVersion()}
	err := recovery{
		client: d.charts, plan: p, own: d.record.Own, common: d.Common,
		save: func(ctx context.Context, change func(*state.Record)) error {
			next := r.current.Record
			change(&next)
			return r.Save(ctx, next)
		},
	}.run(ctx)
	d.record = r.current
	return err
}

// order is what the apply step is told. What the post-deploy hooks say is added to the result.
func (d *deployment) order(result *Result) apply.Deployment {
	record := d.record.Record
	record.Own = record.Own.StillKept(d.live, d.held)
	record.Package.Name = d.recordName()
	record.Package.NamespaceOverride = d.resolved.Config.NamespaceOverride
	record.Package.CLIVersion = d.cliVersion()
	return apply.Deployment{
		Plan: result.Plan, Definition: d.definition, Selected: names(d.selected), Record: record,
		Config: d.resolved.Config, SkipUnchanged: d.SkipUnchanged, Inherited: d.inherited(),
		Identity: d.identity(), Accepted: acceptances(result.Plan, d.User),
		Event: state.PackageEvent{
			Type: state.Deploy, Timestamp: d.Now(), Version: d.definition.Metadata.Version,
			Flavor: d.definition.Build.Flavor, Digest: d.pkg.Digest(), Source: d.pkg.Source(), ConfigDigest: d.digest,
		},
		Finally: func(ctx context.Context, done apply.Result) error {
			done.Outcome = state.Succeeded // what it is, unless a hook says no
			outcome, err := d.asker().ask(ctx, hook.PostDeploy, result.Plan, hookResult(done))
			if err != nil {
				return err
			}
			result.Outcomes = append(result.Outcomes, outcome)
			return outcome.Err()
		},
	}
}

func (d *deployment) engine(p plan.Plan, r *recorder) apply.Engine {
	e := apply.Engine{Steps: d.steps(), Sink: d.Sink, Now: d.Now}
	if r == nil {
		return e
	}
	e.Recorder, e.Images = r, d.pruner()
	e.Releases = &releases{
		client: d.charts, own: d.record.Own, plan: p, wanted: d.byRelease(), revisions: map[object.Release]int{},
		allowDataLoss: d.AllowDataLoss, timeout: d.Common,
	}
	return e
}

func (d *deployment) byRelease() map[object.Release]release {
	out := map[object.Release]release{}
	for _, r := range d.wanted {
		out[r.Release] = r
	}
	return out
}

func requireCluster(components []spec.Component) bool {
	return slices.ContainsFunc(components, func(c spec.Component) bool { return c.RequiresCluster() })
}

func names(components []spec.Component) []string {
	out := make([]string, len(components))
	for i, c := range components {
		out[i] = c.Name
	}
	return out
}
