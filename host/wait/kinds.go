package wait

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// kinds finds what users call a kind in what the cluster serves. It reads that once, and again
// after each miss. (client-go's own cache logs to the standard error output when a server is away.)
type kinds struct {
	client *discovery.DiscoveryClient
	served []*restmapper.APIGroupResources // nil when it must be read
}

func newKinds(config *rest.Config) (*kinds, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	return &kinds{client: client}, nil
}

// find returns where objects of a kind are. A miss makes the next call read what the cluster
// serves anew, as the definition of the kind may be about to be installed.
func (k *kinds) find(ctx context.Context, name string) (*meta.RESTMapping, error) {
	if k.served == nil {
		served, err := restmapper.GetAPIGroupResourcesWithContext(ctx, k.client)
		if err != nil {
			return nil, err
		}
		k.served = served
	}
	mapping, err := lookUp(ctx, k.served, name)
	if err != nil {
		k.served = nil
	}
	return mapping, err
}

func lookUp(ctx context.Context, served []*restmapper.APIGroupResources, name string) (*meta.RESTMapping, error) {
	mapper := restmapper.NewDiscoveryRESTMapperWithContext(served)
	full, short := schema.ParseResourceArg(name)
	candidates := []schema.GroupVersionResource{short.WithVersion(""), expand(served, short).WithVersion("")}
	if full != nil {
		candidates = slices.Insert(candidates, 0, *full)
	}
	var miss error
	for _, c := range candidates {
		kind, err := mapper.KindForWithContext(ctx, c)
		if err == nil {
			return mapper.RESTMappingWithContext(ctx, kind.GroupKind(), kind.Version)
		}
		if !meta.IsNoMatchError(err) {
			return nil, err
		}
		if miss == nil {
			miss = err
		}
	}
	return nil, miss
}

// expand turns a short name such as "po" into the resource that has it.
func expand(served []*restmapper.APIGroupResources, short schema.GroupResource) schema.GroupResource {
	for _, group := range served {
		if short.Group != "" && short.Group != group.Group.Name {
			continue
		}
		for _, version := range group.Group.Versions {
			for _, r := range group.VersionedResources[version.Version] {
				if slices.Contains(r.ShortNames, short.Resource) {
					return schema.GroupResource{Group: group.Group.Name, Resource: r.Name}
				}
			}
		}
	}
	return short
}
