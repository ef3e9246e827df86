package definition

import (
	"fmt"

	"github.com/goccy/go-yaml"

	"github.com/zarf-host/zarf-host/host/spec"
)

// Marshal writes a definition as Zarf writes it into a package. What Parse reads of it is the same
// definition, extension included, but for the deprecated forms, which a migrated definition carries beside today's.
func Marshal(pkg *spec.Package) ([]byte, error) {
	// The embedded Variable has no tag that this YAML library would take for "inline".
	data, err := yaml.MarshalWithOptions(pkg, yaml.CustomMarshaler(func(v spec.InteractiveVariable) ([]byte, error) {
		return yaml.Marshal(flatVariable{
			Name: v.Name, Sensitive: v.Sensitive, AutoIndent: v.AutoIndent, Pattern: v.Pattern, Type: v.Type,
			Description: v.Description, Default: v.Default, Prompt: v.Prompt,
		})
	}))
	if err != nil {
		return nil, fmt.Errorf("marshalling the definition: %w", err)
	}
	return AppendExtension(data, pkg.Extension)
}

// flatVariable is spec.InteractiveVariable as it looks in YAML.
type flatVariable struct {
	Name        string            `yaml:"name"`
	Sensitive   bool              `yaml:"sensitive,omitempty"`
	AutoIndent  bool              `yaml:"autoIndent,omitempty"`
	Pattern     string            `yaml:"pattern,omitempty"`
	Type        spec.VariableType `yaml:"type,omitempty"`
	Description string            `yaml:"description,omitempty"`
	Default     string            `yaml:"default,omitempty"`
	Prompt      bool              `yaml:"prompt,omitempty"`
}
