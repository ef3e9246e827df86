package host

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/state"
)

// RegistryAccess is the way to the registry of a cluster for programs that speak to registries
// themselves. Close it.
type RegistryAccess struct {
	// Address is the registry's as references in the cluster have it.
	Address string
	// Username and Password are those of who pushes.
	Username, Password string
	// Transport reaches the registry at Address, through the cluster if it is inside. It is for
	// requests to Address alone.
	Transport *http.Transport
	tunnel    *cluster.Tunnel
}

// ErrNoRegistry says that a cluster has no registry.
var ErrNoRegistry = errors.New("the cluster has no registry: name one with `zarf-host init --registry-url`")

// OpenRegistry opens the way to the registry of a cluster. A tunnel that breaks is not opened again.
func OpenRegistry(ctx context.Context, c Common) (*RegistryAccess, error) {
	c = c.defaulted()
	conn, err := cluster.Connect(ctx, c.Cluster)
	if err != nil {
		return nil, err
	}
	s := &services{conn: conn, common: c}
	if s.state, s.exists, err = conn.State(ctx); err != nil {
		return nil, err
	}
	info := s.state.RegistryInfo
	if !info.Configured() {
		return nil, ErrNoRegistry
	}
	if err := s.readCerts(ctx); err != nil {
		return nil, err
	}
	a := &RegistryAccess{Address: info.Address, Username: info.PushUsername, Password: info.PushPassword}
	config, err := s.tls()
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: 15 * time.Second, KeepAlive: 15 * time.Second}
	a.Transport = &http.Transport{DialContext: dialer.DialContext, TLSClientConfig: config, TLSHandshakeTimeout: 15 * time.Second}
	if !info.IsInternal() {
		a.Transport.Proxy = http.ProxyFromEnvironment
		return a, nil
	}
	if a.tunnel, err = conn.OpenTunnel(ctx, state.Namespace, registryService, registryPort); err != nil {
		return nil, err
	}
	a.Transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return a.tunnel.Dial(ctx) }
	return a, nil
}

// Close ends the connections, and the tunnel if there is one.
func (a *RegistryAccess) Close() error {
	a.Transport.CloseIdleConnections()
	if a.tunnel == nil {
		return nil
	}
	return a.tunnel.Close()
}
