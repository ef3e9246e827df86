package chart

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"

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
	found, err := c.fetch(ctx, refs, metadataOnly)
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

// extent is how much of objects is read.
type extent struct {
	bodies   bool
	selector string // labels that they have to have, where they are listed
}

// metadataOnly reads bodies only where they tell of data: a list of Secrets may be huge.
var metadataOnly = extent{}

// managedBodies reads whole objects, those only that Helm manages.
var managedBodies = extent{bodies: true, selector: labelManagedBy + "=" + managedByHelm}

// fetch reads objects by their keys; see Observe for what is absent.
func (c *Client) fetch(ctx context.Context, refs []object.Ref, much extent) (map[object.Key]*unstructured.Unstructured, error) {
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
		return c.read(ctx, g, much, func(name string, obj *unstructured.Unstructured) {
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

func (c *Client) read(ctx context.Context, g objectGroup, much extent, found func(string, *unstructured.Unstructured)) error {
	from := c.reader(g, much)
	kind := g.mapping.GroupVersionKind.Kind
	if len(g.names) == 1 {
		return readEach(ctx, g, from, found)
	}
	err := pages(ctx, func(ctx context.Context, o metav1.ListOptions) (string, error) {
		o.LabelSelector = much.selector
		list, next, err := from.list(ctx, o)
		if err != nil {
			return "", err
		}
		for i := range list {
			if _, ok := g.names[list[i].GetName()]; ok {
				found(list[i].GetName(), &list[i])
			}
		}
		return next, nil
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if apierrors.IsForbidden(err) {
		return readEach(ctx, g, from, found) // who may not list may still be allowed to read
	}
	if err != nil {
		return fmt.Errorf("listing objects of kind %s in namespace %q: %w", kind, g.namespace, err)
	}
	return nil
}

// readEach reads the objects of a group one by one.
func readEach(ctx context.Context, g objectGroup, from reader, found func(string, *unstructured.Unstructured)) error {
	for name, key := range g.names {
		obj, err := from.get(ctx, name)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			ref := object.Ref{Kind: g.mapping.GroupVersionKind.Kind, Namespace: key.Namespace, Name: name}
			return fmt.Errorf("reading %s: %w", ref, err)
		}
		found(name, obj)
	}
	return nil
}

// reader reads the objects of a group.
type reader struct {
	get  func(context.Context, string) (*unstructured.Unstructured, error)
	list func(context.Context, metav1.ListOptions) (items []unstructured.Unstructured, next string, err error)
}

func (c *Client) reader(g objectGroup, much extent) reader {
	gvk := g.mapping.GroupVersionKind
	if much.bodies || isCRD(gvk.GroupKind()) || volumesOf(gvk.GroupKind()) != nil {
		client := c.resource(g.mapping, g.namespace)
		return reader{
			get: func(ctx context.Context, name string) (*unstructured.Unstructured, error) {
				return client.Get(ctx, name, metav1.GetOptions{})
			},
			list: func(ctx context.Context, o metav1.ListOptions) ([]unstructured.Unstructured, string, error) {
				list, err := client.List(ctx, o)
				if err != nil {
					return nil, "", err
				}
				return list.Items, list.GetContinue(), nil
			},
		}
	}
	var client metadata.ResourceInterface = c.meta.Resource(g.mapping.Resource)
	if g.mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		client = c.meta.Resource(g.mapping.Resource).Namespace(g.namespace)
	}
	return reader{
		get: func(ctx context.Context, name string) (*unstructured.Unstructured, error) {
			obj, err := client.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			return metadataOf(obj, gvk)
		},
		list: func(ctx context.Context, o metav1.ListOptions) ([]unstructured.Unstructured, string, error) {
			list, err := client.List(ctx, o)
			if err != nil {
				return nil, "", err
			}
			items := make([]unstructured.Unstructured, len(list.Items))
			for i := range list.Items {
				obj, err := metadataOf(&list.Items[i], gvk)
				if err != nil {
					return nil, "", err
				}
				items[i] = *obj
			}
			return items, list.GetContinue(), nil
		},
	}
}

// metadataOf is an object without its body.
func metadataOf(obj *metav1.PartialObjectMetadata, gvk schema.GroupVersionKind) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("reading the metadata of %s %q: %w", gvk.Kind, obj.Name, err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(gvk)
	return u, nil
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
