package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/image"
	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/state"
)

// PruneImage is a reference that would be deleted from the cluster's registry.
type PruneImage struct {
	Reference string `json:"reference"`
	// Digest and Bytes are what the registry has under the reference, or what was pushed where the
	// registry could not tell. Bytes are those of all that the image consists of.
	Digest string      `json:"digest,omitempty"`
	Bytes  int64       `json:"bytes"`
	Reason PruneReason `json:"reason"`
	// Version is that of the package that used it last, Components are the recorded ones that have it.
	Version    string   `json:"version,omitempty"`
	Components []string `json:"components,omitempty"`
	Missing    bool     `json:"missing,omitempty"` // pushed, but the registry does not have it any more

	name   string // what it is compared by
	pushed string // the digest that was pushed; empty where that is not on record
	listed bool   // our own record says that it was pushed
}

// Repository is the path that the reference has in the registry, with the registry.
func (i PruneImage) Repository() string { return repositoryOf(i.Reference) }

// ByDigest reports whether the reference has no tag, so that all of the image would go with it.
func (i PruneImage) ByDigest() bool { return strings.Contains(i.Reference, "@") }

// ImageFacts are what is known beyond the package of references that nothing in it needs any more.
type ImageFacts struct {
	// Registry is the address of the cluster's registry; empty where it has none.
	Registry string
	// Neighbours are the other deployed packages.
	Neighbours []Neighbour
	// Pods are the images of pods that run, or are about to.
	Pods []PodImage
	// Has is what the registry has under each reference; one that is missing could not be told.
	Has map[string]RegistryImage
	// Repositories are those of the references by digest, and may be of others.
	Repositories map[string]Repository
}

// PodImage is an image that a pod runs.
type PodImage struct {
	Reference string
	Namespace string // the pod's
	// Release is the Helm release that the pod belongs to, zero where there is none.
	Release object.Release
}

// RegistryImage is what a registry has under a reference; its Digest is empty where it has nothing.
type RegistryImage struct {
	Digest string
	Bytes  int64
}

// Repository is what a repository of the registry has, as far as the registry tells: manifests
// without a tag are only known by who names them.
type Repository struct {
	Tags    map[string]string   // tag → digest
	Indexes map[string][]string // digest of an index → digests of all manifests below it
}

// Neighbour is another deployed package, as far as its images go.
type Neighbour struct {
	Name, Namespace, Version string
	uses                     map[string]bool
	// may has what was pushed for the package where its record does not tell all that it uses, why
	// says so.
	may map[string]bool
	why string
}

// NewNeighbour reads a record for the references in the registry that its package uses. One that
// cannot be read is an error: nobody knows then what is safe to delete.
func NewNeighbour(r state.Record, address string) (Neighbour, error) {
	p := r.Package
	n := Neighbour{
		Name: p.Name, Namespace: p.NamespaceOverride, Version: p.Data.Metadata.Version,
		uses: map[string]bool{}, may: map[string]bool{},
	}
	if r.Own.MadeUp && p.Connectivity != state.Connected {
		return n, &MadeUpError{Package: n.String()}
	}
	for _, c := range p.Data.Components {
		found, err := targetsOf(c, address)
		if err != nil {
			return n, fmt.Errorf("reading the record of %s: %w", n, err)
		}
		for _, t := range found {
			n.uses[imageName(t.reference)] = true
		}
	}
	latest, events := p.LatestEvent()
	switch {
	case slices.ContainsFunc(p.DeployedComponents, unsettled), events && latest.Outcome != state.Succeeded:
		n.why = "whose last operation did not succeed, may still run what was pushed for it"
	case slices.ContainsFunc(p.DeployedComponents, func(c state.Component) bool { return hasOrphans(p, c) }):
		n.why = "of which a release is not in the package any more, may still run what was pushed for it"
	case slices.ContainsFunc(r.Own.Kept, func(k state.KeptObject) bool { return runsImages(k.Ref) }):
		n.why = "of which an earlier operation kept a workload, may still run what was pushed for it"
	case !events && p.Data.Build.Differential:
		n.why = "which Zarf deployed from a differential package, may use what was pushed for its base"
	default:
		return n, nil
	}
	for _, i := range r.Own.Pushed {
		n.may[imageName(i.Reference)] = true
	}
	return n, nil
}

