package source

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseNetrc(t *testing.T) {
	text := `# a comment machine commented
machine one.test login "u" password p#1 # and the rest
machine two.test
	account x
	password p2
	login u2
macdef init
machine in.a.macro login x password y

machine one.test login second password second
default login anyone password any`
	entries := parseNetrc(text)
	for host, want := range map[string]login{
		"one.test": {`"u"`, "p#1"}, "two.test": {"u2", "p2"}, "commented": {"anyone", "any"}, "in.a.macro": {"anyone", "any"},
	} {
		if got, ok := entries.find(host, true); !ok || got != want {
			t.Errorf("%s: %+v, %v; want %+v", host, got, ok, want)
		}
	}
	if got, ok := entries.find("other.test", false); ok {
		t.Errorf("other.test has %+v without the default", got)
	}
}

func FuzzParseNetrc(f *testing.F) {
	f.Add("machine a login b password c\nmacdef x\n\ndefault login d")
	f.Add("machine")
	f.Add("login x machine\npassword")
	f.Fuzz(func(t *testing.T, text string) {
		for _, entry := range parseNetrc(text) {
			for _, word := range []string{entry.host, entry.user, entry.password} {
				if !strings.Contains(text, word) || strings.ContainsAny(word, " \n\t") {
					t.Errorf("%q is no word of the file", word)
				}
			}
		}
	})
}

func TestParseContentRange(t *testing.T) {
	type parsed struct {
		Start, Total int64
		OK           bool
	}
	for text, want := range map[string]parsed{
		"bytes 5-9/10": {5, 10, true}, "bytes 5-9/*": {5, -1, true}, "": {}, "5-9/10": {},
		"bytes -5-9/10": {}, "bytes */10": {}, "bytes 5-9": {}, "bytes x-9/10": {},
		"bytes 5-9/3": {5, 3, false}, "bytes 99999999999999999999-9/10": {},
	} {
		start, total, ok := parseContentRange(text)
		if ok != want.OK || ok && (start != want.Start || total != want.Total) {
			t.Errorf("%q: %d, %d, %v; want %+v", text, start, total, ok, want)
		}
	}
}

func FuzzParseReference(f *testing.F) {
	f.Add("user", "password", "host/path:1", "")
	f.Add("u", "p%40", "127.0.0.1:5000/a/b@sha256:"+strings.Repeat("a", 64), strings.Repeat("b", 64))
	f.Fuzz(func(t *testing.T, user, password, rest, sum string) {
		ref, given, err := parseReference("oci://"+user+":"+password+"@"+rest, sum)
		if err != nil {
			return
		}
		if ref.Validate() != nil || ref.Reference == "" || sum != "" && ref.Reference != "sha256:"+sum {
			t.Errorf("reference is %+v", ref)
		}
		if given != nil && strings.Contains(password, "%") == false && strings.ContainsAny(user, "@:/?#%") == false && !strings.ContainsAny(password+rest, "@/?#") && given.password != password {
			t.Errorf("password is %q, want %q", given.password, password)
		}
	})
}

// HTTPS is tried first, and plain HTTP only with servers that speak no HTTPS and where it is allowed.
func TestSpeaksPlain(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	plain, secure := httptest.NewServer(handler), httptest.NewUnstartedServer(handler)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer plain.Close()
	defer secure.Close()
	// Names lead to the servers by the port that they are dialled at.
	client := func(ports map[string]*httptest.Server) *http.Client {
		transport := newTransport(Options{})
		transport.Proxy = nil
		transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			_, port, _ := net.SplitHostPort(address)
			if server := ports[port]; server != nil {
				return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
			}
			return nil, &net.OpError{Op: "dial", Net: network, Err: net.UnknownNetworkError("refused")}
		}
		t.Cleanup(transport.CloseIdleConnections)
		return &http.Client{Transport: transport}
	}
	onlyHTTP := map[string]*httptest.Server{"5000": plain, "80": plain}
	for name, c := range map[string]struct {
		ports   map[string]*httptest.Server
		host    string
		allowed bool
		want    string
	}{
		"port speaks HTTP":                 {onlyHTTP, "registry.test:5000", false, "speaks plain HTTP"},
		"port speaks HTTP, allowed":        {onlyHTTP, "registry.test:5000", true, "plain"},
		"port speaks HTTP, loopback":       {onlyHTTP, "127.0.0.1:5000", false, "plain"},
		"port speaks HTTP, private":        {onlyHTTP, "10.1.2.3:5000", false, "plain"},
		"port speaks HTTP, private IPv6":   {onlyHTTP, "[fd00::1]:5000", false, "plain"},
		"port speaks HTTP, public address": {onlyHTTP, "8.8.8.8:5000", false, "speaks plain HTTP"},
		"no port, only 80":                 {onlyHTTP, "registry.test", false, "refused"},
		"no port, only 80, allowed":        {onlyHTTP, "registry.test", true, "plain"},
		"nothing there":                    {nil, "registry.test:5000", true, "refused"},
		"bad certificate is no reason":     {map[string]*httptest.Server{"443": secure, "80": plain}, "registry.test", true, "certificate"},
	} {
		isPlain, err := speaksPlain(context.Background(), client(c.ports), c.host, c.allowed)
		got := "secure"
		switch {
		case err != nil:
			got = err.Error()
		case isPlain:
			got = "plain"
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestPause(t *testing.T) {
	o := Options{}.withDefaults()
	var got []string
	for retry := range 8 {
		got = append(got, o.pause(retry).String())
	}
	want := []string{"250ms", "500ms", "1s", "2s", "4s", "8s", "10s", "10s"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pauses differ (-want +got):\n%s", diff)
	}
}
