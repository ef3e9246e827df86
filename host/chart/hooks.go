package chart

import (
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/zarf-host/zarf-host/host/object"
)

// HooksNow returns the objects of a rendering's hooks that the operation which Apply will choose is
// going to create: those of an install, or those of an upgrade.
func (r Rendered) HooksNow(w Wanted) []Document {
	events := []release.HookEvent{release.HookPreInstall, release.HookPostInstall}
	if w.upgrade {
		events = []release.HookEvent{release.HookPreUpgrade, release.HookPostUpgrade}
	}
	return slices.DeleteFunc(slices.Clone(r.Hooks), func(d Document) bool {
		return !slices.ContainsFunc(events, func(e release.HookEvent) bool {
			return listed(d.Annotations[release.HookAnnotation], string(e))
		})
	})
}

// ReplacesHook reports whether Helm deletes what has a hook's name before it creates the hook. It is
// what hooks without a policy get; CRDs are exempt.
func (d Document) ReplacesHook() bool {
	if isCRD(schema.FromAPIVersionAndKind(d.APIVersion, d.Kind).GroupKind()) {
		return false
	}
	policy := strings.TrimSpace(d.Annotations[release.HookDeleteAnnotation])
	return policy == "" || listed(policy, string(release.HookBeforeHookCreation))
}

// listed reports whether a comma-separated annotation has an entry.
func listed(annotation, entry string) bool {
	return slices.ContainsFunc(strings.Split(annotation, ","), func(s string) bool {
		return strings.EqualFold(strings.TrimSpace(s), entry)
	})
}

// hookRefs are the objects of a stored release's hooks.
func hookRefs(rel *release.Release, namespace string, scope scoper) ([]object.Ref, error) {
	var out []object.Ref
	for _, h := range rel.Hooks {
		docs, err := documents(h.Manifest, namespace, scope)
		if err != nil {
			return nil, fmt.Errorf("reading hook %s: %w", h.Path, err)
		}
		out = append(out, refs(docs)...)
	}
	return out, nil
}

// HasHook reports whether a stored revision has a hook of this object: what lives by its name then is
// the release's.
func (h History) HasHook(ref object.Ref) bool { return h.hooks()[ref.Key()] }

func (h History) hooks() map[object.Key]bool {
	out := map[object.Key]bool{}
	for _, r := range h.Revisions {
		for _, ref := range r.hooks {
			out[ref.Key()] = true
		}
	}
	return out
}

// mayDeleteHook reports whether a live object that has a hook's name may go as a hook does. Helm asks
// nothing: it deletes by name, so that a chart could take a namespace, a volume or anything of others.
func (k *kubeClient) mayDeleteHook(info *resource.Info, live *unstructured.Unstructured) bool {
	k.mu.Lock()
	ours := k.journal.created[live.GetUID()] // made by this very run: nothing can be lost with it
	k.mu.Unlock()
	if ours {
		return true
	}
	ref, gk := refOf(info), info.Mapping.GroupVersionKind.GroupKind()
	switch of := owner(live.GetLabels(), live.GetAnnotations()); {
	case k.rules.keep[ref.Key()]:
		return false
	case of == (object.Release{}):
		if !k.rules.hooks[ref.Key()] && !runsOnce(gk) && !k.rules.takeOwnership {
			return false
		}
	case of != k.release && !k.rules.takeOwnership:
		return false
	}
	return k.rules.hookDataLoss || !dataLossKind(gk)
}

// runsOnce reports whether an object is only there to run to its end: nothing is lost with it. Hooks
// of these kinds that Helm or Zarf left behind carry no owner.
func runsOnce(gk schema.GroupKind) bool {
	return gk == schema.GroupKind{Group: "batch", Kind: "Job"} || gk == schema.GroupKind{Kind: "Pod"}
}

// ownHook marks a hook as the release's, which Helm does not: what is left of it later can be told
// from an object of somebody else.
func ownHook(hook *unstructured.Unstructured, r object.Release) *unstructured.Unstructured {
	hook = hook.DeepCopy()
	labels, annotations := hook.GetLabels(), hook.GetAnnotations()
	if labels == nil {
		labels = map[string]string{}
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	labels[labelManagedBy] = managedByHelm
	annotations[annotationReleaseName], annotations[annotationReleaseNamespace] = r.Name, r.Namespace
	hook.SetLabels(labels)
	hook.SetAnnotations(annotations)
	return hook
}
