package registry

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// upload sends a blob to a repository and returns when the registry has confirmed it.
func (s *session) upload(ctx context.Context, repository string, d ocispec.Descriptor, content io.Reader) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	b := newBody(content, d.Size)
	stop := b.watch(cancel, s.client.opts.StallLimit, s.client.opts.CommitLimit)
	err := s.repository(repository).Blobs().Push(ctx, d, b)
	stop()
	// The transport may still be reading: the content is the caller's again only after this.
	if failed := b.detach(); failed != nil {
		return &sourceError{failed}
	}
	return s.client.explain(ctx, err)
}

// body is content on its way to the registry. It knows when it last moved.
type body struct {
	mu       sync.Mutex // held while reading, so that detach waits for a read
	content  io.Reader
	detached bool
	failed   error // what the content ended with in place of io.EOF

	state   sync.Mutex
	reading bool
	moved   time.Time
	left    int64
}

func newBody(content io.Reader, size int64) *body {
	return &body{content: content, moved: time.Now(), left: size}
}

var errDetached = errors.New("the upload has ended")

// Read takes bytes from the content. While it does, it is the package that is waited for and not the
// registry.
func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.detached {
		return 0, errDetached
	}
	b.mark(true, 0)
	n, err := b.content.Read(p)
	b.mark(false, n)
	if err != nil && !errors.Is(err, io.EOF) {
		b.failed = err
	}
	return n, err
}

func (b *body) mark(reading bool, n int) {
	b.state.Lock()
	defer b.state.Unlock()
	b.reading, b.moved = reading, time.Now()
	b.left -= int64(n)
}

// detach lets nobody read any more, and returns what reading failed with.
func (b *body) detach() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.detached = true
	return b.failed
}

// watch cancels the upload when nothing moved for stall, or when all was sent and not confirmed for
// commit. The function that it returns ends the watch.
func (b *body) watch(cancel context.CancelCauseFunc, stall, commit time.Duration) (stop func()) {
	stopped := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		timer := time.NewTimer(min(stall, commit))
		defer timer.Stop()
		for {
			select {
			case <-stopped:
				return
			case <-timer.C:
			}
			left, reason := b.remaining(stall, commit)
			if left <= 0 {
				cancel(reason)
				return
			}
			timer.Reset(left)
		}
	}()
	return func() { close(stopped); <-done }
}

// remaining is how long the upload may stand still from now on.
func (b *body) remaining(stall, commit time.Duration) (time.Duration, *StallError) {
	b.state.Lock()
	defer b.state.Unlock()
	if b.reading {
		return stall, nil
	}
	if b.left <= 0 {
		return commit - time.Since(b.moved), &StallError{Waiting: "all was sent, and the registry did not confirm it", Limit: commit}
	}
	return stall - time.Since(b.moved), &StallError{Waiting: "no byte of the upload moved", Limit: stall}
}
