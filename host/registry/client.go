package registry

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zarf-host/zarf-host/host/event"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote/auth"
)

// Options say where a registry is and how to reach it. Address alone is needed.
type Options struct {
	// Address is the registry's as the state has it: host, port, and perhaps a path below which
	// everything goes.
	Address string
	// Username and Password are sent to this registry only.
	Username, Password string
	// Docker logs in with what the Docker configuration has for the registry, in its files or through
	// its helpers, where no Username is given.
	Docker bool
	// Doing is the step of which progress and retries are told. Default "push".
	Doing string
	// TLS is how HTTPS is spoken; nil trusts what the system trusts. With a client certificate in it
	// nothing but HTTPS is spoken.
	TLS *tls.Config
	// PlainHTTP allows plain HTTP where the server speaks no HTTPS. It is always allowed on loopback,
	// in private networks and through a tunnel. HTTPS is tried first in any case.
	PlainHTTP bool
	// Tunnel opens a way to a registry that cannot be dialled, such as a port-forward. It is called
	// again after a failure, when the tunnel of before is closed. Nil dials Address.
	Tunnel func(ctx context.Context) (Tunnel, error)
	// Sink gets progress and what is tried again. Default: nobody.
	Sink event.Sink
	// Retries is how often in a row an operation is tried again without anything having been
	// achieved in between. Default 3; negative is never.
	Retries int
	// Backoff is the pause before the first retry; each further one is three times as long, up to
	// half a minute. Default 1 s.
	Backoff time.Duration
	// StallLimit is how long an upload may stand still, and how long a request without a large body
	// may take. Default 1 min.
	StallLimit time.Duration
	// CommitLimit is how long a registry may take to confirm a blob that it has received.
	// Default 5 min.
	CommitLimit time.Duration
}

// Tunnel carries connections to a registry.
type Tunnel interface {
	// Dial opens a connection to the registry at the other end.
	Dial(ctx context.Context) (net.Conn, error)
	// Close ends the tunnel with all its connections, and returns when they have ended.
	Close() error
}

// Client speaks to one registry. Its methods wait for each other. Close it.
type Client struct {
	opts  Options
	host  string // of Address
	cache auth.Cache

	mu      sync.Mutex
	session *session // nil before the first request and after a failure
	scheme  scheme
	known   known
	noMount atomic.Bool // the registry was asked to mount a blob, and did not
}

// Open checks the options. It connects to nothing: the first request does.
func Open(opts Options) (*Client, error) {
	if strings.Contains(opts.Address, "://") {
		return nil, fmt.Errorf("registry address %q: it has no scheme, which is found out", opts.Address)
	}
	host, path, _ := strings.Cut(opts.Address, "/")
	ref := registry.Reference{Registry: host}
	if err := ref.ValidateRegistry(); err != nil {
		return nil, fmt.Errorf("registry address %q: %w", opts.Address, err)
	}
	if path = strings.Trim(path, "/"); path != "" {
		ref.Repository = path
		if err := ref.ValidateRepository(); err != nil {
			return nil, fmt.Errorf("registry address %q: %w", opts.Address, err)
		}
	}
	opts.Retries = max(0, cmp.Or(opts.Retries, 3))
	opts.Backoff = cmp.Or(opts.Backoff, time.Second)
	opts.StallLimit = cmp.Or(opts.StallLimit, time.Minute)
	opts.CommitLimit = cmp.Or(opts.CommitLimit, 5*time.Minute)
	opts.Doing = cmp.Or(opts.Doing, "push")
	if opts.Sink == nil {
		opts.Sink = event.Discard
	}
	c := &Client{opts: opts, host: host, cache: auth.NewCache()}
	c.known.forget()
	return c, nil
}

// Close ends the connections to the registry, and the tunnel.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hangUp(errors.New("the client was closed"))
}

// hangUp ends the session, if there is one, and waits until nothing is left of it.
func (c *Client) hangUp(cause error) error {
	if c.session == nil {
		return nil
	}
	s := c.session
	c.session = nil
	return s.close(cause)
}

// maxBackoff bounds the pause between two attempts.
const maxBackoff = 30 * time.Second

// try runs an operation in a session until it succeeds, cannot succeed, or has failed too often in a
// row without achieved having grown in between. After a failure of the connection the session is
// closed, and awaited, before the next one is opened.
func (c *Client) try(ctx context.Context, achieved func() int, do func(context.Context, *session) error) error {
	pause := c.opts.Backoff
	for failures := 0; ; {
		before := achieved()
		err := c.once(ctx, do)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			_ = c.hangUp(context.Cause(ctx)) // what counts is that the caller gave up
			return context.Cause(ctx)
		}
		if !transient(err) {
			return err
		}
		if forgotten(err) {
			c.known.forget()
		}
		_ = c.hangUp(err) // it is broken: that it cannot be closed well is no news
		if achieved() > before && !forgotten(err) {
			failures, pause = 0, c.opts.Backoff
		}
		if failures++; failures > c.opts.Retries {
			return fmt.Errorf("gave up after %d attempts without progress: %w", failures, err)
		}
		c.opts.Sink.Emit(event.Event{Level: event.Warn, Step: c.opts.Doing, Message: fmt.Sprintf(
			"registry %s: %v; trying again in %v (%d of %d)", c.opts.Address, err, pause, failures, c.opts.Retries)})
		if err := sleep(ctx, pause); err != nil {
			return err
		}
		pause = min(3*pause, maxBackoff)
	}
}

// once runs an operation in the session that there is, or in a new one.
func (c *Client) once(ctx context.Context, do func(context.Context, *session) error) error {
	if c.session == nil {
		s, err := c.connect(ctx)
		if err != nil {
			return &connectError{Address: c.opts.Address, Err: err, named: c.opts.Docker}
		}
		c.session = s
	}
	return do(ctx, c.session)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// locate splits a reference in this registry into the path of the repository, and tag or digest.
func (c *Client) locate(reference string) (registry.Reference, error) {
	ref, err := registry.ParseReference(reference)
	if err != nil {
		return ref, fmt.Errorf("reading reference %q: %w", reference, err)
	}
	if ref.Registry != c.host {
		return ref, fmt.Errorf("%q is not in the registry at %s", reference, c.opts.Address)
	}
	return ref, nil
}
