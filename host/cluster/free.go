package cluster

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/state"
)

// ImagesLease is the lease that whoever deletes images from the cluster's registry holds.
const ImagesLease = "zarf-host-images"

// WaitFree waits until nobody holds the lease called name, without taking it. A holder that is gone
// does not count, once that is known as it is known to Acquire. While the holder lives and after
// options.Timeout it is a LockedError.
func (c *Cluster) WaitFree(ctx context.Context, name string, options LeaseOptions) error {
	if options.Sink == nil {
		options.Sink = c.sink
	}
	get := c.client.CoordinationV1().Leases(state.Namespace).Get
	return waitFree(ctx, get, name, options, leaseTiming)
}

type getLease func(ctx context.Context, name string, options metav1.GetOptions) (*coordinationv1.Lease, error)

func waitFree(ctx context.Context, get getLease, name string, options LeaseOptions, timing timing) error {
	self, began, faults := thisProcess(""), time.Now(), 0
	var seen observation
	for {
		looked := time.Now()
		lease, err := get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err == nil {
			switch verdict := seen.look(lease, self, looked, timing.duration); {
			case verdict == free, verdict == stale:
				return nil
			case verdict == held && looked.Sub(began) >= options.Timeout:
				return lockedError(lease)
			}
		} else if faults++; ctx.Err() != nil || faults > maxFaults || !passing(err) {
			return fmt.Errorf("waiting for lease %q: %w", name, err)
		}
		if seen.fresh {
			seen.fresh = false
			options.Sink.Emit(event.Event{Step: "lease", Message: fmt.Sprintf(
				"lease %q is held by %s: waiting", name, describe(seen.holder))})
		}
		if err := pause(ctx, timing.poll); err != nil {
			return fmt.Errorf("waiting for lease %q: %w", name, err)
		}
	}
}
