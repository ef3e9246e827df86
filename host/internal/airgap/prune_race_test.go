package airgap_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/apply"
	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/internal/faultproxy"
	"github.com/zarf-host/zarf-host/host/internal/testregistry"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/state"
)

// TestPruneRacesAPush: another package finds an image in the registry while it is about to be deleted.
// It waits until that is over, looks again, and pushes what is gone.
func TestPruneRacesAPush(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	proxy := r.Proxy(t)
	s := newSite(t)
	s.init(strings.TrimPrefix(proxy.URL(), "http://"), "u", "p")
	s.mustDeploy(images(t, "shop", "1.0.0", "web x:1"))
	mall := images(t, "mall", "1.0.0", "m x:1")
	t.Cleanup(func() { s.remove(mall) })
	var second sync.WaitGroup
	var result host.Result
	var failed error
	waits := func() bool { return s.saw(fmt.Sprintf("lease %q is held by", cluster.ImagesLease)) }
	proxy.Inject(faultproxy.Rule{
		Match: func(q faultproxy.Request) bool { return q.Method == http.MethodDelete },
		Before: func(faultproxy.Request) {
			second.Go(func() {
				result, failed = host.Deploy(context.WithoutCancel(t.Context()), host.DeployOptions{Common: s.options(), Source: mall})
			})
			for limit := time.Now().Add(time.Minute); !waits() && time.Now().Before(limit); {
				time.Sleep(20 * time.Millisecond)
			}
		},
	})
	if _, err := s.deploy(images(t, "shop", "2.0.0", "web y:1"), pruneImages); err != nil {
		t.Fatal(err)
	}
	second.Wait()
	if failed != nil || !waits() {
		t.Fatalf("the other deployment waited: %v, and ended with %v", waits(), failed)
	}
	if len(result.Plan.Images) != 1 || result.Plan.Images[0].Action != plan.ImagePresent {
		t.Errorf("it was to find its image: %+v", result.Plan.Images)
	}
	if got := named(t, r); got != "x:1 y:1" {
		t.Errorf("the registry has %s", got)
	}
}

// TestPruneSeesNewcomers: a package that is on record when the lease is taken keeps its images, though
// the plan that was confirmed did not know of it.
func TestPruneSeesNewcomers(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSite(t)
	s.init(r.Address(), "u", "p")
	s.mustDeploy(images(t, "shop", "1.0.0", "web x:1 y:1"))
	lease, err := s.connect().Acquire(t.Context(), cluster.ImagesLease, cluster.LeaseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// Both wait for the lease: shop, which has nothing to push, with its prune.
	deploy := func(source string, change ...func(*host.DeployOptions)) (<-chan host.Result, *site) {
		at := &site{Cluster: s.Cluster, t: t, kubeconfig: s.kubeconfig, common: s.common}
		t.Cleanup(func() { s.remove(source) })
		done := make(chan host.Result, 1)
		go func() {
			o := host.DeployOptions{Common: at.options(), Source: source}
			for _, c := range change {
				c(&o)
			}
			result, err := host.Deploy(context.WithoutCancel(t.Context()), o)
			if err != nil {
				t.Errorf("deploying %s: %v", source, err)
			}
			done <- result
		}()
		for limit := time.Now().Add(time.Minute); !at.saw("is held by"); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(limit) {
				t.Fatalf("%s does not wait", source)
			}
		}
		return done, at
	}
	shop, _ := deploy(images(t, "shop", "2.0.0", "web"), pruneImages)
	mall, _ := deploy(images(t, "mall", "1.0.0", "m x:1"))
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	result := <-shop
	<-mall
	if len(result.Plan.Prune.Images) != 4 || result.Applied == nil || outcomes(result.Applied, r.Address())["x:1"] != apply.ImageKept {
		t.Errorf("planned to delete %d references, which became %+v", len(result.Plan.Prune.Images), result.Applied)
	}
	if got := named(t, r); got != "x:1" {
		t.Errorf("the registry has %s", got)
	}
}

