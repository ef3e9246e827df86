package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zarf-host/zarf-host/host/apply"
	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/event"
)

// releaseTime is how long letting go of the lease may take after the operation ended.
const releaseTime = 5 * time.Second

// underLease runs the part of an operation that changes the cluster. The lease is taken first; when
// it is lost, everything is cut off; when ctx is done, the work is cut off and the books stay open.
func underLease(ctx context.Context, c Common, conn *cluster.Cluster, name string, do func(context.Context) (Result, error)) (Result, error) {
	if err := conn.EnsureNamespace(ctx); err != nil {
		return Result{}, err
	}
	lease, err := conn.Acquire(ctx, name, cluster.LeaseOptions{Timeout: c.LockTimeout, Sink: c.Sink})
	if err != nil {
		return Result{}, err
	}
	if gone := lease.TookOver(); gone != "" {
		c.say(event.Warn, "lease", fmt.Sprintf("took over from %s, which is gone and left its operation unfinished", gone))
	}
	work, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for done := ctx.Done(); ; {
			select {
			case <-lease.Lost():
				conn.CutAll(apply.ErrLeaseLost.Error())
				cancel(apply.ErrLeaseLost)
				return
			case <-done:
				conn.Cut("the operation was cancelled")
				done = nil // the lease can still be lost while the outcome is written down
			case <-ended:
				return
			}
		}
	}()
	result, err := do(work)
	close(ended)
	<-watched
	late, stop := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer stop()
	if failed := lease.Release(late); failed != nil {
		c.say(event.Warn, "lease", failed.Error())
	}
	if cause := context.Cause(work); err != nil && cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	return result, err
}
