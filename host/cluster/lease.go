package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/state"
)

// timing is how a lease lives.
type timing struct {
	duration time.Duration // without a renewal for so long, others may take it
	renew    time.Duration // between renewals
	lost     time.Duration // without a renewal for so long, the holder gives it up
	poll     time.Duration // between looks at a lease that somebody else holds
	retry    time.Duration // between attempts at a renewal that failed
	request  time.Duration // how long one attempt at a renewal may take
}

// leaseTiming leaves 5 s between a holder that stops and a successor that begins.
var leaseTiming = timing{
	duration: 15 * time.Second,
	renew:    5 * time.Second,
	lost:     10 * time.Second,
	poll:     time.Second,
	retry:    time.Second,
	request:  3 * time.Second,
}

// leases is what this file needs of the API server.
type leases interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (*coordinationv1.Lease, error)
	Create(ctx context.Context, lease *coordinationv1.Lease, options metav1.CreateOptions) (*coordinationv1.Lease, error)
	Update(ctx context.Context, lease *coordinationv1.Lease, options metav1.UpdateOptions) (*coordinationv1.Lease, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}

// LeaseOptions say how to take a lease.
type LeaseOptions struct {
	// Timeout is how long to wait for a holder that is alive to let go. A lease that may be a dead
	// holder's is watched until that is known, however short the timeout.
	Timeout time.Duration
	// Sink hears who is waited for; nil means the cluster's.
	Sink event.Sink
}

// A Lease is held from Acquire to Release, unless it is lost. It is renewed meanwhile.
type Lease struct {
	client   leases
	timing   timing
	tookOver string
	current  *coordinationv1.Lease // written by the renewing goroutine, read once that has ended
	lost     chan struct{}
	stop     context.CancelFunc
	ended    chan struct{}
}

// Acquire takes the lease called name, the name of a record's Secret. It is taken over from a
// holder that did not renew it for a whole duration on our own clock, or whose process on this
// machine is gone. While the holder lives and after options.Timeout it is a LockedError.
func (c *Cluster) Acquire(ctx context.Context, name string, options LeaseOptions) (*Lease, error) {
	if options.Sink == nil {
		options.Sink = c.sink
	}
	return acquire(ctx, c.client.CoordinationV1().Leases(state.Namespace), name, options, leaseTiming)
}

// Lost is closed once the lease can no longer be relied on: somebody else has it, it was deleted, or
// it could not be renewed for too long. Whoever holds it must stop writing then.
func (l *Lease) Lost() <-chan struct{} { return l.lost }

// TookOver returns who held the lease and is gone without letting go of it, empty when nobody. What
// that holder left unfinished is the successor's to close.
func (l *Lease) TookOver() string { return l.tookOver }

// Release ends the renewing and lets go of the lease. A lease that was lost is left alone.
func (l *Lease) Release(ctx context.Context) error {
	l.stop()
	<-l.ended
	select {
	case <-l.lost:
		return nil
	default:
	}
	var err error
	for {
		if err = l.letGo(ctx); !passing(err) || pause(ctx, l.timing.retry) != nil {
			break
		}
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("releasing lease %q: %w", l.current.Name, err)
	}
	return nil
}

// letGo tries once to delete the lease, if it is still ours.
func (l *Lease) letGo(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.timing.request)
	defer cancel()
	err := l.delete(ctx, l.current)
	if apierrors.IsConflict(err) { // somebody wrote, perhaps ourselves in a renewal whose answer was lost
		found, getErr := l.client.Get(ctx, l.current.Name, metav1.GetOptions{})
		switch {
		case getErr != nil:
			err = getErr
		case holder(found) != holder(l.current):
			return nil
		default:
			err = l.delete(ctx, found)
		}
	}
	return err
}

func (l *Lease) delete(ctx context.Context, lease *coordinationv1.Lease) error {
	return l.client.Delete(ctx, lease.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{
		UID: &lease.UID, ResourceVersion: &lease.ResourceVersion,
	}})
}

// A LockedError says that another operation holds the lease.
type LockedError struct {
	Lease  string
	Holder string
	// Since is when the holder took the lease, Expires when it runs out unless it is renewed: both
	// by the holder's clock.
	Since, Expires time.Time
}

