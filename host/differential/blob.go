package differential

import (
	"maps"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/spec"
)

// Blob is a layer or a configuration that images of the new package consist of.
type Blob struct {
	Digest string
	Size   int64
}

// OmitBlobs leaves out of a differential package, which Omit made, also the blobs of its images that
// the base has. It returns the definition, which Zarf refuses from then on, and the digests of what the
// package must not carry. Without any the definition is returned as it is.
func OmitBlobs(def spec.Package, blobs []Blob, base Base) (spec.Package, []string) {
	gone := leftOutImages(def)
	e := *def.Extension
	e.Blobs = nil
	var omit []string
	listed := map[string]bool{}
	add := func(b spec.OmittedBlob) {
		if listed[b.Digest] {
			return
		}
		listed[b.Digest] = true
		b.In = places(b.In, gone)
		e.Blobs = append(e.Blobs, b)
	}
	for _, b := range blobs {
		if has, ok := base.Blobs[b.Digest]; ok && has.Size == b.Size {
			if !slices.Contains(omit, b.Digest) {
				omit = append(omit, b.Digest)
			}
			add(has)
		}
	}
	if len(omit) == 0 {
		return def, nil
	}
	// What the next difference has to know: of what those images consist that are left out whole.
	for _, digest := range slices.Sorted(maps.Keys(base.Blobs)) {
		if has := base.Blobs[digest]; slices.ContainsFunc(has.In, func(ref string) bool { return gone[ref] }) {
			add(has)
		}
	}
	slices.Sort(omit)
	slices.SortFunc(e.Blobs, func(a, b spec.OmittedBlob) int { return strings.Compare(a.Digest, b.Digest) })
	def.Extension = &e
	def.Build.VersionRequirements = append(slices.Clone(def.Build.VersionRequirements), spec.VersionRequirement{
		Version: spec.BlobLevelVersion,
		Reason:  "This package leaves out layers of its images that its base has, which no version of Zarf can deploy: deploy it with zarf-host",
	})
	return def, omit
}

// leftOutImages are the images, in full, of the full definition that its package does not carry.
func leftOutImages(def spec.Package) map[string]bool {
	out := map[string]bool{}
	for _, c := range def.Extension.Components {
		for ref := range LeftOut(def, c.Name) {
			out[ref.String()] = true
		}
	}
	return out
}

// places shortens the images that have a blob to those of the full definition, or else to one.
func places(images []string, gone map[string]bool) []string {
	var out []string
	for _, ref := range images {
		if gone[ref] {
			out = append(out, ref)
		}
	}
	if len(out) == 0 && len(images) > 0 {
		out = images[:1]
	}
	return out
}
