package differential

import (
	"cmp"
	"fmt"

	"github.com/zarf-host/zarf-host/host/spec"
)

// Field is what base and new package must agree on, or differ in.
type Field string

// The fields that are compared.
const (
	FieldVersion      Field = "version"
	FieldName         Field = "name"
	FieldArchitecture Field = "architecture"
	FieldFlavor       Field = "flavor"
	FieldAPIVersion   Field = "apiVersion"
)

// UnsetError says that one of the two packages has no version.
type UnsetError struct {
	Field Field
	Side  string // the base, as people call it, or "the new package"
}

func (e *UnsetError) Error() string {
	return fmt.Sprintf("%s has no %s, and a differential package is the difference between two versions", e.Side, e.Field)
}

// Hint says what to do about it.
func (e *UnsetError) Hint() string { return "set metadata.version in both" }

// SameVersionError says that base and new package have one version.
type SameVersionError struct {
	Version string
	Base    string
}

func (e *SameVersionError) Error() string {
	return fmt.Sprintf("version %s is that of the base too, %s: there is no difference to create", e.Version, e.Base)
}

// Hint says what to do about it.
func (e *SameVersionError) Hint() string { return "give the new package another metadata.version" }

// MismatchError says that the base is not an earlier version of the same package.
type MismatchError struct {
	Field     Field
	New, Base string // "" where it is not set
	What      string // the base, as people call it
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("the %s of the new package is %s, that of the base, %s, is %s", e.Field, orNone(e.New), e.What, orNone(e.Base))
}

// Hint says what to do about it.
func (e *MismatchError) Hint() string {
	return "take a base of the same package, architecture, flavor and apiVersion, or create the whole package"
}

// NothingError says that the base has all of the new package.
type NothingError struct{ Base string }

func (e *NothingError) Error() string {
	return fmt.Sprintf("the base, %s, has every component of the new package: nothing is left to deploy", e.Base)
}

// Hint says what to do about it.
func (e *NothingError) Hint() string {
	return "deploy the base; or create the whole package, to have one of the new version"
}

func orNone(s string) string {
	if s == "" {
		return "not set"
	}
	return fmt.Sprintf("%q", s)
}

// check refuses a base that is not another version of the same package.
func check(def spec.Package, base Base) error {
	architecture := func(p spec.Package) string { return cmp.Or(p.Build.Architecture, p.Metadata.Architecture) }
	apiVersion := func(v string) string { return cmp.Or(v, spec.APIVersionV1Alpha1) }
	switch {
	case def.Metadata.Version == "":
		return &UnsetError{Field: FieldVersion, Side: "the new package"}
	case base.Version == "":
		return &UnsetError{Field: FieldVersion, Side: "the base, " + base.What + ","}
	}
	for _, f := range []struct {
		field     Field
		new, base string
	}{
		{FieldName, def.Metadata.Name, base.Name},
		{FieldArchitecture, architecture(def), base.Architecture},
		{FieldFlavor, def.Build.Flavor, base.Flavor},
		{FieldAPIVersion, apiVersion(def.APIVersion), apiVersion(base.APIVersion)},
	} {
		if f.new != f.base {
			return &MismatchError{Field: f.field, New: f.new, Base: f.base, What: base.What}
		}
	}
	if def.Metadata.Version == base.Version {
		return &SameVersionError{Version: base.Version, Base: base.What}
	}
	return nil
}
