package chart

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/zarf-host/zarf-host/host/internal/faultproxy"
	"github.com/zarf-host/zarf-host/host/internal/testcluster"
	"github.com/zarf-host/zarf-host/host/object"
)

// H9: an API server that is away for a moment fails nothing.
func TestH9TransientFaultsAreRetried(t *testing.T) {
	cluster := testcluster.Shared(t)
	for name, fault := range map[string]faultproxy.Fault{
		"unavailable": faultproxy.Status(503),
		"lost answer": faultproxy.Lost(),
		"reset":       faultproxy.Reset(),
	} {
		t.Run(name, func(t *testing.T) {
			proxy, kubeconfig := cluster.Proxy(t)
			config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
			if err != nil {
				t.Fatal(err)
			}
			f := fixtureOn(t, cluster, cluster.Namespace(t), func(o *Options) { o.Config = config })
			f.apply(f.wanted("r", configMap("a", "1"), configMap("b", "1")), ApplyOptions{})
			for n := 1; n <= 4; n++ {
				proxy.Reset()
				proxy.Inject(faultproxy.Rule{At: n, Fault: fault})
				f.apply(f.wanted("r", configMap("a", name, string(rune('a'+n))), configMap("c")), ApplyOptions{})
			}
			f.wantStatuses("r", "1 superseded,2 superseded,3 superseded,4 superseded,5 deployed")
		})
	}
}

// H1: an operation that ends before or after any of its writes is made good by the next one.
func TestH1KilledAtEachWrite(t *testing.T) {
	cluster := testcluster.Shared(t)
	proxy, kubeconfig := cluster.Proxy(t)
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	hook := `
apiVersion: v1
kind: ConfigMap
metadata: {name: hook, annotations: {helm.sh/hook: "pre-install,pre-upgrade"}}
`
	v1 := []string{hook, configMap("a", "1"), configMap("drop")}
	v2 := []string{hook, configMap("a", "2"), configMap("moved", "2"), configMap("new")}
	for _, after := range []bool{false, true} {
		for n := 1; ; n++ {
			proxy.Reset()
			good := fixtureOn(t, cluster, cluster.Namespace(t))
			good.apply(good.wanted("other", configMap("moved", "1")), ApplyOptions{})
			moved := good.configMap("moved").UID
			killed := 0
			// A deployment is recovery, then the release; both versions, one after the other.
			recorded := 0
			deploy := func(ctx context.Context, f *fixture, version []string) error {
				on := func(n int) error { recorded = n; return nil }
				r := object.Release{Namespace: f.ns, Name: "r"}
				o := ApplyOptions{OnRevision: on}
				keep := []object.Ref{f.ref("a"), f.ref("moved"), f.ref("new")}
				if _, err := f.Recover(ctx, r, RecoverOptions{Recorded: recorded, OnRevision: on, Keep: keep}); err != nil {
					return err
				}
				if len(version) == len(v2) {
					o.Adopt = map[object.Key]string{f.ref("moved").Key(): string(moved)}
				}
				_, err := f.Apply(ctx, f.wanted("r", version...), o)
				return err
			}
			for i, version := range [][]string{v1, v2} {
				ctx, cancel := context.WithCancel(t.Context())
				kill := func() { killed++; cancel(); proxy.Cut() }
				proxy.Reset()
				if after {
					proxy.KillAfter(n, kill)
				} else {
					proxy.KillBefore(n, kill)
				}
				bad := fixtureOn(t, cluster, good.ns, func(o *Options) { o.Config, o.SecondConfig = config, nil })
				_ = deploy(ctx, bad, version)
				cancel()
				if err := deploy(t.Context(), good, version); err != nil {
					t.Fatalf("write %d of version %d, after %t: %v", n, i+1, after, err)
				}
			}
			latest, _ := good.history("r").Latest()
			if latest.Status != "deployed" {
				t.Errorf("write %d, after %t: revisions are %s", n, after, good.statuses("r"))
			}
			good.wantLive("a", "moved", "new", "hook")
			good.wantGone("drop")
			if got := good.configMap("moved"); got == nil || got.UID != moved {
				t.Errorf("write %d, after %t: moved was made anew", n, after)
			}
			if got := good.configMap("a").Data["v"]; got != "2" {
				t.Errorf("write %d, after %t: a holds %q", n, after, got)
			}
			if _, err := good.Uninstall(t.Context(), object.Release{Namespace: good.ns, Name: "r"}, UninstallOptions{}); err != nil {
				t.Error(err)
			}
			good.wantGone("a", "moved", "new")
			if t.Failed() {
				t.Fatalf("write %d, after %t", n, after)
			}
			if killed == 0 {
				if n < 6 {
					t.Errorf("only %d writes were seen", n)
				}
				break
			}
		}
	}
}

// J6: a hundred objects cost a few requests each, and discovery only once.
func TestJ6RequestsOfAHundredObjects(t *testing.T) {
	var mu sync.Mutex
	var discovery, all int
	f := newFixture(t, func(o *Options) {
		o.Config = rest.CopyConfig(o.Config)
		o.Config.Wrap(func(next roundTripper) roundTripper {
			return roundTripFunc(func(r *http.Request) (*http.Response, error) {
				mu.Lock()
				defer mu.Unlock()
				all++
				if p := r.URL.Path; p == "/api" || p == "/apis" || p == "/version" || strings.HasPrefix(p, "/openapi") {
					discovery++
				}
				return next.RoundTrip(r)
			})
		})
	})
	for version := range 2 {
		var texts []string
		for i := range 100 {
			texts = append(texts, configMap(fmt.Sprintf("cm%d", i), fmt.Sprint(version)))
		}
		f.apply(f.wanted("r", texts...), ApplyOptions{})
	}
	if discovery > 4 || all > 700 {
		t.Errorf("%d requests, %d of them discovery", all, discovery)
	}
	t.Logf("%d requests, %d of them discovery", all, discovery)
}
