package chart

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// getter hands Helm, and the rest of this package, one configuration, one discovery cache and one
// REST mapper, so that a thousand releases discover the cluster once.
type getter struct {
	config *rest.Config
	cache  discovery.CachedDiscoveryInterface
	mapper *restmapper.DeferredDiscoveryRESTMapper
}

func newGetter(config *rest.Config) (*getter, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	cache := memory.NewMemCacheClient(client)
	return &getter{config: config, cache: cache, mapper: restmapper.NewDeferredDiscoveryRESTMapper(cache)}, nil
}

// ToRESTConfig returns a copy: kubectl's factory writes into what it gets.
func (g *getter) ToRESTConfig() (*rest.Config, error) { return rest.CopyConfig(g.config), nil }

// ToDiscoveryClient returns the shared cache.
func (g *getter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) { return g.cache, nil }

// ToRESTMapper returns the shared mapper.
func (g *getter) ToRESTMapper() (meta.RESTMapper, error) { return g.mapper, nil }

// ToRawKubeConfigLoader answers an interface of kubectl's; nothing here reads a kubeconfig.
func (g *getter) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	return clientcmd.NewDefaultClientConfig(clientcmdapi.Config{}, nil)
}

// unstructuredClient returns a REST client for the objects of a group and version, of the kind that
// kubectl's builder makes.
func (g *getter) unstructuredClient(gv schema.GroupVersion) (resource.RESTClient, error) {
	config := rest.CopyConfig(g.config)
	config.APIPath = "/apis"
	if gv.Group == "" {
		config.APIPath = "/api"
	}
	config.ContentConfig = resource.UnstructuredPlusDefaultContentConfig()
	config.GroupVersion = &gv
	return rest.RESTClientFor(config)
}