// hasOrphans reports whether a component has more releases than its recorded definition installs.
func hasOrphans(p state.Package, has state.Component) bool {
	definition, _ := p.Definition(has.Name)
	return len(has.InstalledCharts) > len(definition.Charts)+len(definition.Manifests)
}

// MadeUpError says that a record was rebuilt without its package, so that nobody knows which images the
// package needs.
type MadeUpError struct{ Package string }

func (e *MadeUpError) Error() string {
	return fmt.Sprintf("the record of %s was made up of its releases, and does not tell which images it needs", e.Package)
}

// Hint says what to do about it.
func (e *MadeUpError) Hint() string {
	return "deploy that package again, or delete its record and make it up with state rebuild --from PACKAGE, and its images are known"
}

// String names the package for people.
func (n Neighbour) String() string {
	s := fmt.Sprintf("package %q", n.Name)
	if n.Version != "" {
		s += " " + n.Version
	}
	if n.Namespace != "" {
		s += fmt.Sprintf(" in namespace %q", n.Namespace)
	}
	return s
}

// DigestsIn returns the digests by which the package names images of a repository.
func (n Neighbour) DigestsIn(repository string) []string {
	var out []string
	for _, names := range []map[string]bool{n.uses, n.may} {
		for name := range names {
			if digest, ok := strings.CutPrefix(name, repository+"@"); ok {
				out = append(out, digest)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// target is where an image of a component is in the registry.
type target struct {
	reference string
	identity  bool // its host is the registry: somebody else may have put it there
}

// targetsOf returns the references that a component's images have in the registry.
func targetsOf(c spec.Component, address string) ([]target, error) {
	if address == "" {
		return nil, nil // there is no registry that could have them
	}
	refs, err := image.OfComponents(c)
	if err != nil {
		return nil, err
	}
	var out []target
	for _, ref := range refs {
		t := image.Transform(address, ref)
		for _, reference := range t.All() {
			out = append(out, target{reference, t.Identity})
		}
	}
	return out, nil
}

// Pushed returns what earlier deployments wrote to the registry and the record does not list yet:
// Zarf keeps no list, so that what it pushed would be forgotten with the definition that names it.
func Pushed(p state.Package, own state.Own, address string) []state.PushedImage {
	if p.Connectivity == state.Connected || address == "" {
		return nil
	}
	known := map[string]bool{}
	for _, i := range own.Pushed {
		known[imageName(i.Reference)] = true
	}
	var out []state.PushedImage
	for _, has := range p.DeployedComponents {
		c, _ := p.Definition(has.Name)
		found, err := targetsOf(c, address)
		if err != nil {
			continue // what cannot be read was not pushed under any name that could be deleted
		}
		for _, t := range found {
			if name := imageName(t.reference); !t.identity && !known[name] {
				known[name] = true
				out = append(out, state.PushedImage{Reference: t.reference, Version: p.Data.Metadata.Version})
			}
		}
	}
	return out
}

// imageName is what references are compared by: the repository, and the digest or else the tag.
func imageName(reference string) string {
	ref, err := image.Parse(reference)
	switch {
	case err != nil:
		return reference
	case ref.Digest != "":
		return ref.Name() + "@" + ref.Digest
	default:
		return ref.Name() + ":" + ref.Tag
	}
}

// repositoryOf returns a reference without its tag or digest, of which it has one.
func repositoryOf(reference string) string {
	if repository, _, ok := strings.Cut(reference, "@"); ok {
		return repository
	}
	return reference[:max(0, strings.LastIndexByte(reference, ':'))]
}
