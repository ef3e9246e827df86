package chart

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/object"
)

// outcome is what became of one object of a release.
type outcome int

const (
	outcomeNone outcome = iota
	outcomeCreated
	outcomeUpdated
)

// adoption is an object that was taken over, with the metadata that tied it to its former owner.
type adoption struct {
	info        *resource.Info
	uid         types.UID
	labels      map[string]*string
	annotations map[string]*string
}

// claim is by what right a release writes to a live object.
type claim int

const (
	claimNone claim = iota // it is somebody else's
	claimOwned
	claimAdopted
)

func (r rules) claim(release object.Release, key object.Key, live *unstructured.Unstructured) claim {
	switch {
	case owner(live.GetLabels(), live.GetAnnotations()) == release:
		return claimOwned
	case r.takeOwnership, r.adopt[key] != "" && r.adopt[key] == string(live.GetUID()):
		return claimAdopted
	default:
		return claimNone
	}
}

// put creates or changes one object. base is the form that an earlier revision gave it, or nil.
func (k *kubeClient) put(info, base *resource.Info) (outcome, error) {
	ref := refOf(info)
	target, err := asUnstructured(info.Object)
	if err != nil {
		return outcomeNone, fmt.Errorf("reading %s: %w", ref, err)
	}
	if base == nil {
		_, err := k.create(info, target, false)
		if err == nil {
			return outcomeCreated, nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return outcomeNone, err
		}
	}
	live, err := k.get(info)
	if apierrors.IsNotFound(err) {
		if _, err := k.create(info, target, false); err != nil {
			return outcomeNone, err
		}
		return outcomeCreated, nil
	}
	if err != nil {
		return outcomeNone, fmt.Errorf("reading %s: %w", ref, err)
	}
	right := k.rules.claim(k.release, ref.Key(), live)
	former := owner(live.GetLabels(), live.GetAnnotations())
	if right == claimNone {
		if k.rules.leaveForeign {
			k.note(func(j *journal) { j.foreign = append(j.foreign, ref) })
			k.c.emit(event.Warn, k.release, "%s belongs to somebody else by now and is left alone", ref)
			return outcomeNone, nil
		}
		return outcomeNone, &ConflictError{Object: ref, Owner: former, Wanted: k.release}
	}
	had := k.earlierForm(ref, former)
	if had == nil && base != nil && base != info {
		if had, err = asUnstructured(base.Object); err != nil {
			return outcomeNone, fmt.Errorf("reading the earlier %s: %w", ref, err)
		}
	}
	if had == nil {
		had = target // nothing is known to have been set that the target lacks
	}
	return k.change(info, had, target, live, right == claimAdopted)
}

func (k *kubeClient) change(info *resource.Info, had, target, live *unstructured.Unstructured, adopt bool) (outcome, error) {
	ref := refOf(info)
	patch, kind, err := threeWayPatch(info, had, target, live)
	if err != nil {
		return outcomeNone, fmt.Errorf("changing %s: %w", ref, err)
	}
	if patch == nil {
		return outcomeUpdated, info.Refresh(live, true)
	}
	if patch, err = withUID(patch, live.GetUID()); err != nil {
		return outcomeNone, fmt.Errorf("changing %s: %w", ref, err)
	}
	if adopt {
		k.note(func(j *journal) {
			j.adopted = append(j.adopted, adoption{
				info: info, uid: live.GetUID(),
				labels:      pick(live.GetLabels(), ownershipLabels),
				annotations: pick(live.GetAnnotations(), ownershipAnnotations),
			})
		})
	}
	changed, err := k.patch(info, kind, patch)
	if err != nil {
		return outcomeNone, fmt.Errorf("changing %s: %w", ref, err)
	}
	if adopt {
		k.c.emit(event.Info, k.release, "took over %s", ref)
	} else {
		k.c.emit(event.Debug, k.release, "changed %s", ref)
	}
	return outcomeUpdated, info.Refresh(changed, true)
}

// earlierForm is what an object was applied as before: by the revisions of this release that may
// have been applied to it, all of them merged, since any may have been the last, or else by the
// release that owns it now. It is nil where none says.
func (k *kubeClient) earlierForm(ref object.Ref, former object.Release) *unstructured.Unstructured {
	had := map[string]any{}
	for _, obj := range k.rules.earlier {
		if refOfObject(obj, ref.Namespace).Key() == ref.Key() {
			merge(had, obj.Object)
		}
	}
	if len(had) > 0 {
		return &unstructured.Unstructured{Object: had}
	}
	if former == (object.Release{}) || former == k.release {
		return nil
	}
	stored, err := k.c.stored(k.ctx, former)
	if err != nil {
		k.c.emit(event.Warn, k.release, "what release %q made of %s cannot be had, so fields that it set stay: %v", former, ref, err)
		return nil
	}
	for _, rel := range slices.Backward(stored) {
		objs, err := parseAll(rel.Manifest)
		if err != nil {
			continue
		}
		namespace := former.Namespace
		if ref.Namespace == "" {
			namespace = ""
		}
		for _, obj := range objs {
			if refOfObject(obj, namespace).Key() == ref.Key() {
				return obj
			}
		}
	}
	return nil
}

