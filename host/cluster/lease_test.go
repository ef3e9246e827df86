package cluster

import (
	"context"
	"errors"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/zarf-host/zarf-host/host/event"
)

var leaseResource = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

// fakeLeases keeps leases as an API server does: under resource versions and with preconditions.
type fakeLeases struct {
	mu      sync.Mutex
	version int
	leases  map[string]*coordinationv1.Lease
	// fault, when set, is asked before a call; its error is the answer. lose is asked after a call
	// that changed something: its error hides the answer.
	fault, lose func(verb string) error
}

func (m *fakeLeases) Get(_ context.Context, name string, _ metav1.GetOptions) (*coordinationv1.Lease, error) {
	return m.do("get", name, func(found *coordinationv1.Lease) (*coordinationv1.Lease, error) {
		if found == nil {
			return nil, apierrors.NewNotFound(leaseResource, name)
		}
		return found, nil
	})
}

func (m *fakeLeases) Create(_ context.Context, lease *coordinationv1.Lease, _ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	return m.do("create", lease.Name, func(found *coordinationv1.Lease) (*coordinationv1.Lease, error) {
		if found != nil {
			return nil, apierrors.NewAlreadyExists(leaseResource, lease.Name)
		}
		created := lease.DeepCopy()
		m.put(created)
		created.UID = types.UID(created.ResourceVersion)
		return created, nil
	})
}

func (m *fakeLeases) Update(_ context.Context, lease *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	return m.do("update", lease.Name, func(found *coordinationv1.Lease) (*coordinationv1.Lease, error) {
		switch {
		case found == nil:
			return nil, apierrors.NewNotFound(leaseResource, lease.Name)
		case found.ResourceVersion != lease.ResourceVersion:
			return nil, apierrors.NewConflict(leaseResource, lease.Name, errors.New("it was modified"))
		}
		updated := lease.DeepCopy()
		m.put(updated)
		return updated, nil
	})
}

func (m *fakeLeases) Delete(_ context.Context, name string, options metav1.DeleteOptions) error {
	_, err := m.do("delete", name, func(found *coordinationv1.Lease) (*coordinationv1.Lease, error) {
		switch {
		case found == nil:
			return nil, apierrors.NewNotFound(leaseResource, name)
		case *options.Preconditions.ResourceVersion != found.ResourceVersion:
			return nil, apierrors.NewConflict(leaseResource, name, errors.New("it was modified"))
		}
		delete(m.leases, name)
		return nil, nil
	})
	return err
}

func (m *fakeLeases) do(verb, name string, call func(found *coordinationv1.Lease) (*coordinationv1.Lease, error)) (*coordinationv1.Lease, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fault != nil {
		if err := m.fault(verb); err != nil {
			return nil, err
		}
	}
	lease, err := call(m.leases[name])
	if err == nil && m.lose != nil {
		if err := m.lose(verb); err != nil {
			return nil, err
		}
	}
	return lease.DeepCopy(), err
}

func (m *fakeLeases) put(lease *coordinationv1.Lease) {
	m.version++
	lease.ResourceVersion = strconv.Itoa(m.version)
	if m.leases == nil {
		m.leases = map[string]*coordinationv1.Lease{}
	}
	m.leases[lease.Name] = lease
}

// set makes the server answer with faults from now on.
func (m *fakeLeases) set(fault, lose func(verb string) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fault, m.lose = fault, lose
}

func (m *fakeLeases) holder(name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if lease := m.leases[name]; lease != nil {
		return holder(lease)
	}
	return ""
}

// foreign writes a lease of a holder on another machine.
func (m *fakeLeases) foreign(name, identity string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now, seconds := metav1.NowMicro(), int32(15)
	m.put(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: &identity, AcquireTime: &now, RenewTime: &now, LeaseDurationSeconds: &seconds,
	}})
}

func unavailable(string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable}}
}

