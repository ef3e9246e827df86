package airgap_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/internal/guests"
	"github.com/zarf-host/zarf-host/host/internal/testregistry"
	"github.com/zarf-host/zarf-host/host/plan"
)

// BenchmarkDeployWithGuard prunes one component of two and brings it back, with the guard and without it
// in turn. The guard is loaded as often as a person loads it, once a deployment, from the cache of compiled
// modules, and is asked where something is pruned.
func BenchmarkDeployWithGuard(b *testing.B) {
	root, err := guests.Root()
	if err != nil {
		b.Fatal(err)
	}
	module := filepath.Join(root, "bin", "plugins", "guard.wasm") // which `make plugins` builds
	r := testregistry.Start(b, testregistry.Options{})
	s := newSite(b)
	s.init(r.Address(), "u", "p")
	both := images(b, "shop", "1.0.0", "web x:1", "db y:1")
	one := images(b, "shop", "2.0.0", "web x:1")
	cache := b.TempDir()
	deploy := func(source string, guarded bool) {
		s.mustDeploy(source, func(o *host.DeployOptions) {
			o.Prune = plan.Scopes{plan.ScopeClusterResources}
			if !guarded {
				return
			}
			guard, err := host.OpenPlugin(b.Context(), module, host.PluginOptions{
				Config: map[string]any{"data": true}, CacheDir: cache,
			})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = guard.Close(b.Context()) })
			o.Plugins = []host.Plugin{guard}
		})
	}
	deploy(both, true)
	var with, without time.Duration
	for b.Loop() {
		with += timed(func() { deploy(one, true) })
		deploy(both, false)
		without += timed(func() { deploy(one, false) })
		deploy(both, false)
	}
	n := float64(b.N)
	b.ReportMetric(with.Seconds()/n, "with-s")
	b.ReportMetric(without.Seconds()/n, "without-s")
	b.ReportMetric(with.Seconds()/without.Seconds(), "guard-ratio")
}