// TestPruneCancelled cancels a deployment in the middle of its deletions: what is gone is off the record,
// and the rest is not.
func TestPruneCancelled(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	proxy := r.Proxy(t)
	s := newSite(t)
	address := strings.TrimPrefix(proxy.URL(), "http://")
	s.init(address, "u", "p")
	s.mustDeploy(images(t, "shop", "1.0.0", "web x:1 y:1 z:1"))
	proxy.Reset()
	ctx, cancel := context.WithCancel(t.Context())
	var deletions int
	proxy.Inject(faultproxy.Rule{
		Match: func(q faultproxy.Request) bool {
			if q.Method == http.MethodDelete {
				deletions++
			}
			return deletions == 3
		},
		Before: func(faultproxy.Request) { cancel() }, Fault: faultproxy.Hang(time.Second),
	})
	v2 := images(t, "shop", "2.0.0", "web")
	o := host.DeployOptions{Common: s.options(), Source: v2}
	pruneImages(&o)
	result, err := host.Deploy(ctx, o)
	if !errors.Is(err, context.Canceled) || result.Applied == nil || result.Applied.Outcome != state.Cancelled {
		t.Fatalf("%+v, %v", result.Applied, err)
	}
	left := map[string]bool{}
	for _, i := range s.own("shop").Pushed {
		left[strings.TrimPrefix(i.Reference, address+"/")] = true
	}
	there := r.Tags(t)
	if len(left) != 4 || len(there) != 4 {
		t.Fatalf("on record: %v, the registry has %v", left, there)
	}
	for tag := range there {
		if !left[tag] {
			t.Errorf("%s is there and not on record", tag)
		}
	}
	if held, err := s.connect().Holding(t.Context(), cluster.ImagesLease); err != nil || held.Holder != "" {
		t.Errorf("the lease of the images is still held by %q: %v", held.Holder, err)
	}
	s.mustDeploy(v2, pruneImages)
	if got := r.Tags(t); len(got) > 0 {
		t.Errorf("after the repeat the registry has %v", got)
	}
}

// TestPruneLosesItsLease: without the lease nobody waits for the deletions any more, so they stop.
func TestPruneLosesItsLease(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	proxy := r.Proxy(t)
	s := newSite(t)
	s.init(strings.TrimPrefix(proxy.URL(), "http://"), "u", "p")
	s.mustDeploy(images(t, "shop", "1.0.0", "web x:1 y:1"))
	leases := s.Client().CoordinationV1().Leases(state.Namespace)
	proxy.Inject(faultproxy.Rule{
		Match: func(q faultproxy.Request) bool { return q.Method == http.MethodDelete },
		Before: func(faultproxy.Request) {
			if err := leases.Delete(t.Context(), cluster.ImagesLease, meta.DeleteOptions{}); err != nil {
				t.Errorf("deleting the lease: %v", err)
			}
		},
		Fault: faultproxy.Slow(8 * time.Second), // the next renewal finds out
	})
	v2 := images(t, "shop", "2.0.0", "web")
	result, err := s.deploy(v2, pruneImages)
	var failed *apply.ImagesError
	if !errors.As(err, &failed) || !strings.Contains(err.Error(), `lease "zarf-host-images" was lost`) || result.Applied.Outcome != state.Failed {
		t.Fatalf("%+v, %v", result.Applied, err)
	}
	if n := len(s.own("shop").Pushed); n < 3 || n != len(failed.Failed) {
		t.Errorf("%d references failed, and %d are on record", len(failed.Failed), n)
	}
	s.mustDeploy(v2, pruneImages)
	if got := r.Tags(t); len(got) > 0 {
		t.Errorf("after the repeat the registry has %v", got)
	}
}

