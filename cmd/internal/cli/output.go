package cli

import (
	"bytes"
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/zarf-host/zarf-host/cmd/internal/render"
)

// show prints a text that is somebody else's.
func (r *root) show(text []byte) error {
	return render.Document(r.streams.Out, text, isTerminal(r.streams.Out))
}

// write prints a text that is ours, or that was made safe to print.
func (r *root) write(text []byte) error {
	_, err := r.streams.Out.Write(text)
	return err
}

// writeDocument prints a value in the format that was asked for.
func (r *root) writeDocument(v any) error {
	text, err := r.encode(v)
	if err != nil {
		return err
	}
	return r.show(text)
}

// encode returns a value in the format that was asked for.
func (r *root) encode(v any) ([]byte, error) {
	if r.format == "yaml" {
		text, err := yaml.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("writing the output: %w", err)
		}
		return text, nil
	}
	var b bytes.Buffer
	err := writeJSON(&b, v)
	return b.Bytes(), err
}
