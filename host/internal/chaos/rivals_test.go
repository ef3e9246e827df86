package chaos_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	core "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/zarf-host/zarf-host/host/internal/faultproxy"
	"github.com/zarf-host/zarf-host/host/internal/packagetest"
	"github.com/zarf-host/zarf-host/host/internal/testcluster"
	"github.com/zarf-host/zarf-host/host/state"
)

// hold stops the program at request n until resume is called.
func (c *cell) hold(n int) (reached <-chan struct{}, resume func()) {
	at, on := make(chan struct{}), make(chan struct{})
	c.proxy.Inject(faultproxy.Rule{At: n, Before: func(faultproxy.Request) { close(at); <-on }})
	return at, sync.OnceFunc(func() { close(on) })
}

// await waits until the program is where it was to be held.
func (p *process) await(reached <-chan struct{}) {
	p.t.Helper()
	select {
	case <-reached:
	case <-p.ended:
		p.t.Fatalf("the program ended with %d before it came to the request\n%s", p.code, p.out.String())
	}
}

// Two operations at once on one package: one of them works, the other one says who does.
func TestChaosTwoOnOnePackage(t *testing.T) {
	cluster := testcluster.Shared(t)
	c := newCell(t, cluster)
	reached, resume := c.hold(8)
	defer resume()
	first := c.start(deployV1(c)...)
	first.await(reached)
	rival := *c
	rival.kubeconfig = cluster.Kubeconfig()
	for _, args := range [][]string{deployV1(c), {"deploy", c.v2, "--confirm"}, {"remove", c.name, "--confirm"}} {
		p := rival.run(args...)
		if p.code != 4 || !strings.Contains(p.out.String(), "another operation holds lease") || !strings.Contains(p.out.String(), "process ") {
			t.Errorf("`%s` ended with %d\n%s", args[0], p.code, p.out.String())
		}
	}
	waiting := rival.start(append(deployV1(c), "--lock-timeout=2m")...)
	time.Sleep(2 * time.Second) // it would be done with a package that nobody holds
	resume()
	if code := first.wait(); code != 0 {
		t.Errorf("the first ended with %d\n%s", code, first.out.String())
	}
	if code := waiting.wait(); code != 0 {
		t.Errorf("the one that waits ended with %d\n%s", code, waiting.out.String())
	}
	if events := strings.Join(c.picture().events, ", "); events != "Deploy Succeeded 1.0.0, Deploy Succeeded 1.0.0" {
		t.Errorf("events: %s", events)
	}
}

// Operations on different packages are of no concern to each other. Races of two on one package end
// with one of them, or both one after the other.
func TestChaosRaces(t *testing.T) {
	cluster := testcluster.Shared(t)
	races := 1
	if full() {
		races = 50
	}
	for range races {
		a, b := newCell(t, cluster), newCell(t, cluster)
		rival := *a
		rival.kubeconfig = cluster.Kubeconfig()
		runs := []*process{a.start(deployV1(a)...), b.start(deployV1(b)...), rival.start(deployV1(a)...)}
		codes := []int{runs[0].wait(), runs[1].wait(), runs[2].wait()}
		if codes[1] != 0 {
			t.Errorf("a package that nobody else deploys: exit code %d\n%s", codes[1], runs[1].out.String())
		}
		for _, i := range []int{0, 2} {
			if codes[i] != 0 && codes[i] != 4 || codes[0] == 4 && codes[2] == 4 {
				t.Errorf("exit codes %v\n%s", codes, runs[i].out.String())
			}
		}
		for _, c := range []*cell{a, b} {
			for _, line := range c.picture().lines {
				if strings.HasPrefix(line, "lease") || strings.HasPrefix(line, "release") && !strings.Contains(line, "is deployed, 1 deployed") {
					t.Error(line)
				}
			}
			for _, event := range c.picture().events {
				if event != "Deploy Succeeded 1.0.0" {
					t.Errorf("event %s", event)
				}
			}
		}
	}
	t.Logf("%d races", races)
}

