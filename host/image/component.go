package image

import (
	"fmt"

	"github.com/zarf-host/zarf-host/host/spec"
)

// OfComponents returns the images that components bring, those of image archives included, each once
// and in the order in which they are first named.
func OfComponents(components ...spec.Component) ([]Reference, error) {
	var refs []Reference
	seen := map[Reference]bool{}
	for _, c := range components {
		for _, text := range c.AllImages() {
			ref, err := Parse(text)
			if err != nil {
				return nil, fmt.Errorf("component %q: %w", c.Name, err)
			}
			if !seen[ref] {
				seen[ref] = true
				refs = append(refs, ref)
			}
		}
	}
	return refs, nil
}
