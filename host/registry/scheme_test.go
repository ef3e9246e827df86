package registry_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zarf-host/zarf-host/host/image"
	"github.com/zarf-host/zarf-host/host/internal/testregistry"
	"github.com/zarf-host/zarf-host/host/registry"
)

// TestConnections pushes through each kind of connection that a state can ask for, and is refused
// where it does not fit.
func TestConnections(t *testing.T) {
	anyone := testregistry.Start(t, testregistry.Options{})
	login := testregistry.Start(t, testregistry.Options{User: "u", Password: "p"})
	secure := testregistry.Start(t, testregistry.Options{TLS: true, User: "u", Password: "p"})
	mutual := testregistry.Start(t, testregistry.Options{ClientCA: true})
	noClient := mutual.TLS(t)
	noClient.Certificates = nil
	tests := map[string]struct {
		registry *testregistry.Registry
		opts     registry.Options
		want     string // the error
		hint     string
	}{
		"plain on loopback":       {registry: anyone},
		"plain with a login":      {registry: login, opts: registry.Options{Username: "u", Password: "p"}},
		"no credentials":          {registry: login, want: "credential", hint: "push credentials"},
		"wrong credentials":       {registry: login, opts: registry.Options{Username: "u", Password: "x"}, want: "401", hint: "push credentials"},
		"TLS with a login":        {registry: secure, opts: registry.Options{Username: "u", Password: "p", TLS: secure.TLS(t)}},
		"TLS of an unknown CA":    {registry: secure, opts: registry.Options{Username: "u", Password: "p"}, want: "certificate"},
		"never plain after that":  {registry: secure, opts: registry.Options{Username: "u", Password: "p", PlainHTTP: true}, want: "certificate"},
		"mutual TLS":              {registry: mutual, opts: registry.Options{TLS: mutual.TLS(t)}},
		"no client certificate":   {registry: mutual, opts: registry.Options{TLS: noClient}, want: "tls"},
		"mutual TLS, plain there": {registry: anyone, opts: registry.Options{TLS: mutual.TLS(t), PlainHTTP: true}, want: "plain HTTP"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSource()
			ref := s.image(t, "a.test/"+strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(name), " ", "-"), ",", "")+":1", s.layer(t, 1, 20<<20), s.layer(t, 2, 100))
			tt.opts.Address, tt.opts.Retries = tt.registry.Address(), -1
			result, err := open(t, tt.opts).Push(t.Context(), registry.PushOptions{Images: []image.Reference{ref}, Content: s.content(t)})
			if tt.want == "" {
				if err != nil || tt.registry.Digest(t, ref.Path, "1") != result.Images[0].Digest {
					t.Errorf("got %v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v; want an error with %q", err, tt.want)
			}
			var hinted interface{ Hint() string }
			if tt.hint != "" && (!errors.As(err, &hinted) || !strings.Contains(hinted.Hint(), tt.hint)) {
				t.Errorf("the hint of %v is not about %q", err, tt.hint)
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, address := range []string{"", "http://a.test", "a.test:port", "a.test/UPPER", "a test"} {
		if client, err := registry.Open(registry.Options{Address: address}); err == nil {
			client.Close()
			t.Errorf("%q was accepted", address)
		}
	}
}

func TestQueries(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSource()
	layer := s.layer(t, 1, 100)
	a := s.image(t, "a.test/x:1", layer)
	client := open(t, registry.Options{Address: r.Address()})
	sum := push(t, client, s.content(t), a).Images[0].Digest
	at := r.Address() + "/x"

	got, err := client.Digests(t.Context(), at+":1", at+"@"+sum, at+":2", r.Address()+"/none:1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{at + ":1": sum, at + "@" + sum: sum}, got); diff != "" {
		t.Errorf("digests (-want +got):\n%s", diff)
	}
	tags := func() []string {
		t.Helper()
		tags, err := client.Tags(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		return tags
	}
	if diff := cmp.Diff([]string{"1", "1-zarf-" + strings.TrimPrefix(image.Transform("r", a).Pods, "r/x:1-zarf-")}, tags()); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	if none, err := client.Tags(t.Context(), r.Address()+"/none"); err != nil || len(none) != 0 {
		t.Errorf("a repository that does not exist: %v, %v", none, err)
	}
	// By tag: the other tag stays. Twice is no error.
	for range 2 {
		if err := client.Delete(t.Context(), at+":1"); err != nil {
			t.Fatal(err)
		}
	}
	if left := tags(); len(left) != 1 || left[0] == "1" {
		t.Errorf("tags after deleting one: %v", left)
	}
	// By digest: all is gone, and a push brings it back.
	if err := client.Delete(t.Context(), at+"@"+sum); err != nil {
		t.Fatal(err)
	}
	if r.Digest(t, "x", sum) != "" {
		t.Error("the image is still there")
	}
	push(t, client, s.content(t), a)
	if r.Digest(t, "x", "1") != sum {
		t.Error("a push after deleting did not bring the image back")
	}
	if _, err := client.Digests(t.Context(), "elsewhere.test/x:1"); err == nil || !strings.Contains(err.Error(), "is not in the registry") {
		t.Errorf("another registry: %v", err)
	}
}

func TestDeleteRefused(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{NoDelete: true})
	s := newSource()
	ref := s.image(t, "a.test/x:1", s.layer(t, 1, 100))
	client := open(t, registry.Options{Address: r.Address()})
	sum := push(t, client, s.content(t), ref).Images[0].Digest
	for _, reference := range []string{r.Address() + "/x:1", r.Address() + "/x@" + sum} {
		if err := client.Delete(t.Context(), reference); !errors.Is(err, registry.ErrDeleteRefused) {
			t.Errorf("%s: %v", reference, err)
		}
	}
	if r.Digest(t, "x", "1") != sum {
		t.Error("it is gone all the same")
	}
}
