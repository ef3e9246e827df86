package source

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

const (
	userAgent    = "zarf-host"
	maxRedirects = 10
)

// newTransport makes connections as the options want them. Whoever makes one closes its idle
// connections in the end.
func newTransport(o Options) *http.Transport {
	dialer := &net.Dialer{Timeout: 15 * time.Second, KeepAlive: 15 * time.Second}
	return &http.Transport{
		Proxy:       http.ProxyFromEnvironment,
		DialContext: dialer.DialContext,
		TLSClientConfig: &tls.Config{
			MinVersion:         tls.VersionTLS12,
			InsecureSkipVerify: o.InsecureSkipTLSVerify, //nolint:gosec // the flag that asks for it says so in its name
		},
		TLSHandshakeTimeout:   15 * time.Second,
		ResponseHeaderTimeout: o.StallLimit,
		MaxIdleConnsPerHost:   32,
		IdleConnTimeout:       90 * time.Second,
		// Bytes are hashed as they are stored.
		DisableCompression: true,
		// One connection for each file: one that stalls does not hold up the others.
		TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{},
	}
}

// follow judges a redirect. It never leads from HTTPS to plain HTTP, and the new server is not told
// the address that led there, which may carry a signature.
func follow(request *http.Request, via []*http.Request) error {
	if len(via) >= maxRedirects {
		return fmt.Errorf("stopped after %d redirects", len(via))
	}
	if via[len(via)-1].URL.Scheme == "https" && request.URL.Scheme != "https" {
		return errors.New("the server redirects from HTTPS to plain HTTP")
	}
	request.Header.Del("Referer")
	return nil
}
