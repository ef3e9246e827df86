package source

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/zarf-host/zarf-host/host/bundle"
)

// openWeb opens an archive on a web server. It is read from there once for every pass, the first of
// which verifies its checksum; later ones are held to what the first one saw.
func openWeb(ctx context.Context, ref string, o Options) (*bundle.Bundle, error) {
	w, err := newWeb(ref, o)
	if err != nil {
		return nil, err
	}
	return bundle.OpenStream(ctx, w.name, w, o.Bundle)
}

// web is an archive on a web server.
type web struct {
	opts      Options
	name      string   // without credentials
	address   *url.URL // without user and password
	transport *http.Transport
	client    *http.Client
	known     atomic.Bool // the server was there before
}

// newWeb prepares requests to an archive, which needs a checksum to be held against.
func newWeb(ref string, o Options) (*web, error) {
	w, err := dialWeb(ref, o)
	if err == nil && o.Bundle.SHA256 == "" {
		return nil, &UnsupportedError{
			Ref: Clean(ref), Reason: "a package on a web server needs the checksum that it must have",
			hint: "give the sha256 of the archive with --shasum",
		}
	}
	return w, err
}

// dialWeb prepares requests to an address.
func dialWeb(ref string, o Options) (*web, error) {
	bad := func(reason, hint string) error {
		return &UnsupportedError{Ref: Clean(ref), Reason: reason, hint: hint}
	}
	address, err := url.Parse(ref)
	if err != nil || address.Host == "" {
		// The error would repeat the address, with whatever secret is in it.
		return nil, bad("not an address", "percent-encode the special characters of user and password")
	}
	if address.Scheme == "http" && !o.PlainHTTP && !local(address.Host) {
		return nil, bad("plain HTTP is not protected against listeners", "use https://, or allow it with --plain-http")
	}
	logins, err := readNetrc()
	if err != nil {
		return nil, err
	}
	w := &web{opts: o, name: Clean(ref), transport: newTransport(o)}
	signed := &authorized{base: w.transport, logins: logins, host: address.Hostname()}
	if address.User != nil {
		password, _ := address.User.Password()
		signed.origin, signed.given = address.Scheme+"://"+address.Host, login{address.User.Username(), password}
		address.User = nil
	}
	w.address = address
	w.client = &http.Client{Transport: signed, CheckRedirect: follow}
	return w, nil
}

// Close ends the connections that are idle.
func (w *web) Close() error {
	w.transport.CloseIdleConnections()
	return nil
}

// Open starts another pass.
func (w *web) Open(ctx context.Context) (io.ReadCloser, error) {
	etag := ""
	d := &download{ctx: ctx, opts: w.opts, name: w.name, size: -1, known: w.known.Load()}
	d.get = func(ctx context.Context, offset int64) (*http.Response, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.address.String(), nil)
		if err != nil {
			return nil, err
		}
		request.Header.Set("User-Agent", userAgent)
		// Without a strong tag there is no telling whether it is still the same, but what is put
		// together of two versions has neither one's checksum.
		if offset > 0 {
			request.Header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
			if etag != "" {
				request.Header.Set("If-Range", etag)
			}
		}
		response, err := w.client.Do(request)
		if err != nil {
			return nil, err
		}
		if tag := response.Header.Get("ETag"); offset == 0 && strings.HasPrefix(tag, `"`) {
			etag = tag
		}
		return response, nil
	}
	if err := d.open(); err != nil {
		return nil, err
	}
	w.known.Store(true)
	return d, nil
}

// authorized logs requests in: with what the address carried, at the server that it names and nowhere
// else, or with what .netrc has for the server, after a redirect too.
type authorized struct {
	base   http.RoundTripper
	logins netrc
	host   string // that the address names
	origin string // scheme and host that given is for
	given  login
}

// RoundTrip sends a request.
func (a *authorized) RoundTrip(request *http.Request) (*http.Response, error) {
	// The default entry is for the server that the user named, not for whatever it leads to.
	who, ok := a.logins.find(request.URL.Hostname(), request.URL.Hostname() == a.host)
	if request.URL.Scheme+"://"+request.URL.Host == a.origin {
		who, ok = a.given, true
	}
	if ok && request.Header.Get("Authorization") == "" {
		request = request.Clone(request.Context())
		request.SetBasicAuth(who.user, who.password)
	}
	return a.base.RoundTrip(request)
}
