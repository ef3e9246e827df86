package chart

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/state"
)

// ApplyOptions are the plan's decisions about one release.
type ApplyOptions struct {
	// Keep are objects that the release renders no more and that must survive.
	Keep []object.Ref
	// AllowDataLoss lets an upgrade delete Namespaces, PersistentVolumes, claims, and CRDs that
	// have resources, where it renders them no more.
	AllowDataLoss bool
	// Adopt are objects of somebody else's that the release takes over, each only while it has the
	// UID that the plan saw.
	Adopt map[object.Key]string
	// Replace installs over a release that was never deployed as if it were new, so that install
	// hooks run. It is implied where the install was interrupted.
	Replace bool
	// OnRevision is called with the number of each revision before it is created, and before
	// anything else is written. Its error ends the operation.
	OnRevision func(revision int) error
}

// Result is what an Apply did, as far as it came, also beside an error.
type Result struct {
	Revision       int // the newest revision that this created, or 0
	RolledBackTo   int // the revision that a failed upgrade was rolled back to, or 0
	Objects        []object.Ref
	ConnectStrings state.ConnectStrings
	Adopted        []object.Ref
	Deleted        []object.Ref
	Kept           []object.Ref
	FailedDeletes  []FailedDelete
}

// mode is how a release is brought to what is wanted.
type mode int

const (
	modeInstall mode = iota
	modeReplace
	modeUpgrade
)

// plannedMode returns how Apply will go on from what is stored, and as which revision the chart
// will be rendered: an install is always its first.
func plannedMode(h History) (mode, int) {
	latest, ok := h.Latest()
	switch {
	case !ok:
		return modeInstall, 1
	case latest.Status == string(release.StatusUninstalled):
		return modeReplace, 1
	case latest.Status == string(release.StatusFailed) && !h.EverDeployed() && strings.HasPrefix(latest.Description, interruptedInstall):
		return modeReplace, 1
	default:
		return modeUpgrade, latest.Number + 1
	}
}

// Apply installs the release, or upgrades it where it exists. An upgrade that fails is rolled back
// to the deployed revision; a first install that fails stays, marked failed. Nothing is rolled back
// when ctx ends; the revision is then marked failed through the second client.
func (c *Client) Apply(ctx context.Context, w Wanted, o ApplyOptions) (Result, error) {
	if err := c.canWrite(); err != nil {
		return Result{}, err
	}
	a := &applying{c: c, w: w, o: o}
	if err := a.prepare(ctx); err != nil {
		return a.result, fmt.Errorf("preparing release %q: %w", w.Release, err)
	}
	verb := "installing"
	if a.mode == modeUpgrade {
		verb = "upgrading"
	}
	c.emit(event.Info, w.Release, "%s chart %q %s as revision %d", verb, a.chartName, a.chartVersion, a.revision)
	err := a.run(ctx)
	if err != nil {
		err = fmt.Errorf("%s chart %q as release %q: %w", verb, a.chartName, w.Release, err)
	}
	return a.result, err
}

func (c *Client) canWrite() error {
	if err := c.online(); err != nil {
		return err
	}
	if c.waiter == nil {
		return errNoWaiter
	}
	return nil
}

// applying is one Apply.
type applying struct {
	c *Client
	w Wanted
	o ApplyOptions

	mode         mode
	revision     int // the revision to be created
	history      History
	earlier      []*unstructured.Unstructured
	chartName    string
	chartVersion string
	result       Result
}

// prepare reads and renders, and refuses what cannot work. It writes nothing.
func (a *applying) prepare(ctx context.Context) error {
	stored, err := a.c.stored(ctx, a.w.Release)
	if err != nil {
		return err
	}
	if a.history, err = history(a.w.Release, stored, a.c.scope(ctx)); err != nil {
		return err
	}
	latest, exists := a.history.Latest()
	if exists && (release.Status(latest.Status).IsPending() || latest.Status == string(release.StatusUninstalling)) {
		return &PendingError{Release: a.w.Release, Revision: latest.Number, Status: latest.Status}
	}
	var as int
	a.mode, as = plannedMode(a.history)
	if a.o.Replace && a.mode == modeUpgrade && latest.Status == string(release.StatusFailed) && !a.history.EverDeployed() {
		a.mode, as = modeReplace, 1
	}
	a.w.revision, a.w.upgrade = as, a.mode == modeUpgrade
	a.revision = latest.Number + 1
	if a.earlier, err = objectsSince(stored, a.history.since()); err != nil {
		return err
	}
	ch, err := a.w.load()
	if err != nil {
		return err
	}
	if asksForAPIs(ch) {
		a.c.refreshAPIs() // an action of the package may have brought some since
	}
	rendered, err := a.c.render(ctx, a.w)
	if err != nil {
		return fmt.Errorf("rendering it: %w", err)
	}
	rendered.reasons = make([]string, len(rendered.result.objects))
	described, err := rendered.describe(a.w.Release.Namespace, a.c.scope(ctx))
	if err != nil {
		return err
	}
	a.chartName, a.chartVersion = described.ChartName, described.ChartVersion
	a.result.Objects, a.result.ConnectStrings = described.Refs(), described.ConnectStrings
	if err := a.conflicts(ctx, described.Refs()); err != nil {
		return err
	}
	if a.w.ServerSideApply == "true" {
		a.c.emit(event.Warn, a.w.Release, "server-side apply is asked for and not to be had: objects are applied client-side")
	}
	return nil
}

