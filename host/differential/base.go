package differential

import (
	"cmp"
	"maps"

	"github.com/zarf-host/zarf-host/host/image"
	"github.com/zarf-host/zarf-host/host/spec"
)

// Base is what a differential package is the difference to, in full: also what it, being a difference
// itself, does not have but was deployed over.
type Base struct {
	// What is how people call it, such as the path of its archive, without credentials.
	What         string
	Name         string
	Version      string
	Architecture string
	Flavor       string
	APIVersion   string
	Digest       string // that Zarf gives the package; "" where there is none
	// Components are those of its full definition, in their order.
	Components []spec.FullComponent
	// Present are images, in full, that are where the base was deployed although none of its components
	// has them.
	Present []string
	// Imports say where components were imported from, as far as that is known.
	Imports map[string]spec.ImportOrigin
	// Digests are what references meant: of images in full, and of git repositories.
	Digests map[string]string
	// Blobs are the layers and configurations that are where the base was deployed, by digest. Nil if
	// they are not known.
	Blobs map[string]spec.OmittedBlob
}

// OfDefinition returns the base that a package is by its definition. index has the digests of the
// images that it carries, by their full references. A differential package that Zarf made does not
// say what it is in full: only what it carries is known to be in the base.
func OfDefinition(what, digest string, def spec.Package, index map[string]string) Base {
	b := Base{
		What: what, Digest: digest, Name: def.Metadata.Name, Version: def.Metadata.Version,
		Architecture: cmp.Or(def.Build.Architecture, def.Metadata.Architecture), Flavor: def.Build.Flavor,
		APIVersion: def.APIVersion, Components: fullComponents(def), Digests: map[string]string{},
	}
	if def.Extension.IsWhole() {
		b.Components = def.Extension.Components
	}
	if def.Extension != nil {
		b.Imports = def.Extension.Imports
		maps.Copy(b.Digests, def.Extension.Digests)
	}
	// What it carries counts for more than what it says.
	maps.Copy(b.Digests, index)
	return b
}

// fullComponents lists what components of a definition have.
func fullComponents(def spec.Package) []spec.FullComponent {
	var out []spec.FullComponent
	for _, c := range def.Components {
		full := spec.FullComponent{Name: c.Name, Required: c.IsRequired(), Images: c.Images, Repos: c.Repos}
		for _, a := range c.ImageArchives {
			full.Archived = append(full.Archived, a.Images...)
		}
		out = append(out, full)
	}
	return out
}

// has are the references of a base, in one form.
type has struct {
	images, repos map[string]bool
}

// references collects what the base has. What cannot be read there is not in it.
func (b Base) references() has {
	h := has{images: map[string]bool{}, repos: map[string]bool{}}
	for _, c := range b.Components {
		for _, list := range [][]string{c.Images, c.Archived} {
			for _, text := range list {
				if ref, err := image.Parse(text); err == nil {
					h.images[ref.String()] = true
				}
			}
		}
		for _, text := range c.Repos {
			h.repos[ParseRepo(text).String()] = true
		}
	}
	for _, name := range b.Present {
		h.images[name] = true
	}
	return h
}
