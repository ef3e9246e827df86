package chart

import (
	"context"
	"fmt"
	"slices"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/object"
)

// UninstallOptions are the plan's decisions about a release that goes.
type UninstallOptions struct {
	// Keep are objects that must survive.
	Keep []object.Ref
	// KeepOther keeps further objects by how they live at that moment; nil keeps none.
	KeepOther func(object.Live) bool
	// Former are objects that upgrades of the release kept: it has them no more, and they lose what
	// ties them to it.
	Former []object.Instance
	// AllowDataLoss lets Namespaces, PersistentVolumes, claims, and CRDs that have resources go.
	AllowDataLoss bool
	// NoHooks leaves out the hooks that the release has for its uninstall.
	NoHooks bool
	Timeout time.Duration
	// BeforeDelete is called with all objects that will be kept, before anything is written. Its
	// error ends the operation.
	BeforeDelete func(kept []object.Instance) error
}

// UninstallResult is what an Uninstall did, as far as it came, also beside an error.
type UninstallResult struct {
	Gone          bool // there was no such release
	Deleted       []object.Ref
	Kept          []object.Ref // they belong to no release and no package any more
	Foreign       []object.Ref // of another owner by then: left alone
	FailedDeletes []FailedDelete
}

// Uninstall deletes a release: the objects of all revisions since the last deployed one, each only
// while the release owns it and nothing keeps it. It is safe to repeat, also after it was cut off:
// the release stays, as uninstalling, until everything that should go is gone.
func (c *Client) Uninstall(ctx context.Context, r object.Release, o UninstallOptions) (UninstallResult, error) {
	if err := c.canWrite(); err != nil {
		return UninstallResult{}, err
	}
	u := &uninstalling{c: c, release: r, o: o}
	if err := u.run(ctx); err != nil {
		return u.result, fmt.Errorf("uninstalling release %q: %w", r, err)
	}
	return u.result, nil
}

// uninstalling is one Uninstall.
type uninstalling struct {
	c       *Client
	release object.Release
	o       UninstallOptions
	result  UninstallResult
}

func (u *uninstalling) run(ctx context.Context) error {
	stored, err := u.c.stored(ctx, u.release)
	if err != nil {
		return err
	}
	if len(stored) == 0 {
		u.result.Gone = true
		u.c.emit(event.Warn, u.release, "the release is already gone")
		return u.letGo(ctx, instanceRefs(u.o.Former))
	}
	h, err := history(u.release, stored, u.c.scope(ctx))
	if err != nil {
		return err
	}
	kept, err := u.decide(ctx, h)
	if err != nil {
		return err
	}
	if u.o.BeforeDelete != nil {
		if err := u.o.BeforeDelete(kept); err != nil {
			return fmt.Errorf("recording what is kept of it: %w", err)
		}
	}
	keep := instanceRefs(kept)
	if err := u.mark(ctx, stored, h, keep); err != nil {
		return err
	}
	timeout := Wanted{Timeout: u.o.Timeout}.timeout()
	op, err := u.c.operate(ctx, u.release, rules{
		keep:          keySet(keep),
		keepOther:     u.o.KeepOther,
		allowDataLoss: u.o.AllowDataLoss,
		hooks:         h.hooks(),
		uninstall:     true,
	}, timeout)
	if err != nil {
		return err
	}
	// Helm forgets the release even when its objects would not go or a hook failed.
	op.store.beforePurge = func() error {
		if err := op.kube.failure(); err != nil {
			return err
		}
		return u.letGo(ctx, union(keep, op.kube.kept(), instanceRefs(u.o.Former)))
	}
	helm := action.NewUninstall(op.config)
	helm.Wait = true
	helm.Timeout = timeout
	helm.DisableHooks = u.o.NoHooks
	u.c.emit(event.Info, u.release, "uninstalling the release")
	err = op.run(ctx, func(context.Context) error {
		_, err := helm.Run(u.release.Name)
		return err
	})
	op.kube.note(func(j *journal) {
		u.result.Deleted, u.result.Foreign, u.result.FailedDeletes = j.deleted, j.foreign, j.failed
		u.result.Kept = union(keep, j.kept)
	})
	return err
}

