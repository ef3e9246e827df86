package chart

import (
	"context"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/zarf-host/zarf-host/host/object"
)

const (
	// listFrom is the number of objects of one kind in one namespace from which on they are listed
	// rather than read one by one.
	listFrom = 8
	// pageSize bounds one answer to a list.
	pageSize = 500
	// parallel is how many requests run at once.
	parallel = 8
)

// Observe returns what is live of refs, by their keys. What does not exist, or is of a kind that
// the cluster does not serve, is absent; every other failure is an error.
func (c *Client) Observe(ctx context.Context, refs []object.Ref) (map[object.Key]object.Live, error) {
	found, err := c.fetch(ctx, refs)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	out := make(map[object.Key]object.Live, len(found))
	keys := make([]object.Key, 0, len(found))
	for key := range found {
		keys = append(keys, key)
	}
	err = each(ctx, keys, func(key object.Key) error {
		live, err := c.live(ctx, key, found[key])
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		out[key] = live
		return nil
	})
	return out, err
}

func (c *Client) live(ctx context.Context, key object.Key, obj *unstructured.Unstructured) (object.Live, error) {
	live := object.Live{
		Ref:               object.Ref{APIVersion: obj.GetAPIVersion(), Kind: key.Kind, Namespace: key.Namespace, Name: key.Name},
		UID:               string(obj.GetUID()),
		Labels:            obj.GetLabels(),
		Annotations:       obj.GetAnnotations(),
		CreationTimestamp: obj.GetCreationTimestamp().UTC(),
		Owner:             owner(obj.GetLabels(), obj.GetAnnotations()),
		Package:           obj.GetLabels()[labelPackage],
		Terminating:       obj.GetDeletionTimestamp() != nil,
	}
	var err error
	live.HoldsData, err = c.holdsData(ctx, obj)
	if err != nil {
		return live, fmt.Errorf("finding out whether %s holds data: %w", live.Ref, err)
	}
	return live, nil
}

// owner returns the release that an object's metadata names, as Helm reads it.
func owner(labels, annotations map[string]string) object.Release {
	if labels[labelManagedBy] != managedByHelm || annotations[annotationReleaseName] == "" {
		return object.Release{}
	}
	return object.Release{
		Namespace: annotations[annotationReleaseNamespace],
		Name:      annotations[annotationReleaseName],
	}
}

// fetch reads objects by their keys; see Observe for what is absent.
func (c *Client) fetch(ctx context.Context, refs []object.Ref) (map[object.Key]*unstructured.Unstructured, error) {
	if err := c.online(); err != nil {
		return nil, err
	}
	groups, err := c.group(refs)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	found := map[object.Key]*unstructured.Unstructured{}
	err = each(ctx, groups, func(g objectGroup) error {
		return c.read(ctx, g, func(name string, obj *unstructured.Unstructured) {
			mu.Lock()
			defer mu.Unlock()
			found[g.names[name]] = obj
		})
	})
	return found, err
}

// objectGroup is what one request can ask for: objects of a kind in a namespace.
type objectGroup struct {
	mapping   *meta.RESTMapping
	namespace string
	names     map[string]object.Key
}

// group sorts references into requests; small groups become one for each object.
func (c *Client) group(refs []object.Ref) ([]objectGroup, error) {
	type place struct {
		resource  schema.GroupVersionResource
		namespace string
	}
	at := map[place]int{}
	unknown := map[schema.GroupVersionKind]bool{}
	var groups []objectGroup
	for _, ref := range refs {
		gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
		if unknown[gvk] || ref.Name == "" {
			continue // an object that the server names is not there yet
		}
		m, err := c.mapping(gvk)
		if meta.IsNoMatchError(err) {
			// The version may be gone and the kind still be served in another one.
			m, err = c.getter.mapper.RESTMapping(gvk.GroupKind())
		}
		if meta.IsNoMatchError(err) {
			unknown[gvk] = true
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("finding kind %q in the cluster: %w", ref.Kind, err)
		}
		p := place{m.Resource, ref.Namespace}
		i, ok := at[p]
		if !ok {
			i = len(groups)
			at[p] = i
			groups = append(groups, objectGroup{mapping: m, namespace: ref.Namespace, names: map[string]object.Key{}})
		}
		groups[i].names[ref.Name] = ref.Key()
	}
	var out []objectGroup
	for _, g := range groups {
		if len(g.names) >= listFrom {
			out = append(out, g)
			continue
		}
		for name, key := range g.names {
			out = append(out, objectGroup{mapping: g.mapping, namespace: g.namespace, names: map[string]object.Key{name: key}})
		}
	}
	return out, nil
}

func (c *Client) read(ctx context.Context, g objectGroup, found func(string, *unstructured.Unstructured)) error {
	client := c.resource(g.mapping, g.namespace)
	kind := g.mapping.GroupVersionKind.Kind
	if len(g.names) == 1 {
		for name, key := range g.names {
			obj, err := client.Get(ctx, name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("reading %s: %w", object.Ref{Kind: kind, Namespace: key.Namespace, Name: name}, err)
			}
			found(name, obj)
		}
		return nil
	}
	err := pages(ctx, func(ctx context.Context, o metav1.ListOptions) (string, error) {
		list, err := client.List(ctx, o)
		if err != nil {
			return "", err
		}
		for i := range list.Items {
			if _, ok := g.names[list.Items[i].GetName()]; ok {
				found(list.Items[i].GetName(), &list.Items[i])
			}
		}
		return list.GetContinue(), nil
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("listing objects of kind %s in namespace %q: %w", kind, g.namespace, err)
	}
	return nil
}

// pages lists page by page.
func pages(ctx context.Context, list func(context.Context, metav1.ListOptions) (string, error)) error {
	options := metav1.ListOptions{Limit: pageSize}
	for {
		next, err := list(ctx, options)
		if err != nil || next == "" {
			return err
		}
		options.Continue = next
	}
}

// CustomResources returns the resources of a CustomResourceDefinition, which go when it is deleted.
func (c *Client) CustomResources(ctx context.Context, crd object.Ref) ([]object.Ref, error) {
	found, err := c.fetch(ctx, []object.Ref{crd})
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
		if holds || err != nil && !apierrors.IsNotFound(err) {
			return holds, err
		}
	}
	return false, nil
}

// mountsData reports whether an object is a volume, a claim, or a workload with one.
func mountsData(obj *unstructured.Unstructured) bool {
	pod := []string{"spec", "template", "spec", "volumes"}
	switch gk := obj.GroupVersionKind().GroupKind(); gk.Group + "/" + gk.Kind {
	case "/PersistentVolume", "/PersistentVolumeClaim":
		return true
	case "apps/StatefulSet":
		if templates, _, _ := unstructured.NestedSlice(obj.Object, "spec", "volumeClaimTemplates"); len(templates) > 0 {
			return true
		}
	case "apps/Deployment", "apps/DaemonSet", "apps/ReplicaSet", "batch/Job", "/ReplicationController":
	case "batch/CronJob":
		pod = []string{"spec", "jobTemplate", "spec", "template", "spec", "volumes"}
	case "/Pod":
		pod = []string{"spec", "volumes"}
	default:
		return false
	}
	volumes, _, _ := unstructured.NestedSlice(obj.Object, pod...)
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

// each calls do for every item, some at a time, and returns the first error by the items' order.
func each[T any](ctx context.Context, items []T, do func(T) error) error {
	errs := make([]error, len(items))
	slots := make(chan struct{}, parallel)
	var wg sync.WaitGroup
	for i, item := range items {
		if err := ctx.Err(); err != nil {
			errs[i] = err
			break
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			errs[i] = do(item)
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
