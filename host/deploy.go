package host

import (
	"context"
	"errors"
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
	"github.com/zarf-host/zarf-host/host/policy"
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
	// ForceDifferential goes on where the registry lacks what a differential package leaves out.
	ForceDifferential bool
	// SkipValuesSchema does not hold the values against the package's schema.
	SkipValuesSchema bool
}

// Result is what an operation came to.
type Result struct {
	Plan plan.Plan
	// Policies are those that applied.
	Policies []policy.Ref
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
	if err := errors.Join(checkReleaseName(o.ReleaseName), o.checkTempDir()); err != nil {
		return Result{}, err
	}
	ctx, cancel := o.bounded(ctx)
	defer cancel()
	d := &deployment{DeployOptions: o, start: o.Now(), secrets: secrets}
	defer d.close()
	defer func() { d.release(ctx) }()
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
	if err := d.guard(ctx, &d.Common, d.conn, d.pkg); err != nil {
		return Result{}, d.refused(ctx, err)
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
	guarded
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
	leftOut    leftOut           // what a differential package counts on
	contents   map[string]content
	wanted     []release

	conn     *cluster.Cluster
	charts   *chart.Client
	services *services // nil where no cluster is needed
	images   *registry.Content
	record   cluster.Record
	live     map[object.Key]object.Live            // what was observed last
	held     func(object.Release, object.Key) bool // by the manifests of releases
	stored   *state.DeployConfig                   // the recorded configuration that is used again
	secrets  *mask                                 // takes what was supplied out of what comes out
	found    []plan.Image                          // what the registry had when it was asked first
	// unprunable is why images cannot be pruned although that was asked for.
	unprunable *ImagePruneError
}

func (d *deployment) close() {
	_ = d.services.close() // everything was confirmed
	if d.pkg != nil {
		_ = d.pkg.Close() // only read from
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
	d.services.leftOut, d.services.elsewhere, d.services.force = d.leftOut, elsewhere(d.definition.Extension), d.ForceDifferential
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

func (d *deployment) name() string {
	return state.SecretName(d.recordName(), d.resolved.Config.NamespaceOverride)
}

// recordName is the name that the package is recorded under.
func (d *deployment) recordName() string { return d.definition.Metadata.Name }

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
