package bundle

import (
	"strings"

	"github.com/zarf-host/zarf-host/host/spec"
)

// checkPathNames refuses a definition whose names would lead a path that is made of them somewhere
// else. The rule is Zarf's.
func checkPathNames(pkg *spec.Package) error {
	if err := checkPathName("metadata.name", pkg.Metadata.Name); err != nil {
		return err
	}
	for what, name := range map[string]string{
		"metadata.version":                 pkg.Metadata.Version,
		"build.flavor":                     pkg.Build.Flavor,
		"build.differentialPackageVersion": pkg.Build.DifferentialPackageVersion,
		"build.architecture":               pkg.Build.Architecture,
	} {
		if err := checkPathName(what, name); err != nil {
			return err
		}
	}
	for _, c := range pkg.Components {
		if err := checkPathName("component name", c.Name); err != nil {
			return err
		}
		for _, chart := range c.Charts {
			if err := checkPathName("chart name", chart.Name); err != nil {
				return err
			}
		}
		for _, m := range c.Manifests {
			if err := checkPathName("manifest name", m.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkPathName(what, name string) error {
	if name == ".." || strings.ContainsAny(name, "/\\\x00") {
		return refuse(DefinitionPath, "%s %q may not be used in a path", what, name)
	}
	return nil
}
