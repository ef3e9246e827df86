package chart

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// IsNotFound says whether an error means that an object, or its kind, is not there.
func IsNotFound(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && apierrors.IsNotFound(err) || meta.IsNoMatchError(err)
}

// ErrScope says that a namespace was named for a kind that has none, or none for one that has.
var ErrScope = errors.New("the namespace does not fit the kind")

// Selection says which objects of a kind are wanted. An empty namespace is all of them.
type Selection struct {
	Namespace string
	Labels    string
	Fields    string
	// Limit is the most objects that are returned.
	Limit int
}

// Get returns one object as the API server has it. It asks once, with the rights of the user.
func (c *Client) Get(ctx context.Context, apiVersion, kind, namespace, name string) (map[string]any, error) {
	resource, namespaced, err := c.readable(apiVersion, kind)
	if err != nil {
		return nil, err
	}
	if namespaced != (namespace != "") {
		return nil, fmt.Errorf("%w: %s of %s, namespace %q", ErrScope, kind, apiVersion, namespace)
	}
	var from dynamic.ResourceInterface = resource
	if namespaced {
		from = resource.Namespace(namespace)
	}
	object, err := from.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("getting %s %s: %w", kind, name, err)
	}
	return object.Object, nil
}

// List returns the objects that a selection names, and whether there are more than its limit.
func (c *Client) List(ctx context.Context, apiVersion, kind string, s Selection) (items []map[string]any, more bool, err error) {
	resource, namespaced, err := c.readable(apiVersion, kind)
	if err != nil {
		return nil, false, err
	}
	if !namespaced && s.Namespace != "" {
		return nil, false, fmt.Errorf("%w: %s of %s, namespace %q", ErrScope, kind, apiVersion, s.Namespace)
	}
	var from dynamic.ResourceInterface = resource
	if s.Namespace != "" {
		from = resource.Namespace(s.Namespace)
	}
	const page = 500
	options := metav1.ListOptions{LabelSelector: s.Labels, FieldSelector: s.Fields}
	for {
		options.Limit = int64(min(page, s.Limit-len(items)))
		list, err := from.List(ctx, options)
		if err != nil {
			return nil, false, fmt.Errorf("listing %s: %w", kind, err)
		}
		for _, item := range list.Items {
			items = append(items, item.Object)
		}
		options.Continue = list.GetContinue()
		if options.Continue == "" || len(items) >= s.Limit {
			return items, options.Continue != "", nil
		}
	}
}

// readable finds how a kind is read, and whether its objects are in namespaces.
func (c *Client) readable(apiVersion, kind string) (dynamic.NamespaceableResourceInterface, bool, error) {
	if err := c.online(); err != nil {
		return nil, false, err
	}
	m, err := c.mapping(schema.FromAPIVersionAndKind(apiVersion, kind))
	if err != nil {
		return nil, false, fmt.Errorf("finding kind %s of %s: %w", kind, apiVersion, err)
	}
	return c.dynamic.Resource(m.Resource), m.Scope.Name() == meta.RESTScopeNameNamespace, nil
}
