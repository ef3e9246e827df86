package cluster

import (
	"context"
	"errors"
	"net"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

const (
	// goneLooks is how often a server is asked before it is taken to be gone, goneBetween the pause
	// before each time: a server that restarts is back by then.
	goneLooks   = 4
	goneBetween = 2 * time.Second
)

// Gone reports whether err says that nothing listens where the API server was, and nothing listens
// there for a while either.
func (c *Cluster) Gone(ctx context.Context, err error) bool {
	if !nobodyListens(err) {
		return false
	}
	config := rest.CopyConfig(c.bare)
	config.Timeout = goneBetween
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return false
	}
	for range goneLooks {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(goneBetween):
		}
		if _, err := client.RESTClient().Get().AbsPath("/version").Do(ctx).Raw(); !nobodyListens(err) {
			return false
		}
	}
	return true
}

// nobodyListens reports whether a connection could not be opened at all.
func nobodyListens(err error) bool {
	var dial *net.OpError
	return errors.As(err, &dial) && dial.Op == "dial"
}
