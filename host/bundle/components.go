package bundle

import (
	"context"
	"fmt"
	"io"
)

// Components hands the entries of the components that want asks for to fn, as Component does for one,
// and reads the package once for all of them.
func (b *Bundle) Components(ctx context.Context, want func(component string) bool, fn func(component string, e Entry, r io.Reader) error) error {
	byPath := map[string]string{}
	for _, c := range b.definition.Components {
		if want(c.Name) {
			byPath[ComponentPath(c.Name)] = c.Name
		}
	}
	return b.Walk(ctx, func(p string) bool { _, ok := byPath[p]; return ok }, func(f File, r io.Reader) error {
		name := byPath[f.Path]
		err := eachComponentEntry(name, r, b.limits, func(e Entry, r io.Reader) error { return fn(name, e, r) })
		if err == nil {
			_, err = io.Copy(io.Discard, r)
		}
		if err != nil {
			return fmt.Errorf("reading component %q: %w", name, err)
		}
		return nil
	})
}