// refOfObject names an object for comparison with one in namespace, or with one that has none.
func refOfObject(obj *unstructured.Unstructured, namespace string) object.Ref {
	ref := object.Ref{APIVersion: obj.GetAPIVersion(), Kind: obj.GetKind(), Namespace: obj.GetNamespace(), Name: obj.GetName()}
	if ref.Namespace == "" {
		ref.Namespace = namespace
	}
	return ref
}

// createHook creates a hook. Helm has deleted the one before, if its policy says so.
func (k *kubeClient) createHook(info *resource.Info) error {
	obj, err := asUnstructured(info.Object)
	if err != nil {
		return fmt.Errorf("reading hook %s: %w", refOf(info), err)
	}
	if _, err := k.create(info, ownHook(obj, k.release), true); err != nil {
		return fmt.Errorf("running hook %s: %w", refOf(info), err)
	}
	return nil
}

// create creates one object; where it exists already, that error is returned as it is. An object
// whose metadata tells no owner is taken for ours (mine) if it exists on a further try: the first
// one came through, its answer did not.
func (k *kubeClient) create(info *resource.Info, obj *unstructured.Unstructured, mine bool) (bool, error) {
	ref := refOf(info)
	var made *unstructured.Unstructured
	tried := false
	err := retry(k.ctx, k.deadline, func() (err error) {
		client := k.c.resource(info.Mapping, info.Namespace)
		made, err = client.Create(k.ctx, obj, metav1.CreateOptions{FieldManager: fieldManager})
		if mine && tried && apierrors.IsAlreadyExists(err) {
			made, err = client.Get(k.ctx, info.Name, metav1.GetOptions{})
		}
		tried = true
		return err
	})
	if apierrors.IsAlreadyExists(err) {
		return false, err
	}
	if err != nil {
		return false, fmt.Errorf("creating %s: %w", ref, err)
	}
	k.note(func(j *journal) { j.created[made.GetUID()] = true })
	k.c.emit(event.Debug, k.release, "created %s", ref)
	k.c.added(made)
	return true, info.Refresh(made, true)
}

// added looks whether an object that was applied brings an API.
func (c *Client) added(obj *unstructured.Unstructured) {
	gk := obj.GroupVersionKind().GroupKind()
	if isCRD(gk) {
		c.sawCRD(obj)
	}
	if isCRD(gk) || gk.Kind == "APIService" {
		c.refreshAPIs()
	}
}

func (k *kubeClient) get(info *resource.Info) (*unstructured.Unstructured, error) {
	var live *unstructured.Unstructured
	err := retry(k.ctx, k.deadline, func() (err error) {
		live, err = k.c.resource(info.Mapping, info.Namespace).Get(k.ctx, info.Name, metav1.GetOptions{})
		return err
	})
	return live, err
}

func (k *kubeClient) patch(info *resource.Info, kind types.PatchType, patch []byte) (*unstructured.Unstructured, error) {
	var changed *unstructured.Unstructured
	err := retry(k.ctx, k.deadline, func() (err error) {
		changed, err = k.c.resource(info.Mapping, info.Namespace).
			Patch(k.ctx, info.Name, kind, patch, metav1.PatchOptions{FieldManager: fieldManager})
		return err
	})
	return changed, err
}

// removeFor deletes what Helm asks to delete: a hook without further question, as Helm does,
// anything else as remove says.
func (k *kubeClient) removeFor(info *resource.Info) (bool, error) {
	annotations, err := annotationsOf(info)
	if err != nil {
		return false, err
	}
	if !isHook(annotations) {
		return k.remove(info)
	}
	if isCRD(info.Mapping.GroupVersionKind.GroupKind()) {
		return false, nil
	}
	live, err := k.get(info)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err == nil && !k.mayDeleteHook(info, live) {
		k.c.emit(event.Warn, k.release, "%s is kept, though a hook has its name: it may hold data, or is not of this release", refOf(info))
		return false, nil
	}
	if err == nil {
		err = k.deleteLive(info, live)
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return false, fmt.Errorf("deleting hook %s: %w", refOf(info), err)
	}
	return true, nil
}

