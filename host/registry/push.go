package registry

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/zarf-host/zarf-host/host/image"
	"oras.land/oras-go/v2/errdef"
)

// PushOptions say what is pushed.
type PushOptions struct {
	// Images are pushed from Content to where image.Transform puts them.
	Images  []image.Reference
	Content *Content
	// Elsewhere are repositories, as paths below the registry's address, that are said to have blobs
	// which Content does not have, by their digests.
	Elsewhere map[string][]string
	// NoChecksum leaves out the tag that pods use.
	NoChecksum bool
	// Concurrency is how many requests are under way at once. Default 6.
	Concurrency int
}

// PushResult says what a push did.
type PushResult struct {
	Images        []PushedImage // in the order of the options
	UploadedBlobs int
	UploadedBytes int64 // of blobs, as the registry confirmed them
	MountedBlobs  int
}

// PushedImage is an image that the registry has.
type PushedImage struct {
	Image    image.Reference
	Targets  []string // the references under which the registry has it
	Digest   string
	Identity bool // the registry may have had it before any deployment: see image.Targets
	Present  bool // nothing had to be pushed
}

// Push makes the registry have images, with all that they consist of, under all their references. It
// asks first, and sends what is missing. A client remembers what it pushed: within one run no blob is
// asked for or sent twice. After a failure what the registry has confirmed is not sent again.
func (c *Client) Push(ctx context.Context, opts PushOptions) (PushResult, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	opts.Concurrency = cmp.Or(max(0, opts.Concurrency), 6)
	p := &push{Client: c, opts: opts}
	for _, ref := range opts.Images {
		j, err := p.job(ref)
		if err != nil {
			return PushResult{}, &PushError{Image: ref.String(), Err: err}
		}
		p.jobs = append(p.jobs, j)
	}
	p.settle()
	err := c.try(ctx, p.achieved, p.attempt)
	if err != nil {
		err = fmt.Errorf("pushing images to the registry at %s: %w", c.opts.Address, err)
	}
	for _, j := range p.jobs {
		if j.complete(&c.known) {
			p.result.Images = append(p.result.Images, PushedImage{
				Image: j.ref, Targets: j.targets, Digest: j.root.Digest.String(), Identity: j.identity, Present: !j.pushed,
			})
		}
	}
	return p.result, err
}

// push is one call of Push.
type push struct {
	*Client
	opts PushOptions
	jobs []*job

	count    sync.Mutex
	steps    int // what the registry confirmed
	progress progress
	result   PushResult
}

// job is an image to push.
type job struct {
	ref        image.Reference
	root       ocispec.Descriptor
	repository string
	targets    []string
	names      []string // the tags or digests of the targets
	identity   bool
	pushed     bool
	tree       *tree
}

func (p *push) job(ref image.Reference) (*job, error) {
	root, err := p.opts.Content.Find(ref)
	if err != nil {
		return nil, err
	}
	targets := image.Transform(p.Client.opts.Address, ref)
	j := &job{ref: ref, root: root, targets: targets.All(), identity: targets.Identity}
	if p.opts.NoChecksum {
		j.targets = []string{targets.Plain}
	}
	for _, target := range j.targets {
		where, err := p.locate(target)
		if err != nil {
			return nil, err
		}
		j.repository = where.Repository
		j.names = append(j.names, where.Reference)
	}
	return j, nil
}

// settle gives a target that several images claim, which differ in their hosts alone, to the last of
// them. Pods do not use it.
func (p *push) settle() {
	claimed := map[string]digest.Digest{}
	for _, j := range slices.Backward(p.jobs) {
		for i := len(j.targets) - 1; i >= 0; i-- {
			target := j.targets[i]
			if d, ok := claimed[target]; ok && d != j.root.Digest {
				j.targets, j.names = slices.Delete(j.targets, i, i+1), slices.Delete(j.names, i, i+1)
				continue
			}
			claimed[target] = j.root.Digest
		}
	}
}

// complete tells whether the registry has confirmed all targets.
func (j *job) complete(k *known) bool {
	return !slices.ContainsFunc(j.targets, func(t string) bool { return !k.has(t, j.root.Digest) })
}

// begun tells whether the registry has the image under one of its targets, and so all its blobs.
func (j *job) begun(k *known) bool {
	return slices.ContainsFunc(j.targets, func(t string) bool { return k.has(t, j.root.Digest) })
}

func (p *push) achieved() int {
	p.count.Lock()
	defer p.count.Unlock()
	return p.steps
}

