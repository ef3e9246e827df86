package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/registry"
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
	// Replace puts the services that are named here in the place of those that the cluster has. Pods pull
	// with the former credentials until their package is deployed again.
	Replace bool
	// PlainHTTP and InsecureSkipTLSVerify say how the registry may be asked whether it accepts the
	// credentials.
	PlainHTTP, InsecureSkipTLSVerify bool
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
	if exists && !o.Replace && (has.RegistryInfo.Configured() || has.GitServer.Configured()) {
		return o.again(has)
	}
	family, err := conn.IPFamily(ctx)
	if err != nil {
		return InitResult{}, err
	}
	wanted := o.state(has, exists, family)
	if err := o.tryRegistry(ctx, wanted); err != nil {
		return InitResult{}, err
	}
	if err := conn.EnsureNamespace(ctx); err != nil {
		return InitResult{}, err
	}
	if err := conn.WriteState(ctx, wanted); err != nil {
		return InitResult{}, err
	}
	return InitResult{Changed: true, Registry: wanted.RegistryInfo.Address, Git: wanted.GitServer.Address}, nil
}

// tryLimit bounds the attempt to reach the registry.
const tryLimit = 10 * time.Second

// tryRegistry asks the registry for an image, so that credentials which it does not accept are found out
// now and not by whoever deploys first. Where it cannot be asked from here that is only said.
func (o InitOptions) tryRegistry(ctx context.Context, wanted state.Cluster) error {
	if !o.Registry.Configured() {
		return nil
	}
	common := Common{Sink: o.Sink, PlainHTTP: o.PlainHTTP, InsecureSkipTLSVerify: o.InsecureSkipTLSVerify}.defaulted()
	common.Retries = 1
	client, err := (&services{common: common, state: wanted}).registry(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }() // nothing was written
	within, cancel := context.WithTimeout(ctx, tryLimit)
	defer cancel()
	_, err = client.Digests(within, wanted.RegistryInfo.Address+"/zarf-host/probe:none")
	switch {
	case err == nil:
	case registry.Unauthorized(err):
		return &PreflightError{Problems: []string{fmt.Sprintf(
			"registry %q does not accept the credentials of user %q", wanted.RegistryInfo.Address, wanted.RegistryInfo.PushUsername)}}
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		o.Sink.Emit(event.Event{Level: event.Warn, Step: "init", Message: "whether the registry accepts the credentials could not be tried from here: " + err.Error()})
	}
	return nil
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
func (e *InitialisedError) Hint() string {
	return "--replace puts these in their place: pods pull with the former credentials until their package is deployed again"
}

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
	if o.Registry.Configured() || !o.Replace {
		secret := s.RegistryInfo.Secret
		if s.RegistryInfo = o.registry(); s.RegistryInfo.Secret == "" {
			s.RegistryInfo.Secret = secret
		}
	}
	if o.Git.Configured() || !o.Replace {
		s.GitServer = o.git()
	}
	if s.RegistryInfo.Configured() && s.RegistryInfo.Secret == "" {
		s.RegistryInfo.Secret = rand.Text() + rand.Text()
	}
	return s
}
