package apply

import (
	"context"
	"errors"
	"fmt"

	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/state"
)

// Images deletes images from the cluster's registry.
type Images interface {
	// Prune deletes references that still nobody else needs when it looks, and returns what became of
	// each, also beside an error. One that fails hinders no other.
	Prune(ctx context.Context, prune ImagePrune) ([]ImageResult, error)
}

// ImagePrune is what a prune of images is to do.
type ImagePrune struct {
	Images []plan.PruneImage // that go, by the plan
	// Shared are those that other packages had when the plan was made; where none has them any more
	// they go too.
	Shared []plan.PruneImage
	// Then is called when nothing failed, before any other prune looks; nil is nothing.
	Then func(ctx context.Context) error
}

// ImageOutcome says what became of a reference that was to be deleted.
type ImageOutcome string

// What can become of a reference.
const (
	ImageDeleted ImageOutcome = "deleted" // it is not there any more
	ImageKept    ImageOutcome = "kept"    // it stays on purpose
	ImageFailed  ImageOutcome = "failed"  // it may still be there, and is tried again by the next prune
)

// ImageResult is what became of one reference.
type ImageResult struct {
	Reference string
	Digest    string
	Bytes     int64
	Outcome   ImageOutcome
	Reason    string // why it is kept
	Err       error  // why it failed
}

// pruneImages deletes what the plan lists and takes what is gone off the record. What failed stays
// there, so that the next prune finds it.
func (r *run) pruneImages(ctx context.Context) error {
	prune := ImagePrune{Images: r.plan.Prune.Images}
	forgotten := false
	if r.nothingLeft() && len(r.plan.Shared()) > 0 {
		// Several packages that go at once see each other's records: whichever is the last to prune must
		// see that the others are gone, since nothing else knows of the images then.
		prune.Shared = r.plan.Shared()
		prune.Then = func(ctx context.Context) error {
			err := r.survive(ctx, r.forget(ctx))
			forgotten = err == nil
			return err
		}
	}
	if len(prune.Images)+len(prune.Shared) == 0 || r.Images == nil || r.gone {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r.say(event.Info, "prune", "", "deleting %d references from the registry", len(prune.Images))
	done, err := r.Images.Prune(ctx, prune)
	r.forgotten = forgotten
	r.result.Images = done
	var gone []string
	var failed []error
	for _, i := range done {
		switch i.Outcome {
		case ImageDeleted:
			gone = append(gone, i.Reference)
		case ImageKept:
			r.say(event.Warn, "prune", "", "image %s stays: %s", i.Reference, i.Reason)
		case ImageFailed:
			failed = append(failed, fmt.Errorf("image %q: %w", i.Reference, i.Err))
		}
	}
	if len(gone) > 0 && !forgotten {
		err = errors.Join(err, r.note(ctx, func(s *state.Record) { s.Own = s.Own.Unpush(gone...) }))
	}
	if len(failed) > 0 {
		err = errors.Join(err, &ImagesError{Failed: failed, Of: len(done)})
	}
	if err != nil {
		return fmt.Errorf("pruning images: %w", err)
	}
	return nil
}

// ImagesError says which of the images that were to be deleted were not.
type ImagesError struct {
	Failed []error
	Of     int // how many were to be deleted
}

func (e *ImagesError) Error() string {
	return fmt.Sprintf("%d of %d could not be deleted: %v", len(e.Failed), e.Of, errors.Join(e.Failed...))
}

// Unwrap returns why each was not.
func (e *ImagesError) Unwrap() []error { return e.Failed }

// Hint says what to do about it.
func (e *ImagesError) Hint() string {
	return "they stay on record: the same command again tries them again"
}
