package registry_test

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/image"
	"github.com/zarf-host/zarf-host/host/internal/faultproxy"
	"github.com/zarf-host/zarf-host/host/internal/testregistry"
	"github.com/zarf-host/zarf-host/host/registry"
)

// A repository is surveyed by its tags, and by the digests that somebody knows: an index tells what is
// below it, indexes below it included.
func TestSurvey(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSource()
	one := s.manifest(t, "one", s.layer(t, 1, 100), s.layer(t, 2, 50))
	two := s.manifest(t, "two", s.layer(t, 1, 100))
	inner := s.indexOf(t, two)
	outer := s.indexOf(t, one, inner)
	tagged := s.name(t, "a.test/x:1", one)
	pinned := s.name(t, "a.test/x@"+outer.Digest.String(), outer)
	client := open(t, registry.Options{Address: r.Address()})
	push(t, client, s.content(t), tagged, pinned)
	at := r.Address() + "/x"

	got, err := client.Survey(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Tags) != 2 || got.Tags["1"] != one.Digest.String() || len(got.Indexes) != 0 {
		t.Errorf("by tags alone: %+v", got)
	}
	none := "sha256:" + one.Digest.Encoded()[1:] + "0"
	got, err = client.Survey(t.Context(), at, outer.Digest.String(), one.Digest.String(), none)
	if err != nil {
		t.Fatal(err)
	}
	below := []string{one.Digest.String(), two.Digest.String(), inner.Digest.String()}
	slices.Sort(below)
	if diff := cmp.Diff(map[string][]string{outer.Digest.String(): below}, got.Indexes); diff != "" || len(got.Tags) != 2 {
		t.Errorf("with digests: %v, indexes (-want +got):\n%s", got.Tags, diff)
	}
	if empty, err := client.Survey(t.Context(), r.Address()+"/none", none); err != nil || len(empty.Tags)+len(empty.Indexes) != 0 {
		t.Errorf("a repository that does not exist: %+v, %v", empty, err)
	}

	// All that it consists of, each once, as a package counts.
	for reference, ref := range map[string]image.Reference{at + ":1": tagged, at + "@" + outer.Digest.String(): pinned} {
		want, err := s.content(t).Size(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := client.Size(t.Context(), reference); err != nil || got != want {
			t.Errorf("%s has %d bytes, %v; want %d", reference, got, err, want)
		}
	}
	if got, err := client.Size(t.Context(), at+":none"); err != nil || got != 0 {
		t.Errorf("nothing has %d bytes, %v", got, err)
	}
}

// A registry that knows no deletion by tag says so in one way or another; any other refusal is an error.
func TestDeleteByTagRefused(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{NoUntag: true})
	s := newSource()
	ref := s.image(t, "a.test/x:1", s.layer(t, 1, 100))
	client := open(t, registry.Options{Address: r.Address()})
	sum := push(t, client, s.content(t), ref).Images[0].Digest
	if err := client.Delete(t.Context(), r.Address()+"/x:1"); !errors.Is(err, registry.ErrDeleteRefused) || r.Digest(t, "x", "1") != sum {
		t.Errorf("by tag: %v", err)
	}
	proxy := r.Proxy(t)
	at := host(proxy.URL()) + "/x"
	client = open(t, registry.Options{Address: host(proxy.URL()), Retries: -1})
	for _, tt := range []struct {
		reference string
		code      int
		refused   bool
	}{
		{":1", http.StatusBadRequest, true},
		{":1", http.StatusMethodNotAllowed, true},
		{":1", http.StatusNotImplemented, true},
		{":1", http.StatusForbidden, false},
		{":1", http.StatusInternalServerError, false},
		{"@" + sum, http.StatusBadRequest, false},
		{"@" + sum, http.StatusMethodNotAllowed, true},
	} {
		proxy.Reset()
		proxy.Inject(faultproxy.Rule{Fault: faultproxy.Status(tt.code), Match: func(q faultproxy.Request) bool { return q.Method == http.MethodDelete }})
		err := client.Delete(t.Context(), at+tt.reference)
		if err == nil || errors.Is(err, registry.ErrDeleteRefused) != tt.refused || registry.Unreachable(err) {
			t.Errorf("%d to %q: %v", tt.code, tt.reference, err)
		}
	}
	proxy.Reset()
	proxy.Inject(faultproxy.Rule{Fault: faultproxy.Reset(), Times: -1})
	if err := client.Delete(t.Context(), at+"@"+sum); !registry.Unreachable(err) {
		t.Errorf("a registry that does not answer: %v", err)
	}
	if err := open(t, registry.Options{Address: r.Address()}).Delete(t.Context(), r.Address()+"/x@"+sum); err != nil || r.Digest(t, "x", "1") != "" {
		t.Errorf("by digest: %v", err)
	}
}