// conflicts finds objects that are somebody else's before anything is written; they are looked at
// again when they are.
func (a *applying) conflicts(ctx context.Context, refs []object.Ref) error {
	live, err := a.c.fetch(ctx, refs, metadataOnly)
	if err != nil {
		return err
	}
	rules := a.rules()
	var errs []error
	for _, ref := range refs {
		if has, ok := live[ref.Key()]; ok && rules.claim(a.w.Release, ref.Key(), has) == claimNone {
			errs = append(errs, &ConflictError{
				Object: ref, Owner: owner(has.GetLabels(), has.GetAnnotations()), Wanted: a.w.Release,
			})
		}
	}
	return errors.Join(errs...)
}

func (a *applying) rules() rules {
	return rules{
		keep:          keySet(a.o.Keep),
		adopt:         a.o.Adopt,
		takeOwnership: a.w.TakeOwnership,
		allowDataLoss: a.o.AllowDataLoss,
		earlier:       a.earlier,
		hooks:         a.history.hooks(),
		hookDataLoss:  a.o.AllowDataLoss,
	}
}

// run writes.
func (a *applying) run(ctx context.Context) error {
	if err := a.announce(a.revision); err != nil {
		return err
	}
	ch, err := a.w.load()
	if err != nil {
		return err
	}
	needed := postRendered{namespaces: map[string]*unstructured.Unstructured{}}
	needed.need(a.w.Release.Namespace)
	if err := a.c.ensureNamespaces(ctx, a.w, needed); err != nil {
		return err
	}
	if a.mode != modeUpgrade {
		if err := a.c.installCRDs(ctx, a.w, ch); err != nil {
			return err
		}
	}
	op, err := a.c.operate(ctx, a.w.Release, a.rules(), a.w.timeout())
	if err != nil {
		return err
	}
	op.store.fillHook = a.w.fillHook
	values := map[string]any{}
	merge(values, a.w.Values)
	post := postRenderer{ctx: ctx, c: a.c, w: a.w}
	err = op.run(ctx, func(helm context.Context) error {
		if a.mode == modeUpgrade {
			_, err := a.upgrade(op, post).RunWithContext(helm, a.w.Release.Name, ch, values)
			return err
		}
		_, err := a.install(op, post).RunWithContext(helm, ch, values)
		return err
	})
	if err == nil {
		err = op.store.unwritten(a.revision, a.w.Release.Name)
		if err != nil {
			err = fmt.Errorf("recording that revision %d is deployed: %w", a.revision, err)
		}
	}
	created := op.store.wasCreated(a.revision, a.w.Release.Name)
	a.take(op)
	if created {
		a.result.Revision = a.revision
	}
	switch {
	case err == nil:
		return a.recordLeftovers(ctx, op)
	case ctx.Err() != nil:
		a.c.closeAfter(ctx, a.w.Release, a.revision)
		return err
	case a.mode == modeUpgrade && created:
		return a.rollback(ctx, op, err)
	}
	return err
}

func (a *applying) announce(revision int) error {
	if a.o.OnRevision == nil {
		return nil
	}
	if err := a.o.OnRevision(revision); err != nil {
		return fmt.Errorf("recording that revision %d is about to be created: %w", revision, err)
	}
	return nil
}

// take moves what an operation did into the result.
func (a *applying) take(op *operation) {
	op.kube.note(func(j *journal) {
		for _, adopted := range j.adopted {
			a.result.Adopted = append(a.result.Adopted, refOf(adopted.info))
		}
		a.result.Deleted = append(a.result.Deleted, j.deleted...)
		a.result.Kept = union(a.result.Kept, j.kept)
		a.result.FailedDeletes = append(a.result.FailedDeletes, j.failed...)
	})
}

