package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/zarf-host/zarf-host/host/state"
)

// Likeness says whether two packages of one name are one package.
type Likeness string

// The likenesses, by SPEC 7.
const (
	Same            Likeness = "same"
	LikelyDifferent Likeness = "likely-different"
	Different       Likeness = "different"
)

// Signals tell packages of one name apart. What is empty is not known, and counts for nothing.
type Signals struct {
	OriginalName string // in the package itself, which may be deployed under another one
	Repository   string // the OCI repository, without tag and digest
	Signer       string
	Architecture string
	Components   []string
	URL          string
	Source       string
	Vendor       string
}

// Compare judges two packages by their signals and says in evidence what differs. Another signer, or
// another repository and no component in common, makes them different, and so does another name in the
// package, which only --release-name makes possible; one of the repository and the components, or another
// architecture, makes that likely. Metadata alone does not.
func Compare(deployed, wanted Signals) (likeness Likeness, evidence []string) {
	differs := func(what, a, b string) bool {
		if a == "" || b == "" || a == b {
			return false
		}
		evidence = append(evidence, fmt.Sprintf("%s: deployed %s, this package %s", what, a, b))
		return true
	}
	signer := differs("signer", deployed.Signer, wanted.Signer)
	repository := differs("OCI repository", deployed.Repository, wanted.Repository)
	strangers := noneInCommon(deployed.Components, wanted.Components)
	if strangers {
		evidence = append(evidence, fmt.Sprintf("no component in common: deployed %s, this package %s",
			strings.Join(deployed.Components, ", "), strings.Join(wanted.Components, ", ")))
	}
	architecture := differs("architecture", deployed.Architecture, wanted.Architecture)
	name := differs("name in the package", deployed.OriginalName, wanted.OriginalName)
	differs("metadata.url", deployed.URL, wanted.URL)
	differs("metadata.source", deployed.Source, wanted.Source)
	differs("metadata.vendor", deployed.Vendor, wanted.Vendor)
	switch {
	case signer, name, repository && strangers:
		return Different, evidence
	case repository, strangers, architecture:
		return LikelyDifferent, evidence
	default:
		return Same, evidence
	}
}

func noneInCommon(a, b []string) bool {
	return len(a) > 0 && len(b) > 0 && !slices.ContainsFunc(a, func(name string) bool { return slices.Contains(b, name) })
}

// deployedSignals are those of the record. The repository and the signer are our own notes: after a
// deployment of Zarf's they are those of a package that it may have replaced.
func (d *deployment) deployedSignals() Signals {
	meta := d.Record.Data.Metadata
	s := Signals{
		Architecture: recordedArchitecture(d.Record.Data), URL: meta.URL, Source: meta.Source, Vendor: meta.Vendor,
	}
	for _, c := range d.Record.DeployedComponents {
		s.Components = append(s.Components, c.Name)
	}
	for _, c := range d.Record.Data.Components {
		if !slices.Contains(s.Components, c.Name) {
			s.Components = append(s.Components, c.Name)
		}
	}
	if latest, _ := d.Record.LatestEvent(); latest.Type == state.Remove || slices.Contains(s.Components, state.RecoveredComponent) {
		s.Components = nil // a removal left some of them, or they were made up: what is on record does not tell
	}
	if d.identityIsCurrent() {
		id := d.Own.Identity
		s.Repository, s.Signer, s.OriginalName = id.Repository, id.Signer, id.OriginalName
		if s.OriginalName == "" {
			s.OriginalName = d.Record.Name
		}
	}
	return s
}

// identityIsCurrent reports whether the newest recorded deployment is one of ours, which note the
// digest of their configuration.
func (d *deployment) identityIsCurrent() bool {
	for _, e := range slices.Backward(d.Record.Events) {
		if e.Type == state.Deploy {
			return e.ConfigDigest != ""
		}
	}
	return false
}

func (d *deployment) wantedSignals() Signals {
	meta := d.Definition.Metadata
	s := Signals{
		OriginalName: d.Identity.OriginalName, Repository: d.Identity.Repository, Signer: d.Identity.Signer,
		Architecture: d.Package.Architecture, URL: meta.URL, Source: meta.Source, Vendor: meta.Vendor,
	}
	if s.OriginalName == "" {
		s.OriginalName = d.Package.Name
	}
	for _, c := range d.Definition.Components {
		s.Components = append(s.Components, c.Name)
	}
	return s
}

// namesake finds out whether the package that is deployed under the name is this one, and how its
// version and flavor stand to it. The same bytes are the same package, wherever they came from.
func (d *deployment) namesake() {
	if d.Record == nil || d.Record.Digest != "" && d.Record.Digest == d.Package.Digest {
		return
	}
	likeness, evidence := Compare(d.deployedSignals(), d.wantedSignals())
	if len(evidence) > 0 {
		d.collide(d.nameCollision(likeness, evidence))
	}
	if likeness == Different {
		return
	}
	name, old := d.Package.Name, d.Record.Data
	if lower(d.Package.Version, old.Metadata.Version) {
		d.collide(Collision{
			ID: "downgrade/" + name, Kind: CollidesVersion, Verdict: Warn,
			Message:  fmt.Sprintf("version %s of package %q is deployed, and this is the lower version %s", old.Metadata.Version, name, d.Package.Version),
			Evidence: []string{fmt.Sprintf("version: deployed %s, this package %s", old.Metadata.Version, d.Package.Version)},
		})
	}
	if old.Build.Flavor != d.Package.Flavor {
		d.collide(Collision{
			ID: "flavor-change/" + name, Kind: CollidesFlavor, Verdict: Warn,
			Message:  fmt.Sprintf("flavor %q of package %q is deployed, and this is flavor %q", old.Build.Flavor, name, d.Package.Flavor),
			Evidence: []string{fmt.Sprintf("flavor: deployed %q, this package %q", old.Build.Flavor, d.Package.Flavor)},
		})
	}
}

func (d *deployment) nameCollision(likeness Likeness, evidence []string) Collision {
	name := d.Package.Name
	c := Collision{ID: "package-name/" + name, Kind: CollidesName, Likeness: likeness, Evidence: evidence}
	const apart = "--release-name gives this package an identity of its own; if it is the same one, --accept-collision=package-name goes on"
	switch {
	case likeness == Different:
		c.Verdict, c.Remedy = Deny, apart
		c.Message = fmt.Sprintf("another package is deployed under the name %q", name)
	case likeness == LikelyDifferent && d.Scopes.prune():
		c.Verdict, c.Remedy = Deny, apart+"; without --prune it is only a warning"
		c.Message = fmt.Sprintf("the package that is deployed under the name %q is likely another one, and a prune would delete what it has", name)
	case likeness == LikelyDifferent:
		c.Verdict, c.Remedy = Warn, apart
		c.Message = fmt.Sprintf("the package that is deployed under the name %q is likely another one", name)
	default:
		c.Verdict = Allow
		c.Message = fmt.Sprintf("package %q describes itself otherwise than the one that is deployed, and counts as the same", name)
	}
	return c
}

// prune reports whether anything may be pruned.
func (s Scopes) prune() bool { return len(s) > 0 }

// lower reports whether version a is lower than b. What is no semantic version has no order.
func lower(a, b string) bool {
	first, err := semver.NewVersion(a)
	if err != nil {
		return false
	}
	second, err := semver.NewVersion(b)
	return err == nil && first.LessThan(second)
}
