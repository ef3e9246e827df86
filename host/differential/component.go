package differential

import (
	"slices"

	"github.com/zarf-host/zarf-host/host/spec"
)

// Import is where a component of the new package was imported from.
type Import struct {
	spec.ImportOrigin
	// Overrides is true where the definition says more of the component than its name, description,
	// whether it is required or default, and the import: then it is not the imported one.
	Overrides bool
}

// unchanged names the components that are omitted whole: those imported from a registry as they were
// in the base. The new list is walked against the old one: a component is looked for after the last
// match only, so that one that moved before another counts as new, as its order is new. A match moves
// on even where the reference changed; what only the old list has is skipped.
func unchanged(components []spec.Component, imports map[string]Import, base Base) map[string]bool {
	out := map[string]bool{}
	cursor := 0
	for _, c := range components {
		i := slices.IndexFunc(base.Components[cursor:], func(old spec.FullComponent) bool { return old.Name == c.Name })
		if i < 0 {
			continue
		}
		cursor += i + 1
		now, imported := imports[c.Name]
		before, known := base.Imports[c.Name]
		if imported && known && !now.Overrides && now.Digest != "" && sameOrigin(now.ImportOrigin, before, c.Name) {
			out[c.Name] = true
		}
	}
	return out
}

// sameOrigin compares two origins of a component, whose own name is that of the imported one where no
// other is given.
func sameOrigin(a, b spec.ImportOrigin, component string) bool {
	for _, o := range []*spec.ImportOrigin{&a, &b} {
		if o.Name == "" {
			o.Name = component
		}
	}
	return a == b
}
