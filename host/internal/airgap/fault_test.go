package airgap_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/internal/packagetest"
	"github.com/zarf-host/zarf-host/host/internal/testregistry"
	"github.com/zarf-host/zarf-host/host/registry"
	"github.com/zarf-host/zarf-host/host/state"
)

const bulky = `
kind: ZarfPackageConfig
metadata: {name: bulky, version: 1.0.0}
components:
  - name: first
    required: true
    images: ["example.test/bulky/small:1.0.0"]
  - name: second
    required: true
    images: ["example.test/bulky/large:1.0.0"]
    manifests:
      - {name: data, namespace: bulky, files: [data.yaml]}
`

// bulkyPackage has a blob that is large enough to be interrupted.
func bulkyPackage(t testing.TB) string {
	t.Helper()
	small := packagetest.Layer{Seed: 1, Size: 100_000}
	return pack(t, bulky, map[string]string{"data.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: data}\n"},
		packagetest.Image{Reference: "example.test/bulky/small:1.0.0", Layers: []packagetest.Layer{small}},
		packagetest.Image{Reference: "example.test/bulky/large:1.0.0", Layers: []packagetest.Layer{small, {Seed: 2, Size: 24 << 20}, {Seed: 3, Size: 6 << 20}}})
}

// has holds that a registry has the whole package.
func has(t testing.TB, r *testregistry.Registry) {
	t.Helper()
	tags := r.Tags(t)
	if len(tags) != 4 || tags["bulky/large:1.0.0"] == "" || tags["bulky/large:1.0.0"] == tags["bulky/small:1.0.0"] {
		t.Errorf("the registry has %v", tags)
	}
}

// TestBrokenWay breaks the way to the registry in the middle of a blob: the push is finished
// nonetheless, within its limits.
func TestBrokenWay(t *testing.T) {
	file := bulkyPackage(t)
	for _, tt := range []struct {
		name string
		cut  func(s *site, r *testregistry.Registry, w *testregistry.Wire)
		said string
		lost bool // what earlier components brought
	}{
		{"the registry is killed and comes back", func(s *site, r *testregistry.Registry, w *testregistry.Wire) {
			r.Kill()
			w.Cut()
			r.Restart(s.t)
		}, "trying again", false},
		{"the registry comes back empty", func(s *site, r *testregistry.Registry, w *testregistry.Wire) {
			r.Kill()
			r.Erase(s.t)
			w.Cut()
			r.Restart(s.t)
		}, "trying again", true},
		{"the connections are reset", func(_ *site, _ *testregistry.Registry, w *testregistry.Wire) { w.Cut() }, "trying again", false},
		{"the upload stands still", func(s *site, _ *testregistry.Registry, w *testregistry.Wire) {
			w.Stall()
			go func() {
				for !s.saw("no byte of the upload moved") && s.t.Context().Err() == nil {
					time.Sleep(20 * time.Millisecond)
				}
				w.Flow()
			}()
		}, "no byte of the upload moved", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := testregistry.Start(t, testregistry.Options{})
			w := r.Wire(t)
			s := newSite(t)
			s.common.Retries, s.common.Patience = 3, host.Patience{Backoff: 200 * time.Millisecond, Stall: time.Second}
			s.init(w.Address(), "u", "p")
			w.After(10<<20, func() { tt.cut(s, r, w) })
			s.mustDeploy(file)
			if tt.lost {
				// What the registry confirmed and lost is brought again by the next deployment.
				s.mustDeploy(file)
			}
			has(t, r)
			if !s.saw(tt.said) {
				t.Errorf("nobody said %q:\n%s", tt.said, strings.Join(s.said, "\n"))
			}
		})
	}
}

// TestLostRegistry takes the registry away for good: the deployment fails, says clearly what is
// wrong, within the limits, and records it; the next one goes on where it stopped.
func TestLostRegistry(t *testing.T) {
	file := bulkyPackage(t)
	for _, tt := range []struct {
		name        string
		lose, found func(t *testing.T, r *testregistry.Registry, w *testregistry.Wire)
		stalled     bool
	}{
		{
			"killed",
			func(_ *testing.T, r *testregistry.Registry, w *testregistry.Wire) { r.Kill(); w.Cut() },
			func(t *testing.T, r *testregistry.Registry, _ *testregistry.Wire) { r.Restart(t) }, false,
		},
		{
			"stalled",
			func(_ *testing.T, _ *testregistry.Registry, w *testregistry.Wire) { w.Stall() },
			func(_ *testing.T, _ *testregistry.Registry, w *testregistry.Wire) { w.Cut(); w.Flow() }, true,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := testregistry.Start(t, testregistry.Options{})
			w := r.Wire(t)
			s := newSite(t)
			s.common.Retries, s.common.Patience = 1, host.Patience{Backoff: 200 * time.Millisecond, Stall: time.Second}
			// The wire may stall when all of a blob is sent, and what is waited for is that it is stored.
			s.common.Patience.Commit = 2 * time.Second
			s.init(w.Address(), "u", "p")
			var began time.Time
			w.After(10<<20, func() { began = time.Now(); tt.lose(t, r, w) })
			_, err := s.deploy(file)
			took := time.Since(began)
			t.Logf("after %v: %v", took, err)
			if err == nil || began.IsZero() || !strings.Contains(err.Error(), w.Address()) || !strings.Contains(err.Error(), `component "second"`) ||
				!strings.Contains(err.Error(), "gave up after 2 attempts without progress") {
				t.Fatalf("got %v", err)
			}
			var stall *registry.StallError
			if errors.As(err, &stall) != tt.stalled {
				t.Errorf("stalled: want %v, got %v", tt.stalled, err)
			}
			// Two attempts, a pause, a second to notice each, and time for a busy machine.
			if limit := 15 * time.Second; took > limit {
				t.Errorf("it took %v to give up, allowed are %v", took, limit)
			}
			for i, want := range []state.Status{state.StatusSucceeded, state.StatusFailed} {
				c := s.record("bulky")["deployedComponents"].([]any)[i].(map[string]any)
				if c["status"] != string(want) {
					t.Errorf("component %v is recorded as %v, want %v", c["name"], c["status"], want)
				}
			}
			tt.found(t, r, w)
			s.mustDeploy(file)
			has(t, r)
		})
	}
}