// recordLeftovers makes the new revision tell that earlier ones hold objects that could not be
// deleted, so that they are not forgotten: the next upgrade or the uninstall tries again.
func (a *applying) recordLeftovers(ctx context.Context, op *operation) error {
	if len(a.result.FailedDeletes) == 0 {
		return nil
	}
	stored, err := a.c.stored(ctx, a.w.Release)
	if err != nil {
		return err
	}
	newest := stored[len(stored)-1]
	newest.Info.Description = leftoversDescription + strconv.Itoa(a.history.since())
	if err := op.store.Update(storageKey(newest.Name, newest.Version), newest); err != nil {
		return fmt.Errorf("recording what could not be deleted: %w", err)
	}
	return nil
}

// install and upgrade set Helm up. Helm takes over whatever it finds (TakeOwnership), since our
// kube client decides that, and installs no CRDs, since we did.
func (a *applying) install(op *operation, post postRenderer) *action.Install {
	in := action.NewInstall(op.config)
	in.ReleaseName = a.w.Release.Name
	in.Namespace = a.w.Release.Namespace
	in.Replace = a.mode == modeReplace
	in.Wait = !a.w.NoWait
	in.Timeout = a.w.timeout()
	in.SkipCRDs = true
	in.SkipSchemaValidation = a.w.SkipSchemaValidation
	in.TakeOwnership = true
	in.PostRenderer = post
	return in
}

func (a *applying) upgrade(op *operation, post postRenderer) *action.Upgrade {
	up := action.NewUpgrade(op.config)
	up.Namespace = a.w.Release.Namespace
	up.Wait = !a.w.NoWait
	up.Timeout = a.w.timeout()
	up.SkipCRDs = true
	up.SkipSchemaValidation = a.w.SkipSchemaValidation
	up.TakeOwnership = true
	up.PostRenderer = post
	up.MaxHistory = maxHistory
	up.CleanupOnFail = true
	up.ResetValues = true // no values means none, not those of the last revision
	return up
}

// rollback brings a release whose upgrade failed back to its deployed revision. It always returns
// an error: why the upgrade failed, and what became of it.
func (a *applying) rollback(ctx context.Context, failed *operation, why error) error {
	deployed, ok := a.history.Deployed()
	if !ok {
		return why
	}
	a.c.emit(event.Warn, a.w.Release, "the upgrade failed and is rolled back to revision %d: %v", deployed.Number, why)
	a.returnAdopted(ctx, failed)
	if err := a.announce(a.revision + 1); err != nil {
		return errors.Join(why, err)
	}
	err := a.c.rollBack(ctx, rollback{
		release:  a.w.Release,
		to:       deployed.Number,
		revision: a.revision + 1,
		keep:     slices.Concat(a.o.Keep, a.result.Adopted),
		wait:     !a.w.NoWait,
		timeout:  a.w.timeout(),
		journal:  a.take,
	})
	if err != nil {
		return errors.Join(why, fmt.Errorf("rolling back to revision %d: %w", deployed.Number, err))
	}
	a.result.Revision, a.result.RolledBackTo = a.revision+1, deployed.Number
	return fmt.Errorf("%w; it was rolled back to revision %d", why, deployed.Number)
}

// returnAdopted gives what the failed upgrade took over back to who had it, as far as that goes: the
// rollback would delete it otherwise.
func (a *applying) returnAdopted(ctx context.Context, failed *operation) {
	var adopted []adoption
	failed.kube.note(func(j *journal) { adopted = append(adopted, j.adopted...) })
	for _, x := range adopted {
		ref := refOf(x.info)
		patch, err := ownershipPatch(x.uid, x.labels, x.annotations)
		if err == nil {
			err = retry(ctx, time.Time{}, func() error {
				_, err := a.c.resource(x.info.Mapping, x.info.Namespace).
					Patch(ctx, x.info.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
				return err
			})
		}
		if err != nil {
			a.c.emit(event.Warn, a.w.Release, "%s could not be given back to its former owner: %v", ref, err)
		}
	}
}

// objectsSince returns the objects of the stored revisions from a number on, oldest first.
func objectsSince(stored []*release.Release, since int) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, rel := range stored {
		if rel.Version < since {
			continue
		}
		objs, err := parseAll(rel.Manifest)
		if err != nil {
			return nil, fmt.Errorf("reading revision %d: %w", rel.Version, err)
		}
		out = append(out, objs...)
	}
	return out, nil
}
