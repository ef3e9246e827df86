package host

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zarf-host/zarf-host/host/apply"
	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/registry"
)

// errImagesLeaseLost stops a deletion of images: deployments do not wait for it any more.
var errImagesLeaseLost = fmt.Errorf("lease %q was lost", cluster.ImagesLease)

// imagesLease says how the lease of the images is waited for. Whoever holds it deletes a few
// references, so that waiting is better than failing what was done until then.
func (c Common) imagesLease() cluster.LeaseOptions {
	return cluster.LeaseOptions{Timeout: max(c.LockTimeout, c.Timeout), Sink: c.Sink}
}

// underImagesLease runs what deletes images. Deployments that begin meanwhile wait before they look
// what the registry has; those that had begun are on record. ctx ends when the lease is lost.
func underImagesLease(ctx context.Context, c Common, conn *cluster.Cluster, do func(context.Context) error) error {
	lease, err := conn.Acquire(ctx, cluster.ImagesLease, c.imagesLease())
	if err != nil {
		return err
	}
	work, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-lease.Lost():
			cancel(errImagesLeaseLost)
		case <-ended:
		}
	}()
	err = do(work)
	close(ended)
	<-watched
	late, stop := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer stop()
	if failed := lease.Release(late); failed != nil {
		c.say(event.Warn, "lease", failed.Error())
	}
	return err
}

// Prune deletes the references that still nobody needs.
func (ip *imagePruner) Prune(ctx context.Context, prune apply.ImagePrune) ([]apply.ImageResult, error) {
	d := &imageDeletion{imagePruner: ip}
	err := underImagesLease(ctx, ip.common, ip.conn, func(ctx context.Context) error {
		if err := d.run(ctx, prune); err != nil || prune.Then == nil || d.failed() {
			return err
		}
		return prune.Then(ctx)
	})
	return d.done, err
}

// imageDeletion is one deletion of images under the lease.
type imageDeletion struct {
	*imagePruner
	client *registry.Client
	facts  plan.ImageFacts
	going  []plan.PruneImage // what is deleted, or was
	done   []apply.ImageResult
	// stopped is why nothing more is asked of the registry.
	stopped error
}

// run decides again, since others may have been deployed after the plan was made, and deletes.
func (d *imageDeletion) run(ctx context.Context, prune apply.ImagePrune) error {
	var untold map[string]error
	var err error
	images := slices.Concat(prune.Images, prune.Shared)
	if d.facts, untold, err = d.imagePruner.facts(ctx, images, false); err != nil {
		return err
	}
	gone, kept := plan.JudgeImages(images, d.facts)
	for _, i := range images {
		shared := slices.ContainsFunc(prune.Shared, func(s plan.PruneImage) bool { return s.Reference == i.Reference })
		at := slices.IndexFunc(kept, func(k plan.Kept) bool { return k.Image == i.Reference })
		switch goes := slices.ContainsFunc(gone, func(g plan.PruneImage) bool { return g.Reference == i.Reference }); {
		case at >= 0 && shared: // as the plan says
		case at >= 0:
			d.keep(i, kept[at].Reason)
		case !goes && !shared:
			d.report(i, apply.ImageDeleted, "", nil) // by somebody else
		}
	}
	if len(gone) == 0 {
		return nil
	}
	if d.client, err = d.imagePruner.client(ctx); err != nil {
		return err
	}
	for _, i := range gone {
		if err := untold[i.Reference]; err != nil {
			d.fail(i, err)
			continue
		}
		d.going = append(d.going, i)
	}
	d.untag(ctx)
	return nil
}

func (d *imageDeletion) failed() bool {
	return slices.ContainsFunc(d.done, func(r apply.ImageResult) bool { return r.Outcome == apply.ImageFailed })
}

// untag deletes by tag. What is left after that are images by digest, and tags of a registry that
// deletes no tags.
func (d *imageDeletion) untag(ctx context.Context) {
	var left []plan.PruneImage
	for _, i := range slices.Clone(d.going) {
		switch {
		case i.Missing:
			d.report(i, apply.ImageDeleted, "", nil)
		case i.ByDigest():
			left = append(left, i)
		default:
			if err := d.delete(ctx, i.Reference); errors.Is(err, registry.ErrDeleteRefused) {
				left = append(left, i)
			} else {
				d.end(i, err)
			}
		}
	}
	// Tags come before digests, and an index before what it names.
	for len(left) > 0 {
		same := func(i plan.PruneImage) bool {
			return i.Repository() == left[0].Repository() && i.Digest == left[0].Digest
		}
		var group []plan.PruneImage
		for _, i := range left {
			if same(i) {
				group = append(group, i)
			}
		}
		d.manifest(ctx, group)
		left = slices.DeleteFunc(left, same)
	}
}

// manifest deletes a manifest by its digest, and with it all references that it is known by: only if
// nothing else in its repository has it.
func (d *imageDeletion) manifest(ctx context.Context, group []plan.PruneImage) {
	first := group[0]
	if _, told := d.facts.Repositories[first.Repository()]; !told && d.stopped == nil {
		if err := d.survey(ctx, d.client, first.Repository(), d.facts); err != nil {
			for _, i := range group {
				d.fail(i, err)
			}
			return
		}
	}
	if why := d.facts.HoldsManifest(first, d.going); why != "" {
		if !first.ByDigest() {
			why = "the registry does not delete tags, and " + why
		}
		for _, i := range group {
			d.keep(i, why)
		}
		return
	}
	err := d.delete(ctx, first.Repository()+"@"+first.Digest)
	for _, i := range group {
		if errors.Is(err, registry.ErrDeleteRefused) {
			d.keep(i, "the registry does not delete images")
			continue
		}
		d.end(i, err)
	}
}

// delete deletes a reference, unless the registry is known not to answer.
func (d *imageDeletion) delete(ctx context.Context, reference string) error {
	if d.stopped != nil {
		return d.stopped
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	err := d.client.Delete(ctx, reference)
	if err != nil && registry.Unreachable(err) {
		d.stopped = fmt.Errorf("it was not tried: %w", err)
	}
	return err
}

// end reports what a deletion came to.
func (d *imageDeletion) end(i plan.PruneImage, err error) {
	if err != nil {
		d.fail(i, err)
		return
	}
	d.report(i, apply.ImageDeleted, "", nil)
}

func (d *imageDeletion) fail(i plan.PruneImage, err error) { d.report(i, apply.ImageFailed, "", err) }

func (d *imageDeletion) keep(i plan.PruneImage, why string) { d.report(i, apply.ImageKept, why, nil) }

// report says what became of a reference. What stays may keep others.
func (d *imageDeletion) report(i plan.PruneImage, outcome apply.ImageOutcome, why string, err error) {
	if outcome != apply.ImageDeleted {
		d.going = slices.DeleteFunc(d.going, func(g plan.PruneImage) bool { return g.Reference == i.Reference })
	}
	d.done = append(d.done, apply.ImageResult{
		Reference: i.Reference, Digest: i.Digest, Bytes: i.Bytes, Outcome: outcome, Reason: why, Err: err,
	})
}
