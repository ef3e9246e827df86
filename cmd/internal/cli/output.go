package cli

import (
	"fmt"

	"sigs.k8s.io/yaml"
)

// writeDocument prints a value in the format that was asked for.
func (r *root) writeDocument(v any) error {
	if r.format == "yaml" {
		data, err := yaml.Marshal(v)
		if err != nil {
			return fmt.Errorf("writing the output: %w", err)
		}
		_, err = r.streams.Out.Write(data)
		return err
	}
	return writeJSON(r.streams.Out, v)
}
