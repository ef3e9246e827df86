package definition

import (
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/zarf-host/zarf-host/host/spec"
)

// decodeExtension reads what a definition says beyond Zarf's types, nil where it says nothing.
func decodeExtension(node ast.Node) (*spec.Extension, error) {
	var probe struct {
		Extension *spec.Extension `json:"x-zarf-host"`
	}
	if err := Decode(node, &probe); err != nil {
		return nil, fmt.Errorf("%s: %w", spec.ExtensionKey, err)
	}
	return probe.Extension, nil
}

// AppendExtension returns a definition of one document with an extension at its end; the definition
// must not have one. Without an extension it returns the definition as it is.
func AppendExtension(definition []byte, e *spec.Extension) ([]byte, error) {
	if e == nil {
		return definition, nil
	}
	text, err := yaml.MarshalWithOptions(map[string]*spec.Extension{spec.ExtensionKey: e}, yaml.IndentSequence(false))
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", spec.ExtensionKey, err)
	}
	out := append([]byte(nil), definition...)
	if len(out) > 0 && out[len(out)-1] != '\n' {
		out = append(out, '\n')
	}
	out = append(out, text...)
	if len(out) > MaxBytes {
		return nil, fmt.Errorf("the definition would have %d bytes with what it says of its base, more than the %d that a definition may have", len(out), MaxBytes)
	}
	return out, nil
}
