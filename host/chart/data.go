package chart

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/zarf-host/zarf-host/host/object"
)

// CustomResources returns the resources of a CustomResourceDefinition, which go when it is deleted.
func (c *Client) CustomResources(ctx context.Context, crd object.Ref) ([]object.Ref, error) {
	found, err := c.fetch(ctx, []object.Ref{crd}, metadataOnly)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	var out []object.Ref
	resource, kind := served(found[crd.Key()])
	err = pages(ctx, func(ctx context.Context, o metav1.ListOptions) (string, error) {
		list, err := c.meta.Resource(resource).List(ctx, o)
		if err != nil {
			return "", err
		}
		for _, item := range list.Items {
			out = append(out, object.Ref{
				APIVersion: resource.GroupVersion().String(), Kind: kind,
				Namespace: item.Namespace, Name: item.Name,
			})
		}
		return list.GetContinue(), nil
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("listing the resources of %s: %w", crd, err)
	}
	return sortedRefs(out), nil
}

// served returns the resource and kind that a CRD defines, in its first served version.
func served(crd *unstructured.Unstructured) (schema.GroupVersionResource, string) {
	var r schema.GroupVersionResource
	r.Group, _, _ = unstructured.NestedString(crd.Object, "spec", "group")
	r.Resource, _, _ = unstructured.NestedString(crd.Object, "spec", "names", "plural")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		version, ok := v.(map[string]any)
		if ok && version["served"] == true {
			r.Version, _ = version["name"].(string)
			break
		}
	}
	return r, kind
}

// holdsData reports whether something is lost with an object that nobody can bring back (SPEC 10).
func (c *Client) holdsData(ctx context.Context, obj *unstructured.Unstructured) (bool, error) {
	gk := obj.GroupVersionKind().GroupKind()
	switch {
	case gk == schema.GroupKind{Kind: "Namespace"}:
		return c.namespaceHoldsData(ctx, obj.GetName())
	case isCRD(gk):
		resource, _ := served(obj)
		list, err := c.meta.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
		if apierrors.IsNotFound(err) {
			return false, nil // not established, or no version is served
		}
		return err == nil && len(list.Items) > 0, err
	default:
		return mountsData(obj), nil
	}
}

// namespaceHoldsData looks for claims, StatefulSets with claim templates and workloads that mount a
// claim. Pods of such workloads need no look: the claim that they mount is there, or it is not.
func (c *Client) namespaceHoldsData(ctx context.Context, namespace string) (bool, error) {
	for _, resource := range []schema.GroupVersionResource{
		{Version: "v1", Resource: "persistentvolumeclaims"},
		{Group: "apps", Version: "v1", Resource: "statefulsets"},
		{Group: "apps", Version: "v1", Resource: "deployments"},
		{Group: "apps", Version: "v1", Resource: "daemonsets"},
		{Group: "batch", Version: "v1", Resource: "cronjobs"},
		{Group: "batch", Version: "v1", Resource: "jobs"},
	} {
		var holds bool
		err := pages(ctx, func(ctx context.Context, o metav1.ListOptions) (string, error) {
			list, err := c.dynamic.Resource(resource).Namespace(namespace).List(ctx, o)
			if err != nil {
				return "", err
			}
			holds = holds || slices.ContainsFunc(list.Items, func(u unstructured.Unstructured) bool { return mountsData(&u) })
			if holds {
				return "", nil
			}
			return list.GetContinue(), nil
		})
		if apierrors.IsForbidden(err) {
			return true, nil // it may: who may not look must not take it for empty
		}
		if holds || err != nil && !apierrors.IsNotFound(err) {
			return holds, err
		}
	}
	return false, nil
}

// volumesOf returns where a kind of workload has its pods' volumes, nil for every other kind.
func volumesOf(gk schema.GroupKind) []string {
	switch gk.Group + "/" + gk.Kind {
	case "apps/Deployment", "apps/StatefulSet", "apps/DaemonSet", "apps/ReplicaSet", "batch/Job", "/ReplicationController":
		return []string{"spec", "template", "spec", "volumes"}
	case "batch/CronJob":
		return []string{"spec", "jobTemplate", "spec", "template", "spec", "volumes"}
	case "/Pod":
		return []string{"spec", "volumes"}
	}
	return nil
}

// mountsData reports whether an object is a volume, a claim, or a workload with one.
func mountsData(obj *unstructured.Unstructured) bool {
	gk := obj.GroupVersionKind().GroupKind()
	if gk.Group == "" && (gk.Kind == "PersistentVolume" || gk.Kind == "PersistentVolumeClaim") {
		return true
	}
	if gk == (schema.GroupKind{Group: "apps", Kind: "StatefulSet"}) {
		if templates, _, _ := unstructured.NestedSlice(obj.Object, "spec", "volumeClaimTemplates"); len(templates) > 0 {
			return true
		}
	}
	path := volumesOf(gk)
	if path == nil {
		return false
	}
	volumes, _, _ := unstructured.NestedSlice(obj.Object, path...)
	return slices.ContainsFunc(volumes, func(v any) bool {
		volume, ok := v.(map[string]any)
		return ok && volume["persistentVolumeClaim"] != nil
	})
}

// dataLossKind reports whether an object may only be deleted where data loss is allowed. CRDs count
// when they have resources, which the caller asks for.
func dataLossKind(gk schema.GroupKind) bool {
	if gk.Group != "" {
		return false
	}
	return gk.Kind == "Namespace" || gk.Kind == "PersistentVolume" || gk.Kind == "PersistentVolumeClaim"
}
