package wait

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// Network waits until an address answers: with the status code over http and https (0 means any
// 2xx), by accepting a connection over tcp.
func Network(ctx context.Context, protocol, address string, code int) error {
	protocol = strings.ToLower(protocol)
	what := fmt.Sprintf("%s://%s", protocol, address)
	if code != 0 && http.StatusText(code) == "" {
		return fmt.Errorf("waiting for %s: %d is no status code of HTTP", what, code)
	}
	switch protocol {
	case "http", "https":
		target, err := url.Parse(what)
		if err != nil || target.Host == "" || strings.Contains(address, "://") {
			return fmt.Errorf("waiting for %s: %q is not an address such as example.com:8080/path", what, address)
		}
		return waitHTTP(ctx, target.String(), code)
	case "tcp", "tcp4", "tcp6":
		if _, _, err := net.SplitHostPort(address); err != nil {
			return fmt.Errorf("waiting for %s: %w", what, err)
		}
		return waitTCP(ctx, protocol, address)
	default:
		return fmt.Errorf("waiting for %s: the protocol %q is unknown, use http, https or tcp", what, protocol)
	}
}

func waitHTTP(ctx context.Context, target string, code int) error {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	return poll(ctx, target, func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
		if err != nil {
			return hopeless{err}
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		_ = resp.Body.Close() // only the status matters
		if code == 0 && resp.StatusCode/100 == 2 || resp.StatusCode == code {
			return nil
		}
		return fmt.Errorf("it answers %s", resp.Status)
	})
}

func waitTCP(ctx context.Context, protocol, address string) error {
	var dialer net.Dialer
	return poll(ctx, protocol+"://"+address, func(ctx context.Context) error {
		conn, err := dialer.DialContext(ctx, protocol, address)
		if err != nil {
			return err
		}
		return conn.Close()
	})
}
