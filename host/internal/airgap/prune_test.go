package airgap_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/internal/packagetest"
	"github.com/zarf-host/zarf-host/host/internal/testregistry"
	"github.com/zarf-host/zarf-host/host/plan"
)

// TestD1PlanShowsWhatAPruneWouldTake deploys three versions without prune: nothing goes, and the plan of
// the fourth with it lists what each version alone had, with bytes and the version that used it last.
func TestD1PlanShowsWhatAPruneWouldTake(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSite(t)
	s.init(r.Address(), "u", "p")
	for i, version := range []string{"1.0.0", "2.0.0", "3.0.0"} {
		s.mustDeploy(images(t, "shop", version, fmt.Sprintf("web x:%d base:1", i+1)))
	}
	if got := named(t, r); got != "base:1 x:1 x:2 x:3" {
		t.Fatalf("nothing was asked to go, and the registry has %s", got)
	}
	if got := s.pushed("shop", r.Address()); got != "base:1=3.0.0 x:1=1.0.0 x:2=2.0.0 x:3=3.0.0" {
		t.Fatalf("on record: %s", got)
	}
	v4 := images(t, "shop", "4.0.0", "web x:4 base:1")

	result, err := s.deploy(v4, func(o *host.DeployOptions) { o.DryRun = true })
	if err != nil || len(result.Plan.Prune.Images) > 0 {
		t.Fatalf("unasked: %+v, %v", result.Plan.Prune, err)
	}
	if !slices.ContainsFunc(result.Plan.Warnings, func(w string) bool {
		return strings.Contains(w, "6 references") && strings.Contains(w, "--prune=images")
	}) {
		t.Errorf("the plan does not say what is orphaned: %v", result.Plan.Warnings)
	}
	result, err = s.deploy(v4, pruneImages, func(o *host.DeployOptions) { o.DryRun = true })
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, i := range result.Plan.Prune.Images {
		if !strings.Contains(i.Reference, "-zarf-") {
			want := r.Digest(t, "x", i.Reference[strings.LastIndexByte(i.Reference, ':')+1:])
			if i.Digest != want || i.Bytes < 1000 {
				t.Errorf("%s is %s with %d bytes, want %s", i.Reference, i.Digest, i.Bytes, want)
			}
			got = append(got, strings.TrimPrefix(i.Reference, r.Address()+"/")+" "+string(i.Reason)+" "+i.Version)
		}
	}
	if diff := cmp.Diff([]string{"x:1 left 1.0.0", "x:2 left 2.0.0", "x:3 dropped 3.0.0"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	s.mustDeploy(v4, pruneImages, func(o *host.DeployOptions) { o.PlanDigest = result.Plan.Digest })
	if got := named(t, r); got != "base:1 x:4" {
		t.Errorf("after the prune the registry has %s", got)
	}
	if got := s.pushed("shop", r.Address()); got != "base:1=4.0.0 x:4=4.0.0" {
		t.Errorf("on record: %s", got)
	}
	again := s.mustDeploy(v4, pruneImages)
	if len(again.Plan.Prune.Images) > 0 || len(again.Applied.Images) > 0 {
		t.Errorf("a repeat prunes %+v", again.Plan.Prune.Images)
	}

	if _, err := s.removeWith("shop"); err != nil {
		t.Fatal(err)
	}
	if got := named(t, r); got != "" || s.recorded("shop") {
		t.Errorf("after the removal the registry has %q, recorded: %v", got, s.recorded("shop"))
	}
}

// TestPruneShared: what another package has stays, also where it is deployed under an override, until
// the last one goes.
func TestPruneShared(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSite(t)
	s.init(r.Address(), "u", "p")
	s.ensureNamespace("else")
	mall := images(t, "mall", "1.0.0", "m both:1 mall:1")
	s.t.Cleanup(func() {
		_, _ = s.removeWith("mall", func(o *host.RemoveOptions) { o.NamespaceOverride = "else" }) // it is gone, if all went well
	})
	if _, err := host.Deploy(t.Context(), host.DeployOptions{Common: s.options(), Source: mall, Layers: override("else")}); err != nil {
		t.Fatal(err)
	}
	s.mustDeploy(images(t, "shop", "1.0.0", "web both:1 shop:1"))
	result := s.mustDeploy(images(t, "shop", "2.0.0", "web shop:2"), pruneImages)
	if got := named(t, r); got != "both:1 mall:1 shop:2" {
		t.Errorf("the registry has %s", got)
	}
	if why := kept(result.Plan)[r.Address()+"/both:1"]; why != `package: package "mall" 1.0.0 in namespace "else" has it` {
		t.Errorf("both:1 is kept by %q: %v", why, kept(result.Plan))
	}
	if _, err := s.removeWith("mall", func(o *host.RemoveOptions) { o.NamespaceOverride = "else" }); err != nil {
		t.Fatal(err)
	}
	// Its tags for pods and people went with mall, whose own they were too.
	if got := named(t, r); got != "shop:2" {
		t.Errorf("after mall went the registry has %s", got)
	}
	if _, err := s.removeWith("shop"); err != nil {
		t.Fatal(err)
	}
	if got := named(t, r); got != "" {
		t.Errorf("at the end the registry has %s", got)
	}
}

// TestPruneSomeComponents removes one component: what the others have stays.
func TestPruneSomeComponents(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSite(t)
	s.init(r.Address(), "u", "p")
	s.mustDeploy(images(t, "shop", "1.0.0", "web both:1 web:1", "db both:1 db:1"))
	if _, err := s.removeWith("shop", func(o *host.RemoveOptions) { o.Components = "db" }); err != nil {
		t.Fatal(err)
	}
	if got := named(t, r); got != "both:1 web:1" || !s.recorded("shop") {
		t.Errorf("the registry has %s", got)
	}
	if got := s.pushed("shop", r.Address()); got != "both:1=1.0.0 web:1=1.0.0" {
		t.Errorf("on record: %s", got)
	}
}

// TestPruneComponents prunes a component with its images; without the scope of cluster resources it
// stays, and so do they.
func TestPruneComponents(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSite(t)
	s.init(r.Address(), "u", "p")
	s.mustDeploy(images(t, "shop", "1.0.0", "web web:1", "db db:1"))
	v2 := images(t, "shop", "2.0.0", "web web:2")
	s.mustDeploy(v2, pruneImages)
	if got := named(t, r); got != "db:1 web:2" {
		t.Errorf("with images alone the registry has %s", got)
	}
	s.mustDeploy(v2, prune(plan.ScopeClusterResources, plan.ScopeImages))
	if got := named(t, r); got != "web:2" {
		t.Errorf("with everything the registry has %s", got)
	}
}

// TestPruneForeign: tags of others on the same manifest survive, and so does what is put under our tag
// since.
func TestPruneForeign(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSite(t)
	s.init(r.Address(), "u", "p")
	s.mustDeploy(images(t, "shop", "1.0.0", "web x:1 y:1"))
	copyTag(t, r, "x", "1", "x", "mine")
	copyTag(t, r, "y", "1", "y", "other") // keeps y's manifest
	replaceTag(t, r, "y", "1")
	result := s.mustDeploy(images(t, "shop", "2.0.0", "web z:1"), pruneImages)
	tags := slices.Sorted(maps.Keys(r.Tags(t)))
	tags = slices.DeleteFunc(tags, func(tag string) bool { return strings.Contains(tag, "-zarf-") })
	if got := strings.Join(tags, " "); got != "x:mine y:1 y:other z:1" {
		t.Errorf("the registry has %s", got)
	}
	if why := kept(result.Plan)[r.Address()+"/y:1"]; !strings.HasPrefix(why, "registry: somebody else put another image there: sha256:") {
		t.Errorf("y:1 is kept by %q", why)
	}
	if r.Digest(t, "x", "mine") == "" {
		t.Error("the manifest went with the tags of ours")
	}
}

// TestPruneByDigest: images that are pinned by digest, of an image and of an index, go by digest unless
// something in their repository has them.
func TestPruneByDigest(t *testing.T) {
	pin := func(name string, index bool) (packagetest.Image, string, string) {
		i := packagetest.Image{Reference: "a.test/" + name, Layers: noise(name), Index: index}
		root, below, err := i.Digests()
		if err != nil {
			t.Fatal(err)
		}
		i.Reference += "@" + root
		return i, root, below
	}
	single, singleDigest, _ := pin("single", false)
	index, indexDigest, below := pin("index", true)
	child := packagetest.Image{Reference: "a.test/index", Layers: noise("index")}
	child.Reference += "@" + below
	held, heldDigest, _ := pin("held", false)
	var list strings.Builder
	for _, i := range []packagetest.Image{single, index, child, held} {
		fmt.Fprintf(&list, "\n      - %q", i.Reference)
	}
	v1 := pack(t, "kind: ZarfPackageConfig\nmetadata: {name: shop, version: 1.0.0}\ncomponents:\n  - name: web\n    required: true\n    images:"+list.String()+"\n",
		nil, single, index, child, held)
	v2 := images(t, "shop", "2.0.0", "web z:1")

	t.Run("they go", func(t *testing.T) {
		r := testregistry.Start(t, testregistry.Options{})
		s := newSite(t)
		s.init(r.Address(), "u", "p")
		s.mustDeploy(v1)
		copyTag(t, r, "held", heldDigest, "held", "mine")
		result := s.mustDeploy(v2, pruneImages)
		if r.Digest(t, "single", singleDigest) != "" || r.Digest(t, "index", indexDigest) != "" || r.Digest(t, "index", below) != "" {
			t.Errorf("something by digest is still there: %+v", result.Applied.Images)
		}
		if r.Digest(t, "held", "mine") != heldDigest {
			t.Error("an image that a foreign tag has went")
		}
		if why := kept(result.Plan)[r.Address()+"/held@"+heldDigest]; why != "registry: tag mine in its repository has it too" {
			t.Errorf("held is kept by %q", why)
		}
	})
	t.Run("a tagged index has one", func(t *testing.T) {
		r := testregistry.Start(t, testregistry.Options{})
		s := newSite(t)
		s.init(r.Address(), "u", "p")
		s.mustDeploy(v1)
		copyTag(t, r, "index", indexDigest, "index", "mine")
		result := s.mustDeploy(v2, pruneImages)
		if r.Digest(t, "index", "mine") != indexDigest || r.Digest(t, "index", below) != below {
			t.Error("a foreign tag lost its index, or the index its image")
		}
		if why := kept(result.Plan)[r.Address()+"/index@"+below]; why != "registry: index "+indexDigest+" in its repository has it too" {
			t.Errorf("the image in the index is kept by %q", why)
		}
	})
	t.Run("another package names the index", func(t *testing.T) {
		r := testregistry.Start(t, testregistry.Options{})
		s := newSite(t)
		s.init(r.Address(), "u", "p")
		s.mustDeploy(v1)
		s.mustDeploy(pack(t, fmt.Sprintf("kind: ZarfPackageConfig\nmetadata: {name: mall, version: 1.0.0}\ncomponents:\n  - name: m\n    required: true\n    images: [%q]\n", index.Reference), nil, index))
		s.mustDeploy(v2, pruneImages)
		if r.Digest(t, "index", indexDigest) != indexDigest || r.Digest(t, "index", below) != below {
			t.Error("the other package lost its index, or the index its image")
		}
		if r.Digest(t, "single", singleDigest) != "" {
			t.Error("what nobody has is still there")
		}
	})
}

// TestPruneIdentity: an image whose host is the registry may have been put there by anybody.
func TestPruneIdentity(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSite(t)
	s.init(r.Address(), "u", "p")
	s.mustDeploy(images(t, "shop", "1.0.0", "web "+r.Address()+"/own:1 x:1"))
	s.mustDeploy(images(t, "shop", "2.0.0", "web x:1"), pruneImages)
	if r.Digest(t, "own", "1") == "" {
		t.Error("it went with the version that had it")
	}
	if _, err := s.removeWith("shop"); err != nil {
		t.Fatal(err)
	}
	if r.Digest(t, "own", "1") == "" || r.Digest(t, "x", "1") != "" {
		t.Error("it went with the package, or what is ours did not")
	}
}

// TestPruneConnected: a connected deployment pushed nothing, so nothing of its record goes; what an
// earlier one pushed does.
func TestPruneConnected(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSite(t)
	s.init(r.Address(), "u", "p")
	s.mustDeploy(images(t, "mall", "1.0.0", "m x:1 y:1"))
	s.mustDeploy(images(t, "shop", "1.0.0", "web z:1"))
	connected := func(o *host.DeployOptions) { o.Connected = true }
	s.mustDeploy(images(t, "shop", "2.0.0", "web x:1 old:1"), connected)
	copyTag(t, r, "z", "1", "old", "1")
	if _, err := s.removeWith("mall"); err != nil {
		t.Fatal(err)
	}
	if got := r.Digest(t, "x", "1"); got == "" {
		t.Error("x:1, which the connected package has, went")
	}
	if _, err := s.removeWith("shop"); err != nil {
		t.Fatal(err)
	}
	if r.Digest(t, "old", "1") == "" || r.Digest(t, "x", "1") == "" || r.Digest(t, "z", "1") != "" || r.Digest(t, "y", "1") != "" {
		t.Errorf("after all the registry has %v", r.Tags(t))
	}
}
