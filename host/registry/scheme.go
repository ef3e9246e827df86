package registry

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// scheme is how a registry is spoken to.
type scheme string

const (
	secure scheme = "https"
	plain  scheme = "http"
)

// mayBePlain tells whether plain HTTP is an option at all.
func (o Options) mayBePlain(host string) bool {
	if o.TLS != nil && (len(o.TLS.Certificates) > 0 || o.TLS.GetClientCertificate != nil) {
		return false
	}
	return o.PlainHTTP || o.Tunnel != nil || local(host)
}

// local tells whether a host is on this machine or in a private network.
func local(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && (addr.IsLoopback() || addr.IsPrivate())
}

// findScheme asks the server, HTTPS first. A server that speaks HTTPS, however badly, is never spoken
// to in plain HTTP.
func (c *Client) findScheme(ctx context.Context, s *session) (scheme, error) {
	err := s.ping(ctx, secure)
	if err == nil {
		return secure, nil
	}
	var dial *net.OpError
	mismatch := errors.Is(err, http.ErrSchemeMismatch)
	// Without a port the two schemes are at two ports.
	refused := errors.As(err, &dial) && dial.Op == "dial"
	switch allowed := c.opts.mayBePlain(c.host); {
	case mismatch && !allowed:
		return "", &plainHTTPError{Address: c.opts.Address}
	case allowed && (mismatch || refused && !hasPort(c.host)):
		if s.ping(ctx, plain) == nil {
			return plain, nil
		}
	}
	return "", err
}

func hasPort(host string) bool {
	_, _, err := net.SplitHostPort(host)
	return err == nil
}
