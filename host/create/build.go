package create

import (
	"strings"
	"time"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/definition"
	"github.com/zarf-host/zarf-host/host/image"
	"github.com/zarf-host/zarf-host/host/spec"
)

// Stamp is what a package records of who made it and when.
type Stamp struct {
	// Time is when it was built; its digest depends on that.
	Time time.Time
	// Version is that of the program.
	Version string
	// Terminal and User name machine and user, if that is wanted.
	Terminal, User string
}

// Finish makes the package of what was assembled: it completes the definition, and adds it and the
// checksums to the files. edit, which may be nil, changes the definition before it is written.
func (r *Resolved) Finish(files []bundle.Content, s Stamp, edit func(*spec.Package)) (spec.Package, []bundle.Content, error) {
	pkg := r.Definition()
	for i := range pkg.Components {
		// Scripts became actions when they were read; a definition that says so carries both.
		pkg.Components[i].Import = spec.Import{}
	}
	checksums := bundle.Checksums(files)
	pkg.Metadata.AggregateChecksum = bundle.AggregateChecksum(checksums)
	signed := false
	pkg.Build = spec.Build{
		Terminal: s.Terminal, User: s.User,
		Architecture: pkg.Metadata.Architecture,
		Timestamp:    s.Time.Format(time.RFC1123Z),
		Version:      s.Version,
		Migrations:   pkg.Build.Migrations,
		Flavor:       r.options.Flavor,
		Signed:       &signed,

		VersionRequirements: r.requirements(&pkg),
		ProvenanceFiles:     []string{bundle.ChecksumsPath},
	}
	for _, o := range r.options.RegistryOverrides {
		if pkg.Build.RegistryOverrides == nil {
			pkg.Build.RegistryOverrides = map[string]string{}
		}
		pkg.Build.RegistryOverrides[o.Source] = o.Override
	}
	if edit != nil {
		edit(&pkg)
	}
	raw, err := definition.Marshal(&pkg)
	if err != nil {
		return pkg, nil, err
	}
	files = append(files[:len(files):len(files)],
		bundle.NewContent(bundle.ChecksumsPath, checksums), bundle.NewContent(bundle.DefinitionPath, raw))
	return pkg, files, nil
}

// requirements are the oldest versions of Zarf that understand what the package uses.
func (r *Resolved) requirements(pkg *spec.Package) []spec.VersionRequirement {
	var versionless, archives, templated, platforms bool
	for _, c := range pkg.Components {
		archives = archives || len(c.ImageArchives) > 0
		for _, chart := range c.Charts {
			versionless = versionless || chart.Version == ""
			templated = templated || len(chart.TemplatedValuesFiles) > 0
		}
	}
	for _, img := range r.Images {
		platforms = platforms || image.IsIndex(img.Manifest)
	}
	var out []spec.VersionRequirement
	need := func(used bool, version, what string) {
		if used {
			out = append(out, spec.VersionRequirement{Version: version, Reason: strings.Join([]string{
				"This package contains", what, "which will only be recognized on", version + "+"}, " ")})
		}
	}
	need(versionless, "v0.65.0", "charts without a version")
	need(archives, "v0.68.0", "image archives")
	need(platforms, "v0.77.0", "images for several platforms")
	need(templated, "v0.78.0", "templated values files")
	return out
}
