package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/client-go/dynamic"

	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/object"
)

const (
	// The first look at an object that is waited for comes at once, the next ones ever later.
	firstPoll = 100 * time.Millisecond
	lastPoll  = 2 * time.Second
	// reportEvery is how often changes of what is waited for are told.
	reportEvery = 2 * time.Second
)

// A Waiter waits for objects, judging them by kstatus. It goes the way of the work: Cut ends it. The
// context bounds each wait.
type Waiter struct {
	client    dynamic.Interface
	kinds     *kinds
	sink      event.Sink
	component string
	release   string
}

// Waiter returns a Waiter that reports to sink, or to the cluster's own where sink is nil.
func (c *Cluster) Waiter(sink event.Sink) (*Waiter, error) {
	client, err := dynamic.NewForConfig(c.work)
	if err != nil {
		return nil, fmt.Errorf("preparing to wait for objects: %w", err)
	}
	kinds, err := newKinds(c.work)
	if err != nil {
		return nil, fmt.Errorf("preparing to wait for objects: %w", err)
	}
	if sink == nil {
		sink = c.sink
	}
	return &Waiter{client: client, kinds: kinds, sink: sink}, nil
}

// For returns a Waiter whose reports name a component and a release, either of which may be empty.
func (w *Waiter) For(component, release string) *Waiter {
	named := *w
	named.component, named.release = component, release
	return &named
}

// Ready waits until every object is current. An object that says it failed is waited for as well,
// since controllers get over failures: Helm's wait is patient in the same way.
func (w *Waiter) Ready(ctx context.Context, refs []object.Ref) error {
	return w.wait(ctx, "ready", refs, ready)
}

// Healthy waits until every object is current, as Ready does, but ends at once when one says that
// it failed.
func (w *Waiter) Healthy(ctx context.Context, refs []object.Ref) error {
	return w.wait(ctx, "healthy", refs, healthy)
}

// Complete waits until every Job is complete and every Pod has succeeded, and ends at once when one
// failed. Objects of other kinds need only exist. It is what Helm's hooks are waited for with.
func (w *Waiter) Complete(ctx context.Context, refs []object.Ref) error {
	return w.wait(ctx, "complete", refs, complete)
}

// Deleted waits until none of the objects exists.
func (w *Waiter) Deleted(ctx context.Context, refs []object.Ref) error {
	return w.wait(ctx, "deleted", refs, deleted)
}

// A Waiting is an object that is waited for and what is known of why.
type Waiting struct {
	object.Ref
	Why string
}

// A WaitError says which objects did not come to be as wanted.
type WaitError struct {
	Wanted  string // ready, healthy, complete or deleted
	Objects []Waiting
	// Err is why waiting ended: the context's cause, or nil when an object failed for good.
	Err error
}

func (e *WaitError) Error() string {
	const most = 10
	var text strings.Builder
	if e.Err != nil {
		fmt.Fprintf(&text, "waiting until %d objects are %s: %v: ", len(e.Objects), e.Wanted, e.Err)
	}
	for i, o := range e.Objects {
		if i > 0 {
			text.WriteString("; ")
		}
		if i == most {
			fmt.Fprintf(&text, "and %d more", len(e.Objects)-most)
			break
		}
		fmt.Fprintf(&text, "%s is not %s: %s", o.Ref, e.Wanted, o.Why)
	}
	return text.String()
}

func (e *WaitError) Unwrap() error { return e.Err }

// wait looks at the objects until judge is content with each of them. One that it is content with
// is not looked at again.
func (w *Waiter) wait(ctx context.Context, wanted string, refs []object.Ref, judge judge) error {
	open := make([]Waiting, len(refs))
	for i, ref := range refs {
		open[i] = Waiting{Ref: ref, Why: "not looked at yet"}
	}
	reports := reporter{waiter: w, wanted: wanted, told: map[object.Key]string{}}
	for poll := firstPoll; ; poll = min(2*poll, lastPoll) {
		var still []Waiting
		for _, o := range open {
			verdict, err := w.look(ctx, o.Ref, judge)
			switch {
			case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), ctx.Err() != nil:
				still = append(still, o) // told apart below, by the context
			case err != nil:
				return fmt.Errorf("waiting until %s is %s: %w", o.Ref, wanted, err)
			case verdict.failed:
				return &WaitError{Wanted: wanted, Objects: []Waiting{{o.Ref, verdict.why}}}
			case !verdict.done:
				still = append(still, Waiting{o.Ref, verdict.why})
			}
		}
		if len(still) == 0 {
			return nil
		}
		open = still
		reports.report(open, time.Now())
		if err := pause(ctx, poll); err != nil {
			return &WaitError{Wanted: wanted, Objects: open, Err: err}
		}
	}
}

// look reads an object and judges it. Faults that pass are a reason to wait; others are errors.
func (w *Waiter) look(ctx context.Context, ref object.Ref, judge judge) (verdict judgement, err error) {
	found, err := w.get(ctx, ref)
	switch {
	case err == nil:
		return judge(found)
	case errors.Is(err, errUnknownKind):
		verdict, err = judge(nil)
		verdict.why = errUnknownKind.Error()
		return verdict, err
	case passing(err):
		return judgement{why: "the API server did not answer: " + err.Error()}, nil
	default:
		return judgement{}, err
	}
}

// A reporter tells what is waited for: the first time after a while, then what changed.
type reporter struct {
	waiter *Waiter
	wanted string
	last   time.Time
	told   map[object.Key]string
}

func (r *reporter) report(open []Waiting, now time.Time) {
	if r.last.IsZero() {
		r.last = now // most objects are ready before anybody would want to know
		return
	}
	if now.Sub(r.last) < reportEvery {
		return
	}
	r.last = now
	for _, o := range open {
		if r.told[o.Key()] == o.Why {
			continue
		}
		r.told[o.Key()] = o.Why
		r.waiter.sink.Emit(event.Event{
			Level: event.Info, Step: "wait", Component: r.waiter.component, Release: r.waiter.release,
			Message: fmt.Sprintf("%s is not %s yet: %s", o.Ref, r.wanted, o.Why),
		})
	}
}