func try(ctx context.Context, m *fakeLeases, timeout time.Duration) (*Lease, error) {
	return acquire(ctx, m, "zarf-package-p", LeaseOptions{Timeout: timeout, Sink: event.Discard}, leaseTiming)
}

func must(t *testing.T, m *fakeLeases) *Lease {
	t.Helper()
	lease, err := try(t.Context(), m, 0)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

func isLost(l *Lease) bool {
	select {
	case <-l.Lost():
		return true
	default:
		return false
	}
}

const elsewhere = "machine/boot/pid:[1]/17/4711/X"

func TestLeaseOfALiveHolderIsRefused_H14(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeLeases{}
		first := must(t, m)
		began := time.Now()
		_, err := try(t.Context(), m, 0)
		var locked *LockedError
		if !errors.As(err, &locked) || locked.Holder != m.holder("zarf-package-p") || locked.Since.IsZero() || !locked.Expires.After(locked.Since) {
			t.Fatalf("second holder: %v; want who holds the lease", err)
		}
		if !strings.Contains(err.Error(), "process ") || locked.Hint() == "" {
			t.Errorf("the message does not help: %v", err)
		}
		if waited := time.Since(began); waited > time.Second {
			t.Errorf("waited %s for a process that this machine knows to be alive", waited)
		}
		if _, err := try(t.Context(), m, 20*time.Second); !errors.As(err, &locked) {
			t.Errorf("with a timeout: %v", err)
		}
		if waited := time.Since(began); waited < 20*time.Second || waited > 25*time.Second {
			t.Errorf("waited %s, want the timeout of 20 s", waited)
		}
		if isLost(first) || first.TookOver() != "" {
			t.Error("the first holder lost its lease, or took it from somebody")
		}
		if err := first.Release(t.Context()); err != nil || m.holder("zarf-package-p") != "" {
			t.Errorf("release: %v, held by %q", err, m.holder("zarf-package-p"))
		}
		if err := must(t, m).Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestLeaseIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeLeases{}
		first := must(t, m)
		time.AfterFunc(40*time.Second, func() { _ = first.Release(t.Context()) })
		second, err := try(t.Context(), m, time.Minute)
		if err != nil || second.TookOver() != "" {
			t.Fatalf("%v, took over %q; want a lease that was let go", err, second.TookOver())
		}
		_ = second.Release(t.Context())
	})
}

func TestLeaseOfASilentHolderIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeLeases{}
		m.foreign("zarf-package-p", elsewhere)
		time.Sleep(time.Hour) // by the clocks it ran out long ago, but whose clock is right?
		began := time.Now()
		lease := must(t, m)
		if waited := time.Since(began); waited < leaseTiming.duration || waited > leaseTiming.duration+2*leaseTiming.poll {
			t.Errorf("taken after %s, want a whole duration of watching", waited)
		}
		if lease.TookOver() != elsewhere {
			t.Errorf("took over %q", lease.TookOver())
		}
		_ = lease.Release(t.Context())
	})
}