// A program whose lease is gone, or somebody else's, writes nothing more.
func TestChaosLostLease(t *testing.T) {
	cluster := testcluster.Shared(t)
	const n = 19 // in the second component
	leases := cluster.Client().CoordinationV1().Leases(state.Namespace)
	for name, lose := range map[string]func(ctx context.Context, c *cell) error{
		"deleted": func(ctx context.Context, c *cell) error {
			return leases.Delete(ctx, c.record(), meta.DeleteOptions{})
		},
		"stolen": func(ctx context.Context, c *cell) error {
			lease, err := leases.Get(ctx, c.record(), meta.GetOptions{})
			if err != nil {
				return err
			}
			thief, now := "thief", meta.NowMicro()
			lease.Spec.HolderIdentity, lease.Spec.RenewTime = &thief, &now
			_, err = leases.Update(ctx, lease, meta.UpdateOptions{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ref := undisturbed(t, cluster, operations()[0])
			c := newCell(t, cluster)
			lost := make(chan error, 1)
			c.proxy.Inject(faultproxy.Rule{At: n, Fault: faultproxy.Hang(time.Minute), Before: func(faultproxy.Request) {
				lost <- lose(t.Context(), c)
			}})
			p := c.run(deployV1(c)...)
			if err := <-lost; err != nil {
				t.Fatal(err)
			}
			if p.code != 4 || !strings.Contains(p.out.String(), "the lease was lost") {
				t.Errorf("exit code %d\n%s", p.code, p.out.String())
			}
			if got := c.proxy.Count(); got != n {
				t.Errorf("after the lease was lost came %v", c.proxy.Requests()[n:])
			}
			if lease, err := leases.Get(t.Context(), c.record(), meta.GetOptions{}); err == nil {
				if *lease.Spec.HolderIdentity != "thief" {
					t.Errorf("the lease is %s's", *lease.Spec.HolderIdentity)
				}
				if err := leases.Delete(t.Context(), c.record(), meta.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			c.proxy.Reset()
			c.again(ref, "", &scores{})
		})
	}
}

// asZarf rewrites a record as Zarf does, without the fields that Zarf does not know.
func (c *cell) asZarf() {
	c.t.Helper()
	c.rewritten = true
	secret, ok := c.recordSecret()
	if !ok {
		c.t.Fatal("there is no record to rewrite")
	}
	var data map[string]any
	c.check(json.Unmarshal(secret.Data[state.DataKey], &data))
	delete(data, "events")
	delete(data, "deployConfig")
	for _, component := range data["deployedComponents"].([]any) {
		delete(component.(map[string]any), "lastEvent")
	}
	data["cliVersion"] = "v0.84.0"
	data["generation"] = data["generation"].(float64) + 1
	raw, err := json.Marshal(data)
	c.check(err)
	apply := core.Secret(c.record(), state.Namespace).WithLabels(secret.Labels).WithType(secret.Type).
		WithData(map[string][]byte{state.DataKey: raw})
	_, err = c.cluster.Client().CoreV1().Secrets(state.Namespace).
		Apply(c.t.Context(), apply, meta.ApplyOptions{FieldManager: "zarf", Force: true})
	c.check(err)
}

// Another writer rewrites the record before each of the program's own writes of it: nothing of his is
// overwritten unseen, and the same command again works.
func TestChaosOtherWriter(t *testing.T) {
	cluster := testcluster.Shared(t)
	ref := undisturbed(t, cluster, operations()[2])
	var writes []int
	for i, r := range ref.requests {
		if r.Method == "PATCH" && strings.Contains(r.Path, "/namespaces/zarf/secrets/") {
			writes = append(writes, i+1)
		}
	}
	t.Run("group", func(t *testing.T) {
		for i, n := range writes {
			if !full() && i%4 != 1 {
				continue
			}
			t.Run(ref.at(n), func(t *testing.T) {
				t.Parallel()
				c := newCell(t, cluster)
				ref.prepare(c)
				claim := c.picture().claim
				c.proxy.Reset()
				reached, resume := c.hold(n)
				defer resume()
				p := c.start(ref.args(c)...)
				p.await(reached)
				c.asZarf()
				resume()
				if p.wait() != 1 || !strings.Contains(p.out.String(), "is not as it was read") {
					t.Errorf("exit code %d\n%s", p.code, p.out.String())
				}
				if len(c.picture().events) > 0 {
					t.Error("what the other writer wrote was overwritten")
				}
				c.proxy.Reset()
				c.again(ref, claim, &scores{})
			})
		}
	})
	t.Logf("the record is written %d times", len(writes))
	t.Run("between", func(t *testing.T) {
		c := newCell(t, cluster)
		ref.prepare(c)
		c.asZarf()
		claim := c.picture().claim
		c.proxy.Reset()
		c.again(ref, claim, &scores{})
	})
}

const slowPackage = `kind: ZarfPackageConfig
metadata: {name: NAME, version: 1.0.0, architecture: amd64, yolo: true}
components:
  - name: slow
    required: true
    manifests:
      - {name: flags, namespace: NAME, files: [flags.yaml]}
    actions:
      onDeploy:
        after: [{cmd: "echo at work; exec sleep 60"}]
        onFailure: [{cmd: "echo cleaning up; exec sleep 60"}]
`

// A first signal leaves onFailure what is left of 10 seconds, a second one ends the program at once.
func TestChaosSecondSignal(t *testing.T) {
	cluster := testcluster.Shared(t)
	for _, signals := range []int{1, 2} {
		t.Run([]string{"", "one", "two"}[signals], func(t *testing.T) {
			t.Parallel()
			c := newCell(t, cluster)
			path := packagetest.BuildWith(t, t.TempDir(), named(slowPackage, c.name), packageFiles("1.0.0"), packagetest.Options{})
			p := c.start("deploy", path, "--confirm")
			c.eventually("the action to be at work", func() bool {
				record, ok := c.readRecord()
				if !ok || len(record.Package.DeployedComponents) == 0 {
					return false
				}
				charts := record.Package.DeployedComponents[0].InstalledCharts
				return len(charts) == 1 && charts[0].Status == state.StatusSucceeded
			})
			time.Sleep(500 * time.Millisecond)
			at, limit := time.Now(), cancelLimit
			p.interrupt()
			if signals == 2 {
				time.Sleep(2 * time.Second)
				at, limit = time.Now(), time.Second
				p.interrupt()
			}
			if code := p.wait(); code != 130 {
				t.Errorf("exit code %d\n%s", code, p.out.String())
			}
			if took := time.Since(at); took > limit {
				t.Errorf("ending took %s\n%s", took, p.out.String())
			}
			// The cancellation of the component is on record before onFailure begins.
			record, _ := c.readRecord()
			if got := record.Package.DeployedComponents[0].LastEvent.Outcome; got != state.Cancelled {
				t.Errorf("the component is %s", got)
			}
			if latest, _ := record.Package.LatestEvent(); signals == 1 && latest.Outcome != state.Cancelled {
				t.Errorf("the event is %s", latest.Outcome)
			}
		})
	}
}

func (c *cell) eventually(what string, check func() bool) {
	c.t.Helper()
	for deadline := time.Now().Add(time.Minute); !check(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.t.Fatalf("waited in vain for %s", what)
		}
	}
}

// An API server that restarts in the middle is got over, or named as what went wrong. The namespace
// of the records is made by the first operation of a cluster, which may be killed there too.
func TestChaosRestart(t *testing.T) {
	cluster := testcluster.Private(t)
	namespaces := cluster.Client().CoreV1().Namespaces()
	c := newCell(t, cluster)
	if _, err := namespaces.Get(t.Context(), state.Namespace, meta.GetOptions{}); err != nil {
		for _, before := range []bool{true, false} {
			var p *process
			started := make(chan struct{})
			kill := func() { <-started; p.kill() }
			if before {
				c.proxy.KillBefore(1, kill)
			} else {
				c.proxy.KillAfter(1, kill)
			}
			p = c.start(deployV1(c)...)
			close(started)
			if code := p.wait(); code != -1 {
				t.Fatalf("ended with %d\n%s", code, p.out.String())
			}
			c.proxy.Reset()
		}
		deployed(c)
	}
	table := &scores{}
	for _, op := range operations() {
		if !full() && op.name != "prune" {
			continue
		}
		ref := undisturbed(t, cluster, op)
		for i, n := range choose(t, "restart of the API server", ref.count(), 2) {
			if full() && i%5 != 0 || !full() && i > 0 { // each takes its time
				continue
			}
			t.Run(op.name+"-"+ref.at(n), func(t *testing.T) {
				defer table.enter(t, op.name, "restart")
				c := newCell(t, cluster)
				op.prepare(c)
				claim := c.picture().claim
				c.proxy.Reset()
				reached, resume := c.hold(n)
				defer resume()
				p := c.start(op.args(c)...)
				p.await(reached)
				time.AfterFunc(500*time.Millisecond, resume)
				cluster.RestartAPIServer(t, time.Second)
				switch code := p.wait(); {
				case code == 0 && strings.Contains(p.out.String(), letGoFailed):
					c.again(ref, claim, table)
				case code == 0:
					c.picture().same(c, ref.end)
				case code != 1 && code != 4, !strings.Contains(p.out.String(), "error: "):
					t.Errorf("exit code %d\n%s", code, p.out.String())
				default:
					t.Logf("ended with %d", code)
					c.again(ref, claim, table)
				}
			})
		}
	}
	t.Log(table)
}
