package cluster

import "k8s.io/client-go/rest"

// RESTConfig returns the configuration that options name, without connecting: for whoever waits for
// a cluster that may not be there yet.
func RESTConfig(options Options) (*rest.Config, error) {
	config, _, err := load(options)
	return config, err
}
