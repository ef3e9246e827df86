package cluster

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/zarf-host/zarf-host/host/state"
)

// A verdict is what is known of a lease.
type verdict int

const (
	watched verdict = iota // somebody's, who may be alive or gone
	held                   // somebody's, who is alive
	stale                  // somebody's, who is gone
	free                   // nobody's
)

// An observation is what we saw of a lease, with our own clock: the holder's clock may be wrong, so
// what counts is for how long nothing moved.
type observation struct {
	holder  string
	renewed time.Time // the holder's renewTime, only ever compared with itself
	since   time.Time // when that was seen first, by our clock
	proven  bool      // we saw the holder renew, or take, the lease
	fresh   bool      // nobody was told of this holder yet
}

// look takes note of a lease, nil where there is none, and says what is known of it now.
func (o *observation) look(lease *coordinationv1.Lease, self process, now time.Time, duration time.Duration) verdict {
	if lease == nil || holder(lease) == "" {
		*o = observation{}
		return free
	}
	duration = promised(lease, duration)
	renewed := time.Time{}
	if lease.Spec.RenewTime != nil {
		renewed = lease.Spec.RenewTime.Time
	}
	first := o.holder == ""
	switch {
	case o.holder != holder(lease):
		*o = observation{holder: holder(lease), renewed: renewed, since: now, proven: !first, fresh: true}
	case !o.renewed.Equal(renewed):
		o.renewed, o.since, o.proven = renewed, now, true
	}
	living := unknown
	if p, ours := parseProcess(o.holder); ours {
		living = p.live(self)
	}
	switch {
	case living == gone, now.Sub(o.since) >= duration:
		return stale
	case living == alive, o.proven:
		return held
	default:
		return watched
	}
}

// longestPromise bounds, in durations of ours, what the duration in somebody's lease may say: one that
// was never renewed must not keep everybody out for years.
const longestPromise = 4

// promised is how long a lease holds without a renewal: what it says, but not less than ours, which is
// also what counts where it says nothing, and not more than a few of ours.
func promised(lease *coordinationv1.Lease, ours time.Duration) time.Duration {
	says := time.Duration(0)
	if d := lease.Spec.LeaseDurationSeconds; d != nil {
		says = time.Duration(*d) * time.Second
	}
	return min(max(says, ours), longestPromise*ours)
}

// Holding is what can be said of a lease without waiting for it.
type Holding struct {
	// Holder is the lease's holderIdentity, empty when nobody holds it.
	Holder string
	// Since is when the holder took it, Expires when it runs out unless it is renewed: both by the
	// holder's clock.
	Since, Expires time.Time
	// Live is false when nobody holds the lease, when its holder's process on this machine is gone,
	// or when it ran out. For the last one clocks are compared, so that it is good enough to show,
	// and not to act on.
	Live bool
}

// String names the holder for people, empty when there is none.
func (h Holding) String() string {
	if h.Holder == "" {
		return ""
	}
	return describe(h.Holder)
}

// Holding returns who holds the lease called name, to derive from it whether an operation in
// progress was interrupted.
func (c *Cluster) Holding(ctx context.Context, name string) (Holding, error) {
	lease, err := c.client.CoordinationV1().Leases(state.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return Holding{}, nil
	}
	if err != nil {
		return Holding{}, fmt.Errorf("reading lease %q: %w", name, err)
	}
	return holding(lease, thisProcess(""), time.Now()), nil
}

func holding(lease *coordinationv1.Lease, self process, now time.Time) Holding {
	if holder(lease) == "" {
		return Holding{}
	}
	h := Holding{Holder: holder(lease)}
	if lease.Spec.AcquireTime != nil {
		h.Since = lease.Spec.AcquireTime.Time
	}
	if lease.Spec.RenewTime != nil {
		h.Expires = lease.Spec.RenewTime.Add(promised(lease, leaseTiming.duration))
	}
	h.Live = now.Before(h.Expires)
	if p, ok := parseProcess(h.Holder); ok && p.live(self) == gone {
		h.Live = false
	}
	return h
}

func lockedError(lease *coordinationv1.Lease) error {
	h := holding(lease, process{}, time.Time{})
	return &LockedError{Lease: lease.Name, Holder: h.Holder, Since: h.Since, Expires: h.Expires}
}

func holder(lease *coordinationv1.Lease) string {
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}
