package bundle

import (
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/spec"
)

// FileName is the name of the archive of a built package: Zarf's, but for a differential package,
// whose name has the new version before that of its base.
func FileName(pkg *spec.Package) string {
	parts := []string{"zarf-package", pkg.Metadata.Name, pkg.Build.Architecture, FullVersion(pkg), pkg.Build.Flavor}
	if pkg.IsInit() {
		parts = []string{"zarf-init", pkg.Build.Architecture, FullVersion(pkg), pkg.Build.Flavor}
	}
	name := strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "-")
	if pkg.Metadata.Uncompressed {
		return name + ".tar"
	}
	return name + ".tar.zst"
}

// FullVersion is a package's version, with that of its base if it is a differential one.
func FullVersion(pkg *spec.Package) string {
	if pkg.Build.Differential {
		return pkg.Metadata.Version + "-differential-" + pkg.Build.DifferentialPackageVersion
	}
	return pkg.Metadata.Version
}