// decide returns what lives of the release and must be kept.
func (u *uninstalling) decide(ctx context.Context, h History) ([]object.Instance, error) {
	docs := h.ObjectsSinceDeployed()
	live, err := u.c.Observe(ctx, refs(docs))
	if err != nil {
		return nil, err
	}
	keep := keySet(u.o.Keep)
	var kept []object.Instance
	for _, d := range docs {
		has, ok := live[d.Key()]
		if !ok {
			continue
		}
		// What an interrupted uninstall let go already is still among what was asked to be kept.
		ours := has.Owner == u.release || has.Owner == (object.Release{}) && keep[d.Key()]
		gk := schema.FromAPIVersionAndKind(d.APIVersion, d.Kind).GroupKind()
		switch {
		case !ours:
		case keep[d.Key()], d.Keep(), object.AsksToBeKept(has.Annotations),
			!u.o.AllowDataLoss && (dataLossKind(gk) || isCRD(gk) && has.HoldsData),
			u.o.KeepOther != nil && u.o.KeepOther(has):
			kept = append(kept, object.Instance{Ref: d.Ref, UID: has.UID})
		}
	}
	slices.SortFunc(kept, func(a, b object.Instance) int { return a.Compare(b.Ref) })
	return kept, nil
}

func instanceRefs(objects []object.Instance) []object.Ref {
	out := make([]object.Ref, len(objects))
	for i, o := range objects {
		out[i] = o.Ref
	}
	return out
}

// mark makes the newest revision's stored manifest, by which Helm decides, hold all objects that may
// live, and tell which of them to keep.
func (u *uninstalling) mark(ctx context.Context, stored []*release.Release, h History, kept []object.Ref) error {
	newest := stored[len(stored)-1]
	manifest, changed, err := uninstallManifest(stored, h, keySet(kept), u.c.scope(ctx))
	if err != nil {
		return err
	}
	if !changed {
		return nil
	}
	newest.Manifest = manifest
	if err := u.c.store(ctx, u.o.Timeout, u.release).Update(storageKey(u.release.Name, newest.Version), newest); err != nil {
		return fmt.Errorf("marking what is kept in revision %d: %w", newest.Version, err)
	}
	return nil
}

// uninstallManifest returns the manifest to uninstall by, and whether it differs from the newest
// revision's own.
func uninstallManifest(stored []*release.Release, h History, keep map[object.Key]bool, scope scoper) (string, bool, error) {
	newest := stored[len(stored)-1]
	since := h.since()
	changed := false
	seen := map[object.Key]bool{}
	var pieces []piece
	for _, rel := range slices.Backward(stored) {
		if rel.Version < since {
			break
		}
		for _, p := range split(rel.Manifest) {
			objs, err := p.parse()
			if err != nil {
				return "", false, fmt.Errorf("reading revision %d: %w", rel.Version, err)
			}
			for _, obj := range objs {
				ref, err := reference(obj, h.Release.Namespace, scope)
				if err != nil {
					return "", false, err
				}
				if seen[ref.Key()] {
					continue
				}
				seen[ref.Key()] = true
				changed = changed || rel != newest
				// A mark that an uninstall under another plan left is none of this one's.
				mark := object.UnmarkKept
				if keep[ref.Key()] {
					mark = object.MarkKept
				}
				annotations, marked := mark(obj.GetAnnotations())
				if marked {
					changed = true
					obj.SetAnnotations(annotations)
				}
				text, err := yaml.Marshal(obj.Object)
				if err != nil {
					return "", false, fmt.Errorf("writing %s as YAML: %w", ref, withoutBody(err))
				}
				pieces = append(pieces, piece{source: p.source, text: string(text)})
			}
		}
	}
	return join(pieces), changed, nil
}

// letGo takes from kept objects the metadata that ties them to the release and the package. It
// comes before the release is forgotten, so that a repeat can finish it.
func (u *uninstalling) letGo(ctx context.Context, kept []object.Ref) error {
	live, err := u.c.fetch(ctx, kept, metadataOnly)
	if err != nil {
		return err
	}
	for _, ref := range sortedRefs(kept) {
		obj, ok := live[ref.Key()]
		if !ok || owner(obj.GetLabels(), obj.GetAnnotations()) != u.release {
			continue
		}
		m, err := u.c.mapping(obj.GroupVersionKind())
		if err != nil {
			return fmt.Errorf("letting go of %s: %w", ref, err)
		}
		patch, err := ownershipPatch(obj.GetUID(), pick(nil, ownershipLabels), pick(nil, ownershipAnnotations))
		if err == nil {
			err = retry(ctx, time.Time{}, func() error {
				_, err := u.c.resource(m, ref.Namespace).
					Patch(ctx, ref.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
				return err
			})
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("letting go of %s: %w", ref, err)
		}
	}
	return nil
}

// union joins lists of references, each object once.
func union(lists ...[]object.Ref) []object.Ref {
	seen := map[object.Key]bool{}
	var out []object.Ref
	for _, ref := range slices.Concat(lists...) {
		if !seen[ref.Key()] {
			seen[ref.Key()] = true
			out = append(out, ref)
		}
	}
	return sortedRefs(out)
}