// Whatever a lease says of itself, it keeps nobody out for long once nobody renews it: it may be of
// another program, or nobody's at all.
func TestLeaseWithoutSense_N14(t *testing.T) {
	seconds := func(n int32) *int32 { return &n }
	now := metav1.NewMicroTime(time.Unix(1_000_000, 0))
	tests := map[string]struct {
		spec coordinationv1.LeaseSpec
		wait time.Duration // at least; a few seconds more are fine
	}{
		"68 years":           {coordinationv1.LeaseSpec{LeaseDurationSeconds: seconds(1<<31 - 1), RenewTime: &now, AcquireTime: &now}, longestPromise * leaseTiming.duration},
		"longer than ours":   {coordinationv1.LeaseSpec{LeaseDurationSeconds: seconds(30), RenewTime: &now}, 30 * time.Second},
		"negative":           {coordinationv1.LeaseSpec{LeaseDurationSeconds: seconds(-5), RenewTime: &now}, leaseTiming.duration},
		"zero":               {coordinationv1.LeaseSpec{LeaseDurationSeconds: seconds(0), RenewTime: &now}, leaseTiming.duration},
		"nothing but a name": {coordinationv1.LeaseSpec{}, leaseTiming.duration},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, identity := &fakeLeases{}, "someone else"
				tt.spec.HolderIdentity = &identity
				m.put(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "zarf-package-p"}, Spec: tt.spec})
				began := time.Now()
				lease := must(t, m)
				if waited := time.Since(began); waited < tt.wait || waited > tt.wait+2*leaseTiming.poll {
					t.Errorf("taken after %s, want %s of watching", waited, tt.wait)
				}
				if lease.TookOver() != identity {
					t.Errorf("took over %q", lease.TookOver())
				}
				_ = lease.Release(t.Context())
			})
		})
	}
	// Nor is it shown as somebody's at work for ever.
	identity := "someone else"
	forever := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: &identity, LeaseDurationSeconds: seconds(1<<31 - 1), RenewTime: &now}}
	for after, live := range map[time.Duration]bool{0: true, 50 * time.Second: true, 2 * time.Minute: false} {
		if h := holding(forever, process{}, now.Add(after)); h.Live != live {
			t.Errorf("%s after its last renewal the holder counts as alive: %v", after, h.Live)
		}
	}
	if text := lockedError(&coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: &identity}}).Error(); strings.Contains(text, "0001") {
		t.Errorf("an unknown time is shown: %s", text)
	}
}

func TestLeaseOfADistantLiveHolderIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeLeases{}
		m.foreign("zarf-package-p", elsewhere)
		renewing, stop := context.WithCancel(t.Context())
		defer stop()
		go func() {
			for pause(renewing, 5*time.Second) == nil {
				m.foreign("zarf-package-p", elsewhere)
			}
		}()
		began := time.Now()
		_, err := try(t.Context(), m, 0)
		var locked *LockedError
		if !errors.As(err, &locked) || time.Since(began) > 7*time.Second {
			t.Fatalf("%v after %s; want a refusal at the first renewal", err, time.Since(began))
		}
		if _, err = try(t.Context(), m, 30*time.Second); !errors.As(err, &locked) {
			t.Fatalf("with a timeout: %v", err)
		}
		stop()
		synctest.Wait()
		if lease, err := try(t.Context(), m, 0); err != nil || lease.TookOver() != elsewhere {
			t.Fatalf("once it is silent: %v", err)
		} else {
			_ = lease.Release(t.Context())
		}
	})
}

func TestLeaseIsRenewedThroughFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeLeases{}
		lease := must(t, m)
		time.Sleep(6 * time.Second)
		m.set(unavailable, nil)
		time.Sleep(8 * time.Second) // the last renewal is 9 s ago
		m.set(nil, nil)
		time.Sleep(2 * time.Second)
		if isLost(lease) {
			t.Fatal("lost within the ten seconds")
		}
		lost := 0
		m.set(nil, func(verb string) error { // every second update's answer is lost
			if verb != "update" {
				return nil
			}
			if lost++; lost%2 == 0 {
				return unavailable(verb)
			}
			return nil
		})
		time.Sleep(time.Minute)
		if isLost(lease) {
			t.Fatal("lost although every renewal came through")
		}
		m.set(nil, nil)
		if err := lease.Release(t.Context()); err != nil || m.holder("zarf-package-p") != "" {
			t.Errorf("release: %v", err)
		}
	})
}

func TestLeaseIsLost(t *testing.T) {
	tests := map[string]struct {
		cause  func(m *fakeLeases)
		within time.Duration
		left   string // who holds it after Release
	}{
		"no renewal for ten seconds": {func(m *fakeLeases) { m.set(unavailable, nil) }, 10 * time.Second, ""},
		"somebody took it":           {func(m *fakeLeases) { m.foreign("zarf-package-p", elsewhere) }, 5 * time.Second, elsewhere},
		"it was deleted":             {func(m *fakeLeases) { m.mu.Lock(); m.leases = nil; m.mu.Unlock() }, 5 * time.Second, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &fakeLeases{}
				lease := must(t, m)
				began := time.Now()
				test.cause(m)
				<-lease.Lost()
				if after := time.Since(began); after != test.within {
					t.Errorf("lost after %s, want %s", after, test.within)
				}
				before := m.holder("zarf-package-p")
				if err := lease.Release(t.Context()); err != nil {
					t.Error(err)
				}
				if got := m.holder("zarf-package-p"); got != before || (test.left != "" && got != test.left) {
					t.Errorf("a lost lease was changed on release: held by %q, before %q", got, before)
				}
			})
		})
	}
}

func TestLeaseSurvivesTheOperationsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeLeases{}
		ctx, cancel := context.WithCancel(t.Context())
		lease, err := try(ctx, m, 0)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		time.Sleep(time.Minute)
		if isLost(lease) {
			t.Error("a cancelled operation lost its lease, and cannot write its books")
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestTakingALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeLeases{}
		once := true
		m.set(nil, func(verb string) error {
			if verb == "create" && once {
				once = false
				return unavailable(verb)
			}
			return nil
		})
		lease, err := try(t.Context(), m, 0)
		if err != nil || lease.TookOver() != "" {
			t.Fatalf("an answer that was lost: %v, took over %q", err, lease.TookOver())
		}
		_ = lease.Release(t.Context())

		m.set(unavailable, nil)
		if _, err := try(t.Context(), m, 0); err == nil || !strings.Contains(err.Error(), `taking lease "zarf-package-p"`) {
			t.Errorf("a server that is down: %v", err)
		}
		m.set(nil, nil)
		m.foreign("zarf-package-p", elsewhere)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if _, err := try(ctx, m, time.Minute); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a context that ends: %v", err)
		}
	})
}

func TestLeaseOfADeadProcessIsTakenAtOnce(t *testing.T) {
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	self := thisProcess("X")
	dead := self
	dead.pid = child.Process.Pid
	var err error
	if dead.start, err = startTime(dead.pid); err != nil {
		t.Skipf("this system does not tell when a process began: %v", err)
	}
	if got := dead.live(self); got != alive {
		t.Errorf("a running process is %d, want alive", got)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for range 100 { // killed and not yet waited for: a zombie counts as gone
		if dead.live(self) == gone {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if got := dead.live(self); got != gone {
		t.Errorf("a killed process that nobody waited for is %d, want gone", got)
	}
	_ = child.Wait()
	if got := dead.live(self); got != gone {
		t.Errorf("a dead process is %d, want gone", got)
	}
	for name, change := range map[string]func(*process){
		"machine":       func(p *process) { p.host = "x" },
		"boot":          func(p *process) { p.boot = "x" },
		"pid namespace": func(p *process) { p.pids = "x" },
		"unknown boot":  func(p *process) { p.boot = "" },
		"unknown start": func(p *process) { p.start = "" },
	} {
		other := dead
		change(&other)
		if got := other.live(self); got != unknown {
			t.Errorf("another %s: %d, want unknown", name, got)
		}
	}
	reused := self
	reused.start = "1"
	if got := reused.live(self); got != gone {
		t.Errorf("a number that belongs to another process now: %d, want gone", got)
	}

	m := &fakeLeases{}
	m.foreign("zarf-package-p", dead.String())
	began := time.Now()
	lease := must(t, m)
	if lease.TookOver() != dead.String() || time.Since(began) > time.Second {
		t.Errorf("took over %q after %s", lease.TookOver(), time.Since(began))
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

func FuzzParseProcess(f *testing.F) {
	f.Add(elsewhere)
	f.Add("a/b/c/-1/e/f")
	f.Add("")
	f.Fuzz(func(t *testing.T, identity string) {
		if p, ok := parseProcess(identity); ok {
			if again, ok := parseProcess(p.String()); !ok || again != p {
				t.Errorf("%q reads as %+v, and that as %+v", identity, p, again)
			}
		}
		_ = describe(identity)
	})
}