// TestPruneRaces lets two packages that share an image come and go at once: at each end the registry has
// what is deployed, and nothing else.
func TestPruneRaces(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSite(t)
	s.init(r.Address(), "u", "p")
	mall := images(t, "mall", "1.0.0", "m x:1 mall:1")
	versions := []string{images(t, "shop", "1.0.0", "web x:1 shop:1"), images(t, "shop", "2.0.0", "web shop:2")}
	t.Cleanup(func() { s.remove(versions[0]); s.remove(mall) })
	for round := range 6 {
		var both sync.WaitGroup
		both.Go(func() {
			o := host.DeployOptions{Common: s.options(), Source: versions[round%2]}
			pruneImages(&o)
			if _, err := host.Deploy(t.Context(), o); err != nil {
				t.Errorf("round %d: %v", round, err)
			}
		})
		both.Go(func() {
			if round%3 == 2 {
				if _, err := s.removeWith("mall"); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
				return
			}
			if _, err := host.Deploy(t.Context(), host.DeployOptions{Common: s.options(), Source: mall}); err != nil {
				t.Errorf("round %d: %v", round, err)
			}
		})
		both.Wait()
		want := []string{"shop:1 x:1", "shop:2"}[round%2]
		if round%3 != 2 {
			want = []string{"mall:1 shop:1 x:1", "mall:1 shop:2 x:1"}[round%2]
		}
		got := named(t, r)
		// What the other package still had when it was looked at goes with the next prune.
		for _, extra := range []string{" x:1", "mall:1 "} {
			if got != want && strings.Replace(got, extra, "", 1) == want {
				got = want
			}
		}
		if got != want {
			t.Fatalf("round %d: the registry has %s, want %s", round, named(t, r), want)
		}
	}
	if _, err := s.removeWith("shop"); err != nil {
		t.Fatal(err)
	}
	if got := named(t, r); got != "" {
		t.Errorf("at the end the registry has %s", got)
	}
}

// TestD3PruneDuringAPush interrupts a push, prunes, and goes on: what was uploaded is not sent again, and
// what the interrupted package has is not deleted.
func TestD3PruneDuringAPush(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	w := r.Wire(t)
	s := newSite(t)
	s.init(w.Address(), "u", "p")
	s.mustDeploy(images(t, "mall", "1.0.0", "m x:1"))
	big := bulkyPackage(t)
	t.Cleanup(func() { s.remove(big) })
	ctx, cancel := context.WithCancel(t.Context())
	w.After(10<<20, cancel)
	if _, err := host.Deploy(ctx, host.DeployOptions{Common: s.options(), Source: big}); !errors.Is(err, context.Canceled) {
		t.Fatalf("the push was not interrupted: %v", err)
	}
	s.mustDeploy(images(t, "mall", "2.0.0", "m y:1"), pruneImages)
	if got := named(t, r); !strings.Contains(got, "bulky/small:1.0.0") || strings.Contains(got, " x:1") {
		t.Errorf("after the prune the registry has %s", got)
	}
	// Four layers and two configurations: the first image has one of each.
	s.mustDeploy(big, pruneImages)
	if !s.saw("1 images in the registry: 1 were there, 0 pushed with 0 blobs") {
		t.Errorf("what was uploaded was sent again:\n%s", strings.Join(s.said, "\n"))
	}
	if got := named(t, r); got != "bulky/large:1.0.0 bulky/small:1.0.0 y:1" {
		t.Errorf("at the end the registry has %s", got)
	}
}

// connect is a connection as an operation has it.
func (s *site) connect() *cluster.Cluster {
	s.t.Helper()
	c, err := cluster.Connect(s.t.Context(), cluster.Options{Kubeconfig: s.kubeconfig})
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// TestPruneRemovedAtOnce: packages that share images and go at the same time see each other's records when
// they plan. The last one takes what they shared, since nothing knows of it after that.
func TestPruneRemovedAtOnce(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSite(t)
	s.init(r.Address(), "u", "p")
	names := []string{"shop", "mall", "kiosk"}
	for range 3 {
		for _, name := range names {
			source := images(t, name, "1.0.0", "c both:1 "+name+":1")
			t.Cleanup(func() { s.remove(source) })
			s.mustDeploy(source)
		}
		var all sync.WaitGroup
		for _, name := range names {
			all.Go(func() {
				if _, err := s.removeWith(name); err != nil {
					t.Errorf("removing %s: %v", name, err)
				}
			})
		}
		all.Wait()
		if got := named(t, r); got != "" {
			t.Fatalf("the registry has %s", got)
		}
	}
}
