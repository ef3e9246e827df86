package template

import (
	"slices"
	"strings"
)

// masked stands in for a sensitive value wherever text leaves the engine.
const masked = "**sanitized**"

// shortest is the length below which a secret is not looked for in texts: a value such as "1"
// would blot out half of every line and give itself away by that.
const shortest = 3

// Mask replaces each occurrence of a sensitive value in a text, the longest first, and of each
// line of a value that has several, since output is handed on by lines.
func (v *Variables) Mask(text string) string {
	for _, secret := range v.secrets() {
		text = strings.ReplaceAll(text, secret, masked)
	}
	return text
}

func (v *Variables) secrets() []string {
	var out []string
	for _, e := range v.entries {
		if !e.Sensitive {
			continue
		}
		out = append(out, e.Value)
		for line := range strings.Lines(e.Value) {
			out = append(out, strings.TrimSpace(line))
		}
	}
	out = slices.DeleteFunc(out, func(s string) bool { return len(s) < shortest })
	slices.SortFunc(out, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return slices.Compact(out)
}
