package faultproxy

import (
	"fmt"

	"k8s.io/client-go/rest"
)

// ForCluster starts a proxy in front of the API server that cfg reaches, with
// cfg's credentials for clients that bring none: who can reach loopback is
// whom cfg is. A bearer token of the client is passed on instead. It counts
// what ClusterChange counts.
func ForCluster(cfg *rest.Config) (*Proxy, error) {
	upstream, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("reading the address of the API server: %w", err)
	}
	full := rest.CopyConfig(cfg)
	full.Timeout = 0 // a watch has no end
	// Streams into pods are upgraded connections, which HTTP/2 has not.
	full.NextProtos = []string{"http/1.1"}
	transport, err := rest.TransportFor(full)
	if err != nil {
		return nil, fmt.Errorf("reaching the API server: %w", err)
	}
	bare, err := rest.TransportFor(rest.AnonymousClientConfig(full))
	if err != nil {
		return nil, fmt.Errorf("reaching the API server: %w", err)
	}
	return Start(Options{Upstream: upstream, Transport: transport, Bare: bare, Count: ClusterChange})
}
