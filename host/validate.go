package host

import (
	"fmt"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/state"
	"github.com/zarf-host/zarf-host/host/validate"
)

// validateDefinition checks a package's definition against the schema. Zarf's later checks of an
// author's mistakes stay out: this package was built, and what runs must stay removable.
func validateDefinition(v *validate.Validator, p *Package) error {
	result := v.File(bundle.DefinitionPath, p.DefinitionYAML(), validate.Options{Built: true})
	if faults := result.Errors(); len(faults) > 0 {
		invalid := &InvalidError{What: fmt.Sprintf("the definition of package %q", p.Source())}
		for _, f := range faults {
			invalid.Faults = append(invalid.Faults, f.String())
		}
		return invalid
	}
	return nil
}

// validateConfig checks what was supplied before anything uses it. No value gets into the error.
func validateConfig(v *validate.Validator, c state.DeployConfig) error {
	if err := v.DeployConfig(c); err != nil {
		return fmt.Errorf("checking the configuration: %w", err)
	}
	return nil
}
