package differential

import (
	"slices"

	"github.com/zarf-host/zarf-host/host/image"
	"github.com/zarf-host/zarf-host/host/spec"
)

// Whole returns the definition of a package with everything that its components have where it is
// deployed: what a differential package leaves out of them is there already. Components that are left
// out whole are not in it. A package that does not say what it is in full is returned as it is.
func Whole(def spec.Package) spec.Package {
	if !def.Extension.IsWhole() {
		return def
	}
	def.Components = slices.Clone(def.Components)
	for i, c := range def.Components {
		full, ok := def.Extension.Component(c.Name)
		if !ok {
			continue
		}
		def.Components[i].Images = union(full.Images, c.Images)
		def.Components[i].Repos = union(full.Repos, c.Repos)
	}
	if def.Extension.IsBlobLevel() {
		// It is there so that Zarf does not deploy the package. What was deployed Zarf can remove.
		def.Build.VersionRequirements = slices.DeleteFunc(slices.Clone(def.Build.VersionRequirements),
			func(r spec.VersionRequirement) bool { return r.Version == spec.BlobLevelVersion })
	}
	return def
}

// union is the full list, and what a definition has beyond it, which cannot be in one of ours.
func union(full, carried []string) []string {
	out := slices.Clone(full)
	for _, s := range carried {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// LeftOut are the images that a component of a differential package has, and that the package does
// not carry: each with the digest of what must be in the registry, "" where that is not known. def is
// the definition as the package has it.
func LeftOut(def spec.Package, component string) map[image.Reference]string {
	if !def.Extension.IsWhole() {
		return nil
	}
	full, _ := def.Extension.Component(component)
	carried := map[image.Reference]bool{}
	if c, ok := def.Component(component); ok {
		for _, text := range c.AllImages() {
			if ref, err := image.Parse(text); err == nil {
				carried[ref] = true
			}
		}
	}
	out := map[image.Reference]string{}
	for _, text := range full.Images {
		ref, err := image.Parse(text)
		if err != nil || carried[ref] {
			continue
		}
		digest := ref.Digest
		if digest == "" {
			digest = def.Extension.Digests[ref.String()]
		}
		out[ref] = digest
	}
	return out
}

// Absent names the components that a differential package leaves out whole: the full definition has
// them, and whoever deploys it must have them already.
func Absent(def spec.Package) []string {
	if !def.Extension.IsWhole() {
		return slices.Clone(def.Build.DifferentialMissing)
	}
	var out []string
	for _, c := range def.Extension.Components {
		if _, ok := def.Component(c.Name); !ok {
			out = append(out, c.Name)
		}
	}
	return out
}

// Missing names the components that a differential package counts on, and that are not deployed.
func Missing(def spec.Package, deployed []string) []string {
	var out []string
	for _, name := range def.Build.DifferentialMissing {
		if !slices.Contains(deployed, name) {
			out = append(out, name)
		}
	}
	return out
}
