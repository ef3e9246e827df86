package host

import (
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/zarf-host/zarf-host/host/action"
	"github.com/zarf-host/zarf-host/host/spec"
)

// maxNameLength is the most characters that a package's name may have: it is the value of a label.
const maxNameLength = 63

// preflight refuses by name what cannot work, before a cluster is even looked at.
func (d *deployment) preflight() error {
	problems := append(definitionProblems(d.definition), releaseProblems(d.wanted)...)
	for _, c := range d.selected {
		problems = append(problems, d.unsupported(c)...)
		if err := action.Preflight(c, "onDeploy", c.Actions.OnDeploy); err != nil {
			problems = append(problems, err.Error())
		}
		problems = append(problems, d.valueProblems(c, d.needsCluster())...)
	}
	return preflightError(problems)
}

// preflightValues refuses templates that refer to what nobody gives, once it is known how the cluster
// was initialised: until then, nobody can tell about .State.
func (d *deployment) preflightValues() error {
	var problems []string
	for _, c := range d.selected {
		problems = append(problems, d.valueProblems(c, false)...)
	}
	return preflightError(problems)
}

// preflightError turns problems, if there are any, into an error.
func preflightError(problems []string) error {
	if len(problems) == 0 {
		return nil
	}
	return &PreflightError{Problems: problems}
}

func definitionProblems(p spec.Package) []string {
	var out []string
	if p.Kind == spec.KindInit {
		out = append(out, "an init package sets up Zarf's own services in a cluster, which zarf-host does not run: deploy it with Zarf")
	}
	if n := len(p.Metadata.Name); n > maxNameLength {
		out = append(out, fmt.Sprintf("the package's name has %d characters, and a record can hold %d: rename the package", n, maxNameLength))
	}
	ours := semver.MustParse(CompatibleVersion)
	for _, r := range p.Build.VersionRequirements {
		needs, err := semver.NewVersion(r.Version)
		switch {
		case err != nil:
			out = append(out, fmt.Sprintf("the package requires Zarf version %q, which is not a version: %v", r.Version, err))
		case needs.GreaterThan(ours):
			out = append(out, fmt.Sprintf("the package requires Zarf %s (%s), and zarf-host is compatible with %s", r.Version, r.Reason, CompatibleVersion))
		}
	}
	return out
}

// unsupported names what a component brings and this version cannot deploy.
func (d *deployment) unsupported(c spec.Component) []string {
	var out []string
	refuse := func(format string, args ...any) {
		out = append(out, fmt.Sprintf("component %q ", c.Name)+fmt.Sprintf(format, args...))
	}
	if !d.connected() && len(c.Repos) > 0 {
		refuse("brings git repositories, and pushing them is not supported yet: deploy with --connected where the cluster can reach them itself")
	}
	if len(c.DataInjections) > 0 {
		refuse("has dataInjections, which are not supported yet")
	}
	for _, ch := range c.Charts {
		if strings.Contains(ch.Namespace, "###") {
			refuse("names namespace %q for chart %q, and namespaces cannot be templated", ch.Namespace, ch.Name)
		}
	}
	for _, m := range c.Manifests {
		if strings.Contains(m.Namespace, "###") {
			refuse("names namespace %q for manifest %q, and namespaces cannot be templated", m.Namespace, m.Name)
		}
	}
	return out
}
