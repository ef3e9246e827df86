package cluster

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Letting go of a lease gets over faults that pass: nobody else would do it.
func TestReleaseGetsOverPassingFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeLeases{}
		lease := must(t, m)
		m.set(unavailable, nil)
		time.AfterFunc(1500*time.Millisecond, func() { m.set(nil, nil) })
		if err := lease.Release(t.Context()); err != nil || m.holder("zarf-package-p") != "" {
			t.Errorf("%v, and the lease is %q's", err, m.holder("zarf-package-p"))
		}
	})
}

func TestReleaseEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeLeases{}
		lease := must(t, m)
		m.set(unavailable, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		began := time.Now()
		if err := lease.Release(ctx); err == nil || time.Since(began) > 6*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

// A lease that was taken although its taker was cancelled before the answer came is given back.
func TestCancelledAcquireLeavesNoLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeLeases{}
		ctx, cancel := context.WithCancel(t.Context())
		m.set(nil, func(verb string) error { // the answer is lost
			if m.lose = nil; verb != "create" {
				return nil
			}
			cancel()
			return context.Canceled
		})
		if _, err := try(ctx, m, 0); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if got := m.holder("zarf-package-p"); got != "" {
			t.Errorf("the lease is %q's", got)
		}
	})
}
