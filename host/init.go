package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/state"
)

// InitOptions say which services a cluster uses. zarf-host runs none of its own: the registry and
// the git server exist already.
type InitOptions struct {
	Cluster      cluster.Options
	StorageClass string
	// Registry is where images are pushed and pulled. Pull credentials that are left out are the
	// push credentials.
	Registry state.Registry
	// Git is where repositories are pushed; its address may be empty.
	Git  state.GitServer
	Sink event.Sink
}

// InitResult is what Init did.
type InitResult struct {
	// Changed is false when the cluster was initialised like this already.
	Changed bool
	// Registry and Git are the addresses that the cluster uses now.
	Registry, Git string
}

// ErrInitialised says that a cluster was initialised with other services than those asked for.
var ErrInitialised = errors.New("the cluster was initialised with other services or credentials, which would cut off what is deployed")

// Init writes the state that Zarf reads of an initialised cluster, for an external registry and git
// server. A cluster that was initialised keeps its services: asking for others is ErrInitialised,
// and nothing is changed.
func Init(ctx context.Context, o InitOptions) (InitResult, error) {
	if err := o.check(); err != nil {
		return InitResult{}, err
	}
	if o.Sink == nil {
		o.Sink = event.Discard
	}
	o.Cluster.Sink = o.Sink
	conn, err := cluster.Connect(ctx, o.Cluster)
	if err != nil {
		return InitResult{}, err
	}
	has, exists, err := conn.State(ctx)
	if err != nil {
		return InitResult{}, err
	}
	if exists && (has.RegistryInfo.Configured() || has.GitServer.Configured()) {
		return o.again(has)
	}
	family, err := conn.IPFamily(ctx)
	if err != nil {
		return InitResult{}, err
	}
	wanted := o.state(has, exists, family)
	if err := conn.EnsureNamespace(ctx); err != nil {
		return InitResult{}, err
	}
	if err := conn.WriteState(ctx, wanted); err != nil {
		return InitResult{}, err
	}
	return InitResult{Changed: true, Registry: wanted.RegistryInfo.Address, Git: wanted.GitServer.Address}, nil
}

func (o InitOptions) check() error {
	r, g := o.Registry, o.Git
	switch {
	case !r.Configured() && !g.Configured():
		return errors.New("nothing to initialise: name a registry with --registry-url, a git server with --git-url, or both")
	case r.Configured() && (r.PushUsername == "" || r.PushPassword == ""):
		return errors.New("a registry needs credentials to push with: --registry-push-username and --registry-push-password")
	case !r.Configured() && r.PushUsername+r.PushPassword+r.PullUsername+r.PullPassword != "":
		return errors.New("there are credentials for a registry, but no registry: --registry-url names it")
	case g.Configured() && (g.PushUsername == "" || g.PushPassword == ""):
		return errors.New("a git server needs credentials to push with: --git-push-username and --git-push-password")
	case (r.PullUsername == "") != (r.PullPassword == ""):
		return errors.New("pulling from the registry needs both --registry-pull-username and --registry-pull-password, or neither")
	}
	if r.Configured() {
		if strings.Contains(r.Address, "://") {
			return fmt.Errorf("registry %q: leave out the scheme", r.Address)
		}
		if _, err := url.Parse("//" + r.Address); err != nil {
			return fmt.Errorf("registry %q is not a host with a port and path: %w", r.Address, err)
		}
	}
	if g.Configured() {
		if u, err := url.Parse(g.Address); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return fmt.Errorf("git server %q is not an http or https address", g.Address)
		}
	}
	return nil
}

// again judges a second Init: the same services are fine, others are not.
func (o InitOptions) again(has state.Cluster) (InitResult, error) {
	r, g := o.registry(), o.git()
	differs := func(a, b string) bool { return a != "" && a != b }
	switch {
	case differs(r.Address, has.RegistryInfo.Address), differs(r.PushUsername, has.RegistryInfo.PushUsername),
		differs(r.PushPassword, has.RegistryInfo.PushPassword), differs(r.PullUsername, has.RegistryInfo.PullUsername),
		differs(r.PullPassword, has.RegistryInfo.PullPassword), differs(g.Address, has.GitServer.Address),
		differs(g.PushUsername, has.GitServer.PushUsername), differs(g.PushPassword, has.GitServer.PushPassword):
		return InitResult{}, &InitialisedError{Registry: has.RegistryInfo.Address, Git: has.GitServer.Address}
	}
	return InitResult{Registry: has.RegistryInfo.Address, Git: has.GitServer.Address}, nil
}

// InitialisedError names the services of a cluster that was asked to use others. It wraps
// ErrInitialised and holds no credentials.
type InitialisedError struct {
	Registry, Git string
}

func (e *InitialisedError) Error() string {
	return fmt.Sprintf("%v: its registry is %q, its git server %q", ErrInitialised, e.Registry, e.Git)
}

func (e *InitialisedError) Unwrap() error { return ErrInitialised }

// Hint says how services are changed.
func (e *InitialisedError) Hint() string { return "Zarf's `tools update-creds` changes them" }

func (o InitOptions) registry() state.Registry {
	r := o.Registry
	if !r.Configured() {
		return r
	}
	r.Mode, r.MTLSStrategy = state.RegistryExternal, "none"
	if r.PullUsername == "" {
		r.PullUsername, r.PullPassword = r.PushUsername, r.PushPassword
	}
	return r
}

func (o InitOptions) git() state.GitServer {
	g := o.Git
	if g.Configured() && g.PullUsername == "" {
		g.PullUsername, g.PullPassword = g.PushUsername, g.PushPassword
	}
	return g
}

// state is what Zarf would write for such a cluster.
func (o InitOptions) state(has state.Cluster, exists bool, family string) state.Cluster {
	s := has
	if !exists {
		s.Distro, s.IPFamily, s.AgentMutationPolicy = "unknown", family, "all"
	}
	if o.StorageClass != "" {
		s.StorageClass = o.StorageClass
	}
	s.RegistryInfo, s.GitServer = o.registry(), o.git()
	if s.RegistryInfo.Configured() && s.RegistryInfo.Secret == "" {
		s.RegistryInfo.Secret = rand.Text() + rand.Text()
	}
	return s
}
