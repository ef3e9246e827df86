package registry

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
)

// session is a set of connections to a registry, and the tunnel that they go through. It owns both.
type session struct {
	client    *Client
	scheme    scheme
	tunnel    Tunnel // nil if the registry is dialled
	transport *http.Transport
	auth      *auth.Client

	mu    sync.Mutex
	conns map[*trackedConn]bool
	ended error // why no more connections are opened; nil while they are
}

// connect opens a session. The first one also finds out how the registry is spoken to.
func (c *Client) connect(ctx context.Context) (*session, error) {
	s := &session{client: c, conns: map[*trackedConn]bool{}}
	if c.opts.Tunnel != nil {
		tunnel, err := c.opts.Tunnel(ctx)
		if err != nil {
			return nil, &tunnelError{err}
		}
		s.tunnel = tunnel
	}
	s.transport = &http.Transport{
		DialContext:         s.dial,
		TLSClientConfig:     c.opts.TLS.Clone(),
		TLSHandshakeTimeout: 15 * time.Second,
		MaxIdleConnsPerHost: 64, // as many as ever upload at once
		DisableCompression:  true,
		// One connection for each upload: a stalled one does not hold up the others.
		TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{},
	}
	if s.tunnel == nil {
		s.transport.Proxy = http.ProxyFromEnvironment
	}
	s.auth = &auth.Client{
		Client: &http.Client{Transport: s.transport, CheckRedirect: follow},
		Cache:  c.cache,
		Header: http.Header{"User-Agent": {"zarf-host"}},
	}
	var err error
	if s.auth.Credential, err = c.credential(); err != nil {
		return nil, errors.Join(err, s.close(err))
	}
	if c.scheme == "" {
		found, err := c.findScheme(ctx, s)
		if err != nil {
			return nil, errors.Join(err, s.close(err))
		}
		c.scheme = found
	}
	s.scheme = c.scheme
	return s, nil
}

// maxRedirects is how often a registry may send us elsewhere for one answer.
const maxRedirects = 10

// follow judges a redirect: never from HTTPS to plain HTTP.
func follow(request *http.Request, via []*http.Request) error {
	if len(via) >= maxRedirects {
		return fmt.Errorf("stopped after %d redirects", len(via))
	}
	if via[len(via)-1].URL.Scheme == "https" && request.URL.Scheme != "https" {
		return errors.New("the registry redirects from HTTPS to plain HTTP")
	}
	return nil
}

// credential is what to log in with; nil is nothing.
func (c *Client) credential() (auth.CredentialFunc, error) {
	switch {
	case c.opts.Username != "" || c.opts.Password != "":
		return auth.StaticCredential(registry.Reference{Registry: c.host}.Host(),
			auth.Credential{Username: c.opts.Username, Password: c.opts.Password}), nil
	case !c.opts.Docker:
		return nil, nil
	}
	store, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading the Docker configuration for credentials: %w", err)
	}
	return credentials.Credential(store), nil
}

// ping asks whether a registry answers under a scheme. What it answers is no concern here.
func (s *session) ping(ctx context.Context, by scheme) error {
	ctx, cancel := s.client.limited(ctx)
	defer cancel()
	url := string(by) + "://" + registry.Reference{Registry: s.client.host}.Host() + "/v2/"
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, url, nil)
	if err != nil {
		return err
	}
	response, err := s.auth.Client.Do(request)
	if err != nil {
		return s.client.explain(ctx, err)
	}
	return response.Body.Close()
}

// dial opens a connection that is closed with the session at the latest.
func (s *session) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var conn net.Conn
	var err error
	if s.tunnel != nil {
		conn, err = s.tunnel.Dial(ctx)
	} else {
		dialer := net.Dialer{Timeout: 15 * time.Second, KeepAlive: 15 * time.Second}
		conn, err = dialer.DialContext(ctx, network, address)
	}
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != nil {
		return nil, errors.Join(s.ended, conn.Close())
	}
	tracked := &trackedConn{Conn: conn, session: s}
	s.conns[tracked] = true
	return tracked, nil
}

// close ends all connections and the tunnel, and returns when they have ended. Nothing may be under
// way: whoever uses a session waits for what it began.
func (s *session) close(cause error) error {
	s.mu.Lock()
	s.ended = fmt.Errorf("the session was closed: %w", cause)
	conns := s.conns
	s.conns = map[*trackedConn]bool{}
	s.mu.Unlock()
	for conn := range conns {
		_ = conn.Conn.Close() // whatever it says, it is closed
	}
	s.transport.CloseIdleConnections()
	if s.tunnel == nil {
		return nil
	}
	if err := s.tunnel.Close(); err != nil {
		return fmt.Errorf("closing the tunnel to the registry: %w", err)
	}
	return nil
}

// repository is a repository of the registry, by its whole path.
func (s *session) repository(path string) *remote.Repository {
	repository := s.referring(path)
	// A manifest that refers to another is pushed like any other: what refers to it is for the
	// registry to find out.
	_ = repository.SetReferrersCapability(true)
	return repository
}

// referring is a repository that finds out by itself how the registry lists what refers to a manifest:
// by an answer of its own, or by a tag.
func (s *session) referring(path string) *remote.Repository {
	return &remote.Repository{
		Client:    s.auth,
		Reference: registry.Reference{Registry: s.client.host, Repository: path},
		PlainHTTP: s.scheme == plain,
	}
}

// trackedConn tells its session that it was closed.
type trackedConn struct {
	net.Conn
	session *session
}

func (t *trackedConn) Close() error {
	t.session.mu.Lock()
	delete(t.session.conns, t)
	t.session.mu.Unlock()
	return t.Conn.Close()
}

// limited bounds a request without a large body.
func (c *Client) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := c.opts.StallLimit
	return context.WithTimeoutCause(ctx, limit, &StallError{Waiting: "the registry did not answer", Limit: limit})
}

// explain returns the reason why a request was ended, where we are the ones who ended it.
func (c *Client) explain(ctx context.Context, err error) error {
	var stall *StallError
	if err != nil && errors.As(context.Cause(ctx), &stall) {
		return stall
	}
	return err
}