func (p *push) attempt(ctx context.Context, s *session) error {
	if err := p.ask(ctx, s); err != nil {
		return err
	}
	var open []*job
	var roots []ocispec.Descriptor
	for _, j := range p.jobs {
		if !j.complete(&p.known) {
			open = append(open, j)
			roots = append(roots, j.root)
		}
	}
	if len(open) == 0 {
		return nil
	}
	if err := p.opts.Content.load(ctx, roots...); err != nil {
		return &sourceError{nameImage(err, open)}
	}
	for _, j := range open {
		j.tree = p.opts.Content.trees[j.root.Digest]
	}
	if err := p.blobs(ctx, s, open); err != nil {
		return err
	}
	return each(ctx, p.opts.Concurrency, byRepository(open), func(ctx context.Context, jobs []*job) error {
		for _, j := range jobs {
			if err := p.manifests(ctx, s, j); err != nil {
				return &PushError{Image: j.ref.String(), Err: err}
			}
		}
		return nil
	})
}

// byRepository groups jobs: those of one repository follow each other, so that a manifest that they
// share is sent once.
func byRepository(jobs []*job) (groups [][]*job) {
	at := map[string]int{}
	for _, j := range jobs {
		i, ok := at[j.repository]
		if !ok {
			i = len(groups)
			at[j.repository] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], j)
	}
	return groups
}

// nameImage says which image an error of the content is about.
func nameImage(err error, jobs []*job) error {
	var content *contentError
	if !errors.As(err, &content) {
		return err
	}
	i := slices.IndexFunc(jobs, func(j *job) bool { return j.root.Digest == content.root })
	return &PushError{Image: jobs[i].ref.String(), Err: err}
}

// ask finds out which targets the registry has already.
func (p *push) ask(ctx context.Context, s *session) error {
	type question struct {
		*job
		i int
	}
	var questions []question
	asked := map[string]bool{}
	for _, j := range p.jobs {
		for i, target := range j.targets {
			if !asked[target] && !p.known.has(target, j.root.Digest) {
				asked[target] = true
				questions = append(questions, question{j, i})
			}
		}
	}
	return each(ctx, p.opts.Concurrency, questions, func(ctx context.Context, q question) error {
		d, err := s.resolve(ctx, q.repository, q.names[q.i])
		switch {
		case errors.Is(err, errdef.ErrNotFound):
			return nil
		case err != nil:
			return &PushError{Image: q.ref.String(), Err: fmt.Errorf("asking for %q: %w", q.targets[q.i], err)}
		}
		p.known.tagged(q.targets[q.i], d)
		return nil
	})
}

// resolve asks for the digest that a repository has under a tag or digest.
func (s *session) resolve(ctx context.Context, repository, name string) (digest.Digest, error) {
	ctx, cancel := s.client.limited(ctx)
	defer cancel()
	d, err := s.repository(repository).Manifests().Resolve(ctx, name)
	return d.Digest, s.client.explain(ctx, err)
}

// manifests pushes the manifests of an image whose blobs are there: those that an index names by
// digest, then the image's own under each target that lacks it.
func (p *push) manifests(ctx context.Context, s *session, j *job) error {
	for _, d := range j.tree.manifests {
		if d.Digest == j.root.Digest || p.known.in(d.Digest, j.repository) || j.begun(&p.known) {
			continue
		}
		if err := p.manifest(ctx, s, j, d, d.Digest.String()); err != nil {
			return fmt.Errorf("manifest %s of its index: %w", d.Digest, err)
		}
		p.known.placed(d.Digest, j.repository)
	}
	for i, target := range j.targets {
		if p.known.has(target, j.root.Digest) {
			continue
		}
		if err := p.manifest(ctx, s, j, j.root, j.names[i]); err != nil {
			return fmt.Errorf("manifest for %q: %w", target, err)
		}
		p.known.tagged(target, j.root.Digest)
		j.pushed = true
	}
	return nil
}

func (p *push) manifest(ctx context.Context, s *session, j *job, d ocispec.Descriptor, name string) error {
	ctx, cancel := s.client.limited(ctx)
	defer cancel()
	data := p.opts.Content.kept[d.Digest]
	err := s.repository(j.repository).Manifests().PushReference(ctx, d, bytes.NewReader(data), name)
	if err != nil {
		return s.client.explain(ctx, err)
	}
	p.achieve(func() {})
	return nil
}

// achieve counts something that the registry confirmed, together with what it means.
func (p *push) achieve(note func()) {
	p.count.Lock()
	defer p.count.Unlock()
	p.steps++
	note()
}