func (e *LockedError) Error() string {
	since := "" // whoever wrote the lease need not have said
	if !e.Since.IsZero() {
		since = ", since " + e.Since.UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("another operation holds lease %q: %s%s", e.Lease, describe(e.Holder), since)
}

// Hint says what to do about it.
func (e *LockedError) Hint() string {
	return "wait until it is done, or give --lock-timeout to be waited for"
}

// maxFaults is how many passing faults of the API server taking a lease gets over.
const maxFaults = 5

// acquire takes a lease, waiting for its holder as far as options allow.
func acquire(ctx context.Context, client leases, name string, options LeaseOptions, timing timing) (*Lease, error) {
	self := thisProcess(rand.Text())
	began, faults := time.Now(), 0
	var seen observation
	for {
		looked := time.Now()
		lease, err := client.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			lease, err = nil, nil
		}
		if err == nil {
			if lease != nil && holder(lease) == self.String() { // we took it, and the answer was lost
				return hold(ctx, client, lease, seen.holder, looked, timing), nil
			}
			switch verdict := seen.look(lease, self, looked, timing.duration); {
			case verdict == held && looked.Sub(began) >= options.Timeout:
				return nil, lockedError(lease)
			case verdict == free, verdict == stale:
				var taken *coordinationv1.Lease
				if taken, err = take(ctx, client, name, lease, self, timing); err == nil {
					return hold(ctx, client, taken, seen.holder, looked, timing), nil
				}
				if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || lease != nil && apierrors.IsNotFound(err) {
					err = nil // somebody was faster: look again
				}
			}
		}
		if err != nil && ctx.Err() != nil {
			giveBack(ctx, client, name, self, timing)
			return nil, fmt.Errorf("taking lease %q: %w", name, err)
		}
		if err != nil {
			if faults++; faults > maxFaults || !passing(err) {
				return nil, fmt.Errorf("taking lease %q: %w", name, err)
			}
		}
		if seen.fresh {
			seen.fresh = false
			options.Sink.Emit(event.Event{Level: event.Info, Step: "lease", Message: fmt.Sprintf(
				"lease %q is held by %s: waiting", name, describe(seen.holder))})
		}
		if err := pause(ctx, timing.poll); err != nil {
			return nil, fmt.Errorf("waiting for lease %q: %w", name, err)
		}
	}
}

// giveBack deletes a lease that an attempt may have taken although it was cancelled before the answer
// came. Where that fails the lease runs out by itself.
func giveBack(ctx context.Context, client leases, name string, self process, timing timing) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timing.request)
	defer cancel()
	lease, err := client.Get(ctx, name, metav1.GetOptions{})
	if err != nil || holder(lease) != self.String() {
		return
	}
	_ = client.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{
		UID: &lease.UID, ResourceVersion: &lease.ResourceVersion,
	}})
}

// take writes ourselves into a lease: a new one where there is none.
func take(ctx context.Context, client leases, name string, lease *coordinationv1.Lease, self process, timing timing) (*coordinationv1.Lease, error) {
	identity, seconds := self.String(), int32(timing.duration/time.Second)
	now := metav1.NowMicro()
	if lease == nil {
		return client.Create(ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Namespace: state.Namespace,
				Labels: map[string]string{state.ManagedByLabel: ownManager},
			},
			Spec: coordinationv1.LeaseSpec{
				HolderIdentity: &identity, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now,
			},
		}, metav1.CreateOptions{FieldManager: ownManager})
	}
	lease = lease.DeepCopy()
	transitions := int32(1)
	if lease.Spec.LeaseTransitions != nil {
		transitions += *lease.Spec.LeaseTransitions
	}
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = &identity, &seconds
	lease.Spec.AcquireTime, lease.Spec.RenewTime, lease.Spec.LeaseTransitions = &now, &now, &transitions
	return client.Update(ctx, lease, metav1.UpdateOptions{FieldManager: ownManager})
}

// hold starts the renewing of a lease that was taken, not before the time at.
func hold(ctx context.Context, client leases, taken *coordinationv1.Lease, tookOver string, at time.Time, timing timing) *Lease {
	// A cancelled operation still writes its books under the lease: only Release ends it.
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	l := &Lease{
		client: client, timing: timing, tookOver: tookOver, current: taken,
		lost: make(chan struct{}), stop: stop, ended: make(chan struct{}),
	}
	go l.keep(ctx, at)
	return l
}

// keep renews the lease until ctx ends or the lease is lost. renewed is when it was renewed last.
func (l *Lease) keep(ctx context.Context, renewed time.Time) {
	defer close(l.ended)
	defer l.stop()
	wait := l.timing.renew
	for {
		if pause(ctx, wait) != nil {
			return
		}
		began := time.Now()
		giveUp := renewed.Add(l.timing.lost)
		within, cancel := context.WithTimeout(ctx, min(l.timing.request, giveUp.Sub(began)))
		err := l.renew(within)
		cancel()
		switch {
		case err == nil:
			renewed, wait = began, l.timing.renew
		case ctx.Err() != nil:
			return
		case errors.Is(err, errTaken) || !time.Now().Before(giveUp):
			close(l.lost)
			return
		default:
			wait = min(l.timing.retry, time.Until(giveUp))
		}
	}
}

// errTaken says that a lease is no longer ours.
var errTaken = errors.New("the lease was taken")

// renew moves the lease's renewTime on.
func (l *Lease) renew(ctx context.Context) error {
	next := l.current.DeepCopy()
	now := metav1.NowMicro()
	next.Spec.RenewTime = &now
	updated, err := l.client.Update(ctx, next, metav1.UpdateOptions{FieldManager: ownManager})
	switch {
	case err == nil:
		l.current = updated
		return nil
	case apierrors.IsNotFound(err):
		return errTaken
	case !apierrors.IsConflict(err):
		return err
	}
	// Somebody wrote: another holder, or ourselves in an attempt whose answer was lost.
	found, err := l.client.Get(ctx, l.current.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return errTaken
	case err != nil:
		return err
	case holder(found) != holder(l.current) || found.UID != l.current.UID:
		return errTaken
	}
	found.Spec.RenewTime = &now
	updated, err = l.client.Update(ctx, found, metav1.UpdateOptions{FieldManager: ownManager})
	if err == nil {
		l.current = updated
	}
	return err
}
