package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/differential"
	"github.com/zarf-host/zarf-host/host/image"
	"github.com/zarf-host/zarf-host/host/inventory"
	"github.com/zarf-host/zarf-host/host/registry"
	"github.com/zarf-host/zarf-host/host/source"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/state"
)

// clusterScheme marks a base that is a deployed package: cluster:NAME, or cluster:NAME/NAMESPACE for
// one that was deployed into a namespace of its own.
const clusterScheme = "cluster:"

// Level is how fine the difference of a differential package is.
type Level string

// The levels of a difference.
const (
	LevelImage Level = "image" // whole images: Zarf can deploy it
	LevelBlob  Level = "blob"  // also layers and configurations of images that are not the same
)

// ParseLevel reads the level of a difference.
func ParseLevel(text string) (Level, error) {
	switch l := Level(text); l {
	case LevelImage, LevelBlob:
		return l, nil
	}
	return "", fmt.Errorf("%q is no level of a difference: %s or %s", text, LevelImage, LevelBlob)
}

// baseReader reads what a package is to be the difference to.
type baseReader struct {
	open    OpenOptions
	cluster cluster.Options
	level   Level
	name    string            // of the new package
	images  []image.Reference // of the new package
}

// NoBlobsError says that a base does not tell of which blobs its images consist.
type NoBlobsError struct{ Base string }

func (e *NoBlobsError) Error() string {
	return fmt.Sprintf("the base, %s, does not say of which layers its images consist, which a difference at the level of blobs needs", e.Base)
}

// Hint says what to do about it.
func (e *NoBlobsError) Hint() string {
	return "take the package itself as base or an inventory, which `zarf-host inventory` writes; or leave the level out"
}

// read reads a base: a package as Open takes it, of one in a registry only what describes it; a
// deployed package, cluster:NAME; or the file of an inventory.
func (r baseReader) read(ctx context.Context, base string) (differential.Base, error) {
	var b differential.Base
	var err error
	name, deployed := strings.CutPrefix(base, clusterScheme)
	switch {
	case deployed:
		b, err = r.deployed(ctx, base, name)
	case isInventory(base):
		b, err = r.inventory(base)
	default:
		b, err = r.pkg(ctx, base)
	}
	if err != nil {
		return b, fmt.Errorf("reading the base %s: %w", source.Clean(base), err)
	}
	if r.level == LevelBlob && b.Blobs == nil {
		return b, &NoBlobsError{Base: b.What}
	}
	return b, nil
}

// pkg reads a package.
func (r baseReader) pkg(ctx context.Context, ref string) (differential.Base, error) {
	p, err := Open(ctx, ref, r.open)
	if err != nil {
		return differential.Base{}, err
	}
	defer func() { _ = p.Close() }() // only read from
	if integrity := p.Integrity(); !integrity.OK {
		return differential.Base{}, fmt.Errorf("it cannot be verified: %s", integrity.Reason)
	}
	content, err := registry.ReadContent(ctx, p.bundle)
	if err != nil {
		return differential.Base{}, err
	}
	def := p.Definition()
	b := differential.OfDefinition(baseName(p.Source()), p.Digest(), def, content.Digests())
	if r.level != LevelBlob {
		return b, nil
	}
	parts, err := content.Parts(ctx)
	if err != nil {
		return differential.Base{}, err
	}
	b.Blobs = map[string]spec.OmittedBlob{}
	if def.Extension != nil {
		for _, blob := range def.Extension.Blobs {
			b.Blobs[blob.Digest] = blob
		}
	}
	for _, part := range parts {
		if _, omitted := b.Blobs[part.Digest]; part.Carried || omitted {
			b.Blobs[part.Digest] = spec.OmittedBlob{Digest: part.Digest, Size: part.Size, In: part.Images}
		}
	}
	return b, nil
}

// baseName is what a package is called in one that is the difference to it: a path says where it was
// on one machine, which is nobody else's business.
func baseName(ref string) string {
	if strings.Contains(ref, "://") {
		return ref
	}
	return filepath.Base(ref)
}

// isInventory reports whether a base is the file of an inventory.
func isInventory(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || strings.HasSuffix(path, ".part000") {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // only read from
	head := make([]byte, 64)
	n, _ := io.ReadFull(f, head) // a shorter file is no package either
	return inventory.Is(head[:n])
}

func (r baseReader) inventory(path string) (differential.Base, error) {
	info, err := os.Stat(path)
	if err != nil {
		return differential.Base{}, err
	}
	if info.Size() > inventory.MaxBytes {
		return differential.Base{}, fmt.Errorf("it has %d bytes, an inventory may have %d", info.Size(), int64(inventory.MaxBytes))
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return differential.Base{}, err
	}
	i, err := inventory.Parse(data)
	if err != nil {
		return differential.Base{}, err
	}
	return i.Base(baseName(path), r.name, r.images)
}

// deployed reads the record of a deployed package. What its references meant is known of those that a
// deployment of ours pushed.
func (r baseReader) deployed(ctx context.Context, what, name string) (differential.Base, error) {
	name, namespace, _ := strings.Cut(name, "/")
	if name == "" {
		return differential.Base{}, errors.New("it names no package: cluster:NAME, or cluster:NAME/NAMESPACE")
	}
	conn, err := cluster.Connect(ctx, r.cluster)
	if err != nil {
		return differential.Base{}, err
	}
	record, err := conn.Records().Get(ctx, name, namespace)
	if err != nil {
		return differential.Base{}, err
	}
	if !record.Exists {
		return differential.Base{}, &NotDeployedError{Name: name, Namespace: namespace}
	}
	s, _, err := conn.State(ctx)
	if err != nil {
		return differential.Base{}, err
	}
	def := record.Package.Data
	if original := record.Own.Identity.OriginalName; original != "" {
		def.Metadata.Name = original
	}
	b := differential.OfDefinition(what, record.Package.Digest, def, pushedDigests(record.Record, s.RegistryInfo.Address))
	b.Components = deployedComponents(record.Package, b.Components)
	return b, nil
}

// pushedDigests are what the images of a record were when they were pushed, by their full references.
func pushedDigests(r state.Record, address string) map[string]string {
	pushed := map[string]string{}
	for _, p := range r.Own.Pushed {
		pushed[p.Reference] = p.Digest
	}
	out := map[string]string{}
	refs, err := image.OfComponents(r.Package.Data.Components...)
	if err != nil {
		return out // a record that names what cannot be read says nothing
	}
	for _, ref := range refs {
		if digest := pushed[image.Transform(address, ref).Pods]; digest != "" {
			out[ref.String()] = digest
		}
	}
	return out
}

// deployedComponents are those that the record says are deployed: a definition alone leaves nothing in
// a registry.
func deployedComponents(p state.Package, all []spec.FullComponent) []spec.FullComponent {
	var out []spec.FullComponent
	for _, c := range all {
		if has, ok := p.Component(c.Name); ok && has.Status == state.StatusSucceeded {
			out = append(out, c)
		}
	}
	return out
}
