package chart

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
)

// store is Helm's storage of releases as an operation may use it: it tries again what is worth
// it, writes nothing once the operation is over, fills hooks before they are stored, and remembers
// what Helm only logs when it cannot write it.
type store struct {
	driver.Driver
	ctx         context.Context // of the operation; Helm's interface has none
	deadline    time.Time
	fillHook    func(string) (string, error)
	beforePurge func() error // called once before the first revision is deleted

	mu      sync.Mutex
	created map[string]bool
	failed  map[string]error // the last write of a revision, if it failed
	purge   sync.Once
	purgeOK error
}

func newStore(ctx context.Context, d driver.Driver, deadline time.Time) *store {
	return &store{Driver: d, ctx: ctx, deadline: deadline, created: map[string]bool{}, failed: map[string]error{}}
}

// Create stores a new revision.
func (s *store) Create(key string, rel *release.Release) error {
	if s.fillHook != nil {
		for _, h := range rel.Hooks {
			filled, err := s.fillHook(h.Manifest)
			if err != nil {
				return fmt.Errorf("filling the variables of hook %s: %w", h.Path, err)
			}
			h.Manifest = filled
		}
	}
	tried := false
	err := retry(s.ctx, s.deadline, func() error {
		err := s.Driver.Create(key, rel)
		if tried && errors.Is(err, driver.ErrReleaseExists) {
			return nil // the first try came through, its answer did not
		}
		tried = true
		return err
	})
	s.note(key, err)
	if err == nil {
		s.mu.Lock()
		s.created[key] = true
		s.mu.Unlock()
	}
	return err
}

// Update stores a changed revision.
func (s *store) Update(key string, rel *release.Release) error {
	err := retry(s.ctx, s.deadline, func() error { return s.Driver.Update(key, rel) })
	s.note(key, err)
	return err
}

// Delete deletes a revision.
func (s *store) Delete(key string) (*release.Release, error) {
	if s.beforePurge != nil {
		s.purge.Do(func() { s.purgeOK = s.beforePurge() })
		if s.purgeOK != nil {
			return nil, s.purgeOK
		}
	}
	var rel *release.Release
	tried := false
	err := retry(s.ctx, s.deadline, func() (err error) {
		rel, err = s.Driver.Delete(key)
		if tried && errors.Is(err, driver.ErrReleaseNotFound) {
			return nil // the first try came through, its answer did not
		}
		tried = true
		return err
	})
	return rel, err
}

// Query finds revisions.
func (s *store) Query(labels map[string]string) ([]*release.Release, error) {
	var found []*release.Release
	err := retry(s.ctx, s.deadline, func() (err error) {
		found, err = s.Driver.Query(labels)
		return err
	})
	return found, err
}

func (s *store) note(key string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.failed[key] = err
	} else {
		delete(s.failed, key)
	}
}

// unwritten returns why the last write of a revision failed, if it did.
func (s *store) unwritten(r int, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed[storageKey(name, r)]
}

// wasCreated reports whether a revision was created in this operation.
func (s *store) wasCreated(r int, name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.created[storageKey(name, r)]
}

// storageKey is the name that Helm gives the Secret of a revision.
func storageKey(name string, revision int) string {
	return fmt.Sprintf("sh.helm.release.v1.%s.v%d", name, revision)
}
