package wait

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	interval = time.Second      // between two looks
	patience = 10 * time.Second // for one look
)

// hopeless marks an error that no waiting mends.
type hopeless struct{ error }

func (h hopeless) Unwrap() error { return h.error }

// poll looks until look returns nil, an error that is hopeless, or ctx is done. The error names
// what the last look missed.
func poll(ctx context.Context, what string, look func(context.Context) error) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var last error
	for {
		select {
		case <-ctx.Done():
			return gaveUp(what, last, context.Cause(ctx))
		case <-timer.C:
		}
		err := once(ctx, look)
		var h hopeless
		switch {
		case err == nil:
			return nil
		case errors.As(err, &h):
			return fmt.Errorf("waiting for %s: %w", what, h.error)
		case ctx.Err() == nil:
			last = err
		}
		timer.Reset(interval)
	}
}

func once(ctx context.Context, look func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return look(ctx)
}

func gaveUp(what string, last, cause error) error {
	if last == nil {
		return fmt.Errorf("waiting for %s: %w", what, cause)
	}
	return fmt.Errorf("waiting for %s: %w; last seen: %w", what, cause, last)
}
