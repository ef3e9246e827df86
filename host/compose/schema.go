package compose

import (
	"maps"
	"reflect"
	"slices"
)

// MergeSchemas returns a JSON schema that asks for what two of them ask for: keywords of the second one
// count more, but of two lists of required keys both count.
func MergeSchemas(under, over map[string]any) map[string]any {
	out := maps.Clone(under)
	if out == nil {
		out = map[string]any{}
	}
	for key, value := range over {
		switch below := out[key].(type) {
		case map[string]any:
			if above, ok := value.(map[string]any); ok {
				out[key] = MergeSchemas(below, above)
				continue
			}
		case []any:
			if above, ok := value.([]any); ok && key == "required" {
				out[key] = union(below, above)
				continue
			}
		}
		out[key] = value
	}
	return out
}

func union(a, b []any) []any {
	out := slices.Clone(a)
	for _, item := range b {
		if !slices.ContainsFunc(out, func(have any) bool { return reflect.DeepEqual(have, item) }) {
			out = append(out, item)
		}
	}
	return out
}
