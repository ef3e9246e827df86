package cluster

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zarf-host/zarf-host/host/event"
)

// A lease is waited for without being taken: until its holder lets go, or is known to be gone.
func TestWaitFree(t *testing.T) {
	free := func(ctx context.Context, m *fakeLeases, timeout time.Duration) (time.Duration, error) {
		began := time.Now()
		err := waitFree(ctx, m.Get, "zarf-package-p", LeaseOptions{Timeout: timeout, Sink: event.Discard}, leaseTiming)
		return time.Since(began), err
	}
	synctest.Test(t, func(t *testing.T) {
		m := &fakeLeases{}
		if took, err := free(t.Context(), m, 0); err != nil || took > 0 {
			t.Errorf("nobody's: %s, %v", took, err)
		}
		lease := must(t, m)
		var locked *LockedError
		if took, err := free(t.Context(), m, 5*time.Second); !errors.As(err, &locked) || took < 5*time.Second || took > 7*time.Second {
			t.Errorf("a living holder's: %s, %v", took, err)
		}
		go func() {
			time.Sleep(20 * time.Second) // it is renewed meanwhile
			_ = lease.Release(t.Context())
		}()
		took, err := free(t.Context(), m, time.Minute)
		if err != nil || took < 19*time.Second || took > 22*time.Second || m.holder("zarf-package-p") != "" {
			t.Errorf("until it lets go: %s, %v, held by %q", took, err, m.holder("zarf-package-p"))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		m := &fakeLeases{}
		m.foreign("zarf-package-p", elsewhere) // which nobody renews
		took, err := free(t.Context(), m, 0)
		if err != nil || took < leaseTiming.duration || took > leaseTiming.duration+2*time.Second || m.holder("zarf-package-p") != elsewhere {
			t.Errorf("a holder that is gone: %s, %v, held by %q", took, err, m.holder("zarf-package-p"))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		m.foreign("zarf-package-p", elsewhere)
		if _, err := free(ctx, m, time.Minute); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("cancelled: %v", err)
		}
		m.set(unavailable, nil)
		if took, err := free(t.Context(), m, 0); err == nil || took > 10*time.Second {
			t.Errorf("a server that is away: %s, %v", took, err)
		}
	})
}
