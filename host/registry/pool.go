package registry

import (
	"context"
	"io"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/zarf-host/zarf-host/host/bundle"
)

// tolerated is how many requests of a pool a registry may refuse for the moment before the pool stops.
const tolerated = 3

// pool does several things at once. The first failure ends them all, except for a few that the
// registry refused for the moment: those leave the others alone and are the outcome at the end.
type pool struct {
	group *errgroup.Group
	ctx   context.Context
	slots *semaphore.Weighted

	mu      sync.Mutex
	refused []error
}

func newPool(ctx context.Context, limit int) *pool {
	group, ctx := errgroup.WithContext(ctx)
	return &pool{group: group, ctx: ctx, slots: semaphore.NewWeighted(int64(limit))}
}

// start does something beside the rest, as soon as there is room for it.
func (p *pool) start(do func(context.Context) error) error {
	if err := p.slots.Acquire(p.ctx, 1); err != nil {
		return err
	}
	p.group.Go(func() error {
		defer p.slots.Release(1)
		return p.tolerate(do(p.ctx))
	})
	return nil
}

// here does something in the goroutine of the caller, as soon as there is room for it.
func (p *pool) here(do func(context.Context) error) error {
	if err := p.slots.Acquire(p.ctx, 1); err != nil {
		return err
	}
	defer p.slots.Release(1)
	return p.tolerate(do(p.ctx))
}

func (p *pool) tolerate(err error) error {
	if err == nil || !answered(err) || !transient(err) {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refused = append(p.refused, err); len(p.refused) < tolerated {
		return nil
	}
	return err
}

// eachFile walks through a package once: small files are read into memory and handled several at once,
// large ones as they come by. It returns what ended the walk; see wait.
func (p *pool) eachFile(source BlobSource, wanted func(path string) bool,
	large func(ctx context.Context, f bundle.File, r io.Reader) error,
	small func(ctx context.Context, f bundle.File, data []byte) error,
) error {
	memory := semaphore.NewWeighted(bufferBytes)
	handled := false // what failed is not the package
	err := source.Walk(p.ctx, wanted, func(f bundle.File, r io.Reader) (err error) {
		defer func() { handled = err != nil }()
		if f.Size > bufferable {
			return p.here(func(ctx context.Context) error { return large(ctx, f, r) })
		}
		if err := memory.Acquire(p.ctx, f.Size); err != nil {
			return err
		}
		data := make([]byte, f.Size)
		if err := readAll(r, data); err != nil {
			memory.Release(f.Size)
			return &sourceError{err}
		}
		err = p.start(func(ctx context.Context) error {
			defer memory.Release(f.Size)
			return small(ctx, f, data)
		})
		if err != nil {
			memory.Release(f.Size)
		}
		return err
	})
	if err != nil && !handled {
		err = &sourceError{err}
	}
	return err
}

// wait waits for everything and returns what failed first. ended is what ended the starting of things,
// if anything did.
func (p *pool) wait(ended error) error {
	if ended != nil {
		// Where a failure in the pool is why, the group has that one already.
		p.group.Go(func() error { return ended })
	}
	if err := p.group.Wait(); err != nil {
		return err
	}
	if len(p.refused) > 0 {
		return p.refused[0]
	}
	return nil
}

// each does the same for all items, several at once.
func each[T any](ctx context.Context, limit int, items []T, do func(context.Context, T) error) error {
	p := newPool(ctx, limit)
	for _, item := range items {
		if err := p.start(func(ctx context.Context) error { return do(ctx, item) }); err != nil {
			return p.wait(err)
		}
	}
	return p.wait(nil)
}
