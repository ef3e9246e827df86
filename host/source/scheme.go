package source

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// speaksPlain finds out whether a registry has to be spoken to in plain HTTP. HTTPS is tried first:
// a server that speaks it, however badly, is never spoken to in plain HTTP, and nothing secret is
// sent to find out.
func speaksPlain(ctx context.Context, client *http.Client, host string, allowed bool) (bool, error) {
	err := ping(ctx, client, "https", host)
	if err == nil {
		return false, nil
	}
	allowed = allowed || local(host)
	var network *net.OpError
	mismatch := errors.Is(err, http.ErrSchemeMismatch)
	// Without a port in the reference, the two schemes have a port each.
	refused := errors.As(err, &network) && network.Op == "dial" && !hasPort(host)
	switch {
	case mismatch && !allowed:
		return false, fetchError("https://"+host+"/v2/", &plainHTTPError{host})
	case allowed && (mismatch || refused) && ping(ctx, client, "http", host) == nil:
		return true, nil
	}
	return false, fetchError("https://"+host+"/v2/", err)
}

// ping asks whether a registry is there at all. What it answers does not matter.
func ping(ctx context.Context, client *http.Client, scheme, host string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, scheme+"://"+host+"/v2/", nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// local reports whether a host is this machine or in a private network, by its name alone.
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

func hasPort(host string) bool {
	_, _, err := net.SplitHostPort(host)
	return err == nil
}
