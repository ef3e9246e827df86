package value

import (
	"fmt"
	"strings"
)

// ParsePath reads a path such as .web.replicas; the leading dot may be left out, and a lone dot is
// the whole of the values, which has no keys.
func ParsePath(text string) ([]string, error) {
	if text == "." {
		return nil, nil
	}
	keys := strings.Split(strings.TrimPrefix(text, "."), ".")
	for _, key := range keys {
		if strings.TrimSpace(key) == "" {
			return nil, fmt.Errorf("the path %q has an empty key: write it like .web.replicas", text)
		}
	}
	return keys, nil
}

// Get returns the value at a path. What is there may be null; false means that nothing is.
func Get(values map[string]any, path []string) (any, bool) {
	var at any = values
	for _, key := range path {
		m, ok := at.(map[string]any)
		if !ok {
			return nil, false
		}
		if at, ok = m[key]; !ok {
			return nil, false
		}
	}
	return at, true
}

// Set sets the value at a path and makes the maps on the way. It takes the place of whatever is
// there; where something else than a map is in the way, it goes. An empty path takes a map, which is
// merged into values.
func Set(values map[string]any, path []string, value any) error {
	if len(path) == 0 {
		whole, ok := value.(map[string]any)
		if !ok {
			return fmt.Errorf("the whole of the values can only be set to a map")
		}
		for key, merged := range Merge(values, whole) {
			values[key] = merged
		}
		return nil
	}
	last := len(path) - 1
	for _, key := range path[:last] {
		next, ok := values[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			values[key] = next
		}
		values = next
	}
	values[path[last]] = value
	return nil
}

// remove takes away what is at a path, if anything is.
func remove(values map[string]any, path []string) {
	if len(path) == 0 {
		clear(values)
		return
	}
	parent, ok := Get(values, path[:len(path)-1])
	if m, isMap := parent.(map[string]any); ok && isMap {
		delete(m, path[len(path)-1])
	}
}

// Overlap reports whether setting what is at one path can change what is at the other.
func Overlap(a, b []string) bool {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
