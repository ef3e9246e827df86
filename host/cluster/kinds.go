package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/zarf-host/zarf-host/host/object"
)

// refreshEvery bounds how often the API server is asked again which kinds it has.
const refreshEvery = 2 * time.Second

// kinds finds the resource of a kind, also of one whose definition came after the first look.
type kinds struct {
	mu        sync.Mutex
	mapper    *restmapper.DeferredDiscoveryRESTMapper
	refreshed time.Time
}

func newKinds(config *rest.Config) (*kinds, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	return &kinds{mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client))}, nil
}

// errUnknownKind says that the API server does not know a kind, or not yet.
var errUnknownKind = errors.New("the API server does not know its kind")

// find returns the mapping of a reference's kind.
func (k *kinds) find(ref object.Ref) (*meta.RESTMapping, error) {
	version, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return nil, fmt.Errorf("reading the apiVersion of %s: %w", ref, err)
	}
	kind := version.WithKind(ref.Kind)
	k.mu.Lock()
	defer k.mu.Unlock()
	mapping, err := k.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) && time.Since(k.refreshed) >= refreshEvery {
		k.refreshed = time.Now()
		k.mapper.Reset()
		mapping, err = k.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	}
	if meta.IsNoMatchError(err) {
		return nil, errUnknownKind
	}
	return mapping, err
}

// get reads an object, nil where there is none.
func (w *Waiter) get(ctx context.Context, ref object.Ref) (*unstructured.Unstructured, error) {
	mapping, err := w.kinds.find(ref)
	if err != nil {
		return nil, err
	}
	resource := w.client.Resource(mapping.Resource)
	var found *unstructured.Unstructured
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		found, err = resource.Namespace(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	} else {
		found, err = resource.Get(ctx, ref.Name, metav1.GetOptions{})
	}
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return found, err
}
