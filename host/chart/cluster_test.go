package chart

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/internal/testcluster"
	"github.com/zarf-host/zarf-host/host/object"
)

// fixture is a Client on the test control plane, a namespace and what happened there.
type fixture struct {
	*Client
	t  testing.TB
	ns string
	k  kubernetes.Interface

	mu     sync.Mutex
	events []event.Event
}

func newFixture(t testing.TB, change ...func(*Options)) *fixture {
	t.Helper()
	cluster := testcluster.Shared(t)
	return fixtureOn(t, cluster, cluster.Namespace(t), change...)
}

func fixtureOn(t testing.TB, cluster *testcluster.Cluster, ns string, change ...func(*Options)) *fixture {
	t.Helper()
	f := &fixture{t: t, ns: ns, k: cluster.Client()}
	o := Options{
		Config:       cluster.REST(),
		SecondConfig: cluster.REST,
		Sink: event.Func(func(e event.Event) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.events = append(f.events, e)
		}),
	}
	for _, c := range change {
		c(&o)
	}
	w := &poller{}
	o.Waiter = w
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	w.c, f.Client = c, c
	return f
}

// poller is a Waiter that looks again and again.
type poller struct{ c *Client }

func (p *poller) until(ctx context.Context, refs []object.Ref, done func(*unstructured.Unstructured) (bool, error)) error {
	var open []string
	for {
		live, err := p.c.fetch(ctx, refs, extent{bodies: true})
		if err != nil && ctx.Err() == nil {
			return err
		}
		if err != nil {
			return fmt.Errorf("still waiting for %s: %w", strings.Join(open, ", "), ctx.Err())
		}
		open = nil
		for _, ref := range refs {
			ok, err := done(live[ref.Key()])
			if err != nil {
				return fmt.Errorf("%s: %w", ref, err)
			}
			if !ok {
				open = append(open, ref.String())
			}
		}
		if len(open) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("still waiting for %s: %w", strings.Join(open, ", "), ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (p *poller) Ready(ctx context.Context, refs []object.Ref) error {
	return p.until(ctx, refs, func(u *unstructured.Unstructured) (bool, error) {
		if u == nil {
			return false, nil
		}
		s, err := status.Compute(u)
		if err != nil {
			return false, err
		}
		if s.Status == status.FailedStatus {
			return false, errors.New(s.Message)
		}
		return s.Status == status.CurrentStatus, nil
	})
}

func (p *poller) Deleted(ctx context.Context, refs []object.Ref) error {
	return p.until(ctx, refs, func(u *unstructured.Unstructured) (bool, error) { return u == nil, nil })
}

func (p *poller) Complete(ctx context.Context, refs []object.Ref) error {
	return p.until(ctx, refs, func(u *unstructured.Unstructured) (bool, error) {
		if u == nil || u.GetKind() != "Job" {
			return u != nil, nil
		}
		conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		for _, c := range conditions {
			c, _ := c.(map[string]any)
			if c["status"] != "True" {
				continue
			}
			switch c["type"] {
			case "Complete":
				return true, nil
			case "Failed":
				return false, fmt.Errorf("the job failed: %v", c["reason"])
			}
		}
		return false, nil
	})
}

// wanted is a release of a chart with the given templates.
func (f *fixture) wanted(name string, templates ...string) Wanted {
	f.t.Helper()
	files := map[string]string{}
	for i, text := range templates {
		files[fmt.Sprintf("templates/%02d.yaml", i)] = text
	}
	return f.wantedFiles(name, files)
}

func (f *fixture) wantedFiles(name string, files map[string]string) Wanted {
	f.t.Helper()
	return Wanted{
		Release: object.Release{Namespace: f.ns, Name: name},
		Archive: archive(f.t, "1.0.0", files),
		Package: "pkg",
		Timeout: 30 * time.Second,
	}
}

// apply applies and must succeed.
func (f *fixture) apply(w Wanted, o ApplyOptions) Result {
	f.t.Helper()
	r, err := f.Apply(f.t.Context(), w, o)
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

// statuses are the stored revisions of a release, such as "1 superseded,2 deployed".
func (f *fixture) statuses(name string) string {
	f.t.Helper()
	var out []string
	for _, r := range f.history(name).Revisions {
		out = append(out, fmt.Sprint(r.Number, " ", r.Status))
	}
	return strings.Join(out, ",")
}

func (f *fixture) history(name string) History {
	f.t.Helper()
	h, err := f.History(f.t.Context(), object.Release{Namespace: f.ns, Name: name})
	if err != nil {
		f.t.Fatal(err)
	}
	return h
}

func (f *fixture) wantStatuses(name, want string) {
	f.t.Helper()
	if got := f.statuses(name); got != want {
		f.t.Errorf("revisions of %s are %q, want %q", name, got, want)
	}
}

func (f *fixture) configMap(name string) *corev1.ConfigMap {
	f.t.Helper()
	cm, err := f.k.CoreV1().ConfigMaps(f.ns).Get(f.t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return cm
}

func (f *fixture) wantLive(names ...string) {
	f.t.Helper()
	for _, name := range names {
		if f.configMap(name) == nil {
			f.t.Errorf("ConfigMap %s is gone", name)
		}
	}
}

func (f *fixture) wantGone(names ...string) {
	f.t.Helper()
	for _, name := range names {
		if f.configMap(name) != nil {
			f.t.Errorf("ConfigMap %s is still there", name)
		}
	}
}

func (f *fixture) ref(name string) object.Ref {
	return object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: f.ns, Name: name}
}

// setStatus sets the status of a release's newest revision, as a killed run leaves it.
func (f *fixture) setStatus(name string, revision int, status string) {
	f.t.Helper()
	stored, err := f.stored(f.t.Context(), object.Release{Namespace: f.ns, Name: name})
	if err != nil {
		f.t.Fatal(err)
	}
	for _, rel := range stored {
		if rel.Version == revision {
			rel.SetStatus(helmStatus(status), "left by a killed run")
			if err := f.driver(f.ns).Update(storageKey(name, revision), rel); err != nil {
				f.t.Fatal(err)
			}
			return
		}
	}
	f.t.Fatalf("release %s has no revision %d", name, revision)
}

// cuttable returns a change of Options that lets the test cut the transport, as host/cluster does.
func cuttable(cut <-chan struct{}) func(*Options) {
	return func(o *Options) {
		o.Config = rest.CopyConfig(o.Config)
		o.Config.Wrap(func(next roundTripper) roundTripper { return cutter{cut, next} })
	}
}

const data = `
apiVersion: v1
kind: ConfigMap
metadata: {name: %s}
data: {v: "%s"}
`

func configMap(name string, value ...string) string {
	return fmt.Sprintf(data, name, strings.Join(value, ""))
}

// neverReady is a Deployment whose pods no node takes.
const neverReady = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: never}
spec:
  progressDeadlineSeconds: 600
  selector: {matchLabels: {app: never}}
  template:
    metadata: {labels: {app: never}}
    spec:
      nodeSelector: {no: such-node}
      containers: [{name: c, image: example.dev/c}]
`

func claim1(name string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: %s}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}\n", name)
}
