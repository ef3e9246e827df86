package inventory

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/differential"
	"github.com/zarf-host/zarf-host/host/image"
	"github.com/zarf-host/zarf-host/host/spec"
)

// NoPackageError says that no package of a name is deployed where the inventory was taken.
type NoPackageError struct {
	Name      string
	Available []string
}

func (e *NoPackageError) Error() string {
	if len(e.Available) == 0 {
		return fmt.Sprintf("the inventory has no package %q: nothing was deployed", e.Name)
	}
	return fmt.Sprintf("the inventory has no package %q, only %s", e.Name, strings.Join(e.Available, ", "))
}

// Hint says what to do about it.
func (e *NoPackageError) Hint() string {
	return "a differential package is the difference to a version that is deployed: create the whole one"
}

// VersionsError says that a package is deployed in several versions, in namespaces of their own.
type VersionsError struct {
	Name     string
	Versions []string
}

func (e *VersionsError) Error() string {
	return fmt.Sprintf("the inventory has package %q in several versions: %s", e.Name, strings.Join(e.Versions, ", "))
}

// Hint says what to do about it.
func (e *VersionsError) Hint() string { return "bring them to one version, or take an archive as base" }

// Base returns the base that a package has in the inventory, for a new version of which refs are the
// images: each that the registry has is in the base, whichever package brought it. Errors are
// *NoPackageError and *VersionsError.
func (i Inventory) Base(what, name string, refs []image.Reference) (differential.Base, error) {
	found, err := i.find(name)
	if err != nil {
		return differential.Base{}, err
	}
	b := differential.Base{
		What: what, Name: name, Version: found.Version, Architecture: found.Architecture, Flavor: found.Flavor,
		APIVersion: found.APIVersion, Digest: found.Digest, Components: found.Components,
		Digests: map[string]string{}, Blobs: map[string]spec.OmittedBlob{},
	}
	for _, c := range found.Components {
		for _, text := range slices.Concat(c.Images, c.Archived) {
			if ref, err := image.Parse(text); err == nil {
				refs = append(refs, ref)
			}
		}
	}
	held := holder{registry: i.Registry, repositories: map[string]Repository{}, blobs: b.Blobs}
	for _, r := range i.Repositories {
		held.repositories[r.Path] = r
	}
	for _, ref := range refs {
		if digest := held.image(ref); digest != "" {
			b.Digests[ref.String()] = digest
			b.Present = append(b.Present, ref.String())
		}
	}
	held.rest(i.Repositories)
	return b, nil
}

// find returns the deployed package of a name. In several namespaces it is one package, as long as it
// is of one version.
func (i Inventory) find(name string) (Package, error) {
	var found []Package
	var names, versions []string
	for _, p := range i.Packages {
		names = append(names, p.Name)
		if p.Name == name {
			found = append(found, p)
			versions = append(versions, fmt.Sprintf("%q", p.Version))
		}
	}
	slices.Sort(names)
	slices.Sort(versions)
	versions = slices.Compact(versions)
	switch {
	case len(found) == 0:
		return Package{}, &NoPackageError{Name: name, Available: slices.Compact(names)}
	case len(versions) > 1:
		return Package{}, &VersionsError{Name: name, Versions: versions}
	}
	return found[0], nil
}

// holder collects what a registry has.
type holder struct {
	registry     string
	repositories map[string]Repository
	blobs        map[string]spec.OmittedBlob
}

// image returns the digest of an image that the registry has where deployments put it, with all of its
// blobs; "" where it has none.
func (h holder) image(ref image.Reference) string {
	name, tag, digest := split(image.Transform(h.registry, ref).Pods)
	host, _, _ := strings.Cut(h.registry, "/")
	r, ok := h.repositories[strings.TrimPrefix(name, host+"/")]
	if !ok {
		return ""
	}
	if digest == "" {
		digest = r.Tags[tag]
	}
	for _, img := range r.Images {
		if img.Digest == digest {
			h.hold(img.Blobs, ref.String())
			return digest
		}
	}
	return ""
}

// rest adds the blobs of images that no definition names, under the names that they have in the
// registry.
func (h holder) rest(repositories []Repository) {
	host, _, _ := strings.Cut(h.registry, "/")
	for _, r := range repositories {
		for _, img := range r.Images {
			for _, b := range img.Blobs {
				if _, known := h.blobs[b.Digest]; !known {
					h.hold([]Blob{b}, host+"/"+r.Path+"@"+img.Digest)
				}
			}
		}
	}
}

func (h holder) hold(blobs []Blob, in string) {
	for _, b := range blobs {
		has := h.blobs[b.Digest]
		has.Digest, has.Size = b.Digest, b.Size
		if !slices.Contains(has.In, in) {
			has.In = append(has.In, in)
		}
		h.blobs[b.Digest] = has
	}
}

// split takes a reference of the registry apart.
func split(reference string) (name, tag, digest string) {
	if name, digest, ok := strings.Cut(reference, "@"); ok {
		return name, "", digest
	}
	colon := strings.LastIndexByte(reference, ':')
	return reference[:max(colon, 0)], reference[colon+1:], ""
}
