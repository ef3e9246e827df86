package airgap_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/internal/testregistry"
	"github.com/zarf-host/zarf-host/host/plan"
)

// TestPruneDifferential deploys what Zarf built, then the difference to its next version, which lists
// only what it brings: every image of the base stays, and the record goes on to name them, so that the
// prune of another package leaves them too (ZARF-FACTS (e), hazard 1).
func TestPruneDifferential(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{User: "u", Password: "p"})
	s := newSite(t)
	// Its images are from 127.0.0.1:5001, which might be a prefix of our address.
	address := strings.Replace(r.Address(), "127.0.0.1", "localhost", 1)
	s.init(address, "u", "p")
	base := shared(t, "packages/zarf-package-demo-amd64-0.1.0.tar.zst")
	s.mustDeploy(base, components(allButRepo))
	result := s.mustDeploy(shared(t, "packages/zarf-package-demo-amd64-0.1.0-differential-0.2.0.tar.zst"), components(allButRepo), pruneImages)
	if diff := cmp.Diff(tags(t, "samples/cluster/E1.tags"), r.Tags(t)); diff != "" {
		t.Errorf("the registry is not what Zarf leaves (-Zarf +ours):\n%s", diff)
	}
	if why := kept(result.Plan)[address+"/demo/hello:0.1.0"]; !strings.HasPrefix(why, "differential: the package is the difference to 0.1.0") {
		t.Errorf("an image that the difference replaces is kept by %q", why)
	}
	var named []string
	for _, c := range s.record("demo")["data"].(map[string]any)["components"].([]any) {
		for _, image := range list(c.(map[string]any)["images"]) {
			named = append(named, image.(string))
		}
	}
	for _, image := range []string{"127.0.0.1:5001/demo/pause:1.0.0", "127.0.0.1:5001/demo/multi:1.0.0"} {
		if !slices.Contains(named, image) {
			t.Errorf("the record does not name %s, which the base brought: %v", image, named)
		}
	}

	// What another package has in common with the base is not its own to delete.
	before := slices.Sorted(maps.Keys(r.Tags(t)))
	beta := shared(t, "packages/zarf-package-beta-demo-amd64-0.1.0.tar.zst")
	s.mustDeploy(beta)
	if _, err := host.Remove(t.Context(), host.RemoveOptions{Common: s.options(), Target: "beta-demo", Prune: plan.Scopes{plan.ScopeImages}}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, slices.Sorted(maps.Keys(r.Tags(t)))); diff != "" {
		t.Errorf("the prune of another package changed (-before +after):\n%s", diff)
	}
	if _, err := s.removeWith("demo"); err != nil {
		t.Fatal(err)
	}
	if got := r.Tags(t); len(got) > 0 {
		t.Errorf("at the end the registry has %v", got)
	}
}
