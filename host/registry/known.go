package registry

import (
	"maps"
	"slices"
	"sync"

	"github.com/opencontainers/go-digest"
)

// known is what the registry has confirmed in this run.
type known struct {
	mu    sync.Mutex
	tags  map[string]digest.Digest          // by target
	blobs map[digest.Digest]map[string]bool // the repositories that have a blob, or manifest
}

func (k *known) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tags, k.blobs = map[string]digest.Digest{}, map[digest.Digest]map[string]bool{}
}

func (k *known) tagged(target string, d digest.Digest) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tags[target] = d
}

func (k *known) has(target string, d digest.Digest) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.tags[target] == d
}

func (k *known) placed(d digest.Digest, repository string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.blobs[d] == nil {
		k.blobs[d] = map[string]bool{}
	}
	k.blobs[d][repository] = true
}

// in tells whether a repository has a blob.
func (k *known) in(d digest.Digest, repository string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.blobs[d][repository]
}

// elsewhere is a repository that has a blob, always the same one; "" if none has.
func (k *known) elsewhere(d digest.Digest) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.blobs[d]) == 0 {
		return ""
	}
	return slices.Min(slices.Collect(maps.Keys(k.blobs[d])))
}