// remove deletes an object of the release, if it is the release's still and nothing keeps it, and
// notes what became of it. An error means that the operation cannot go on; a delete that failed is
// noted and is none.
func (k *kubeClient) remove(info *resource.Info) (bool, error) {
	ref := refOf(info)
	live, err := k.get(info)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		if k.ctx.Err() != nil {
			return false, k.ctx.Err()
		}
		k.failedDelete(ref, fmt.Errorf("reading it: %w", err))
		return false, nil
	}
	uid, named := k.rules.only[ref.Key()]
	if owner(live.GetLabels(), live.GetAnnotations()) != k.release || named && uid != string(live.GetUID()) {
		k.note(func(j *journal) { j.foreign = append(j.foreign, ref) })
		k.c.emit(event.Info, k.release, "%s is not of this release any more and is left alone", ref)
		return false, nil
	}
	k.mu.Lock()
	ours := k.journal.created[live.GetUID()] // made by this very run: nothing can be lost with it
	k.mu.Unlock()
	if !ours {
		why, err := k.keeps(ref, info, live)
		if err != nil {
			k.failedDelete(ref, err)
			return false, nil
		}
		if why != "" {
			k.note(func(j *journal) { j.kept = append(j.kept, ref) })
			k.c.emit(event.Info, k.release, "kept %s: %s", ref, why)
			return false, nil
		}
	}
	switch err := k.deleteLive(info, live); {
	case err == nil, apierrors.IsNotFound(err):
	case apierrors.IsConflict(err):
		// Another object has its name by now: the one that we meant is gone.
		k.note(func(j *journal) { j.foreign = append(j.foreign, ref) })
		return false, nil
	case k.ctx.Err() != nil:
		return false, k.ctx.Err()
	default:
		k.failedDelete(ref, err)
		return false, nil
	}
	k.note(func(j *journal) { j.deleted = append(j.deleted, ref) })
	k.c.emit(event.Debug, k.release, "deleted %s", ref)
	return true, nil
}

func (k *kubeClient) failedDelete(ref object.Ref, err error) {
	k.note(func(j *journal) { j.failed = append(j.failed, FailedDelete{Ref: ref, Err: err}) })
	k.c.emit(event.Warn, k.release, "%s could not be deleted: %v", ref, err)
}

// keeps says why an object must stay, or nothing.
func (k *kubeClient) keeps(ref object.Ref, info *resource.Info, live *unstructured.Unstructured) (string, error) {
	gk := live.GroupVersionKind().GroupKind()
	rendered, err := annotationsOf(info)
	if err != nil {
		return "", err
	}
	switch {
	case k.rules.keep[ref.Key()]:
		return "the plan keeps it", nil
	case object.AsksToBeKept(rendered), object.AsksToBeKept(live.GetAnnotations()):
		return "its resource policy is keep", nil
	case dataLossKind(gk) && !k.rules.allowDataLoss:
		return "deleting it may lose data", nil
	case !isCRD(gk) && k.rules.keepOther == nil, k.rules.allowDataLoss && k.rules.keepOther == nil:
		return "", nil
	}
	state, err := k.c.live(k.ctx, ref.Key(), live)
	switch {
	case err != nil:
		return "", err
	case isCRD(gk) && state.HoldsData && !k.rules.allowDataLoss:
		return "it has resources, which would go with it", nil
	case k.rules.keepOther != nil && k.rules.keepOther(state):
		return "the plan keeps it", nil
	}
	return "", nil
}

// deleteLive deletes the very object that was looked at.
func (k *kubeClient) deleteLive(info *resource.Info, live *unstructured.Unstructured) error {
	uid, policy := live.GetUID(), metav1.DeletePropagationBackground
	return retry(k.ctx, k.deadline, func() error {
		return k.c.resource(info.Mapping, info.Namespace).Delete(k.ctx, info.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &policy,
		})
	})
}

// note writes into the journal.
func (k *kubeClient) note(write func(*journal)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	write(&k.journal)
}

// staying are the objects that a deletion left alone.
func (k *kubeClient) staying() map[object.Key]bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	stays := keySet(k.journal.kept)
	for _, ref := range k.journal.foreign {
		stays[ref.Key()] = true
	}
	for _, f := range k.journal.failed {
		stays[f.Key()] = true
	}
	return stays
}

func asUnstructured(obj runtime.Object) (*unstructured.Unstructured, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u, nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, withoutBody(err)
	}
	return &unstructured.Unstructured{Object: content}, nil
}
