package value

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// Assignment is one key.path=value of --set-values.
type Assignment struct {
	Path  []string
	Value any
}

// ParseAssignments reads what one --set-values holds: a.b=value, or several of them with commas
// between. The type of a value is inferred as Zarf does it:
//
//   - true and false are booleans;
//   - whole numbers in base 10 (7, -7, 0) are integers of any size;
//   - everything else is text as it stands: 1.5, 1e3, 0755, null, yes, and a value in double quotes
//     with its quotes;
//   - a value in single quotes is the text between them: '1', 'true'.
//
// A comma belongs to a value where it stands in single quotes, or where the text has only one
// assignment. Lists and maps come from values files.
func ParseAssignments(text string) ([]Assignment, error) {
	var out []Assignment
	for _, part := range split(text) {
		key, value, ok := strings.Cut(part, "=")
		if !ok {
			return nil, fmt.Errorf("setting values: after %d assignments comes something that is not KEY.PATH=VALUE; "+
				"put a value that holds a comma in single quotes", len(out))
		}
		path, err := ParsePath(strings.TrimSpace(key))
		if err != nil {
			return nil, fmt.Errorf("setting values: %w", err)
		}
		if len(path) == 0 {
			return nil, fmt.Errorf("setting values: %q names no key", key)
		}
		out = append(out, Assignment{Path: path, Value: infer(value)})
	}
	return out, nil
}

// Assign returns values with assignments made in their order.
func Assign(values map[string]any, assignments []Assignment) (map[string]any, error) {
	out := Merge(values, nil)
	for _, a := range assignments {
		if err := Set(out, a.Path, a.Value); err != nil {
			return nil, fmt.Errorf("setting the value %s: %w", shown(a.Path), err)
		}
	}
	return out, nil
}

// split cuts at commas outside single quotes, unless there is one assignment only.
func split(text string) []string {
	if strings.Count(text, "=") == 1 {
		return []string{text}
	}
	var out []string
	from, quoted := 0, false
	for i := range len(text) {
		switch {
		case text[i] == '\'' && opensOrCloses(text, from, i, quoted):
			quoted = !quoted
		case text[i] == ',' && !quoted:
			out = append(out, text[from:i])
			from = i + 1
		}
	}
	if quoted { // nothing closes it: an apostrophe like any other
		if comma := strings.IndexByte(text[from:], ','); comma >= 0 {
			return append(append(out, text[from:from+comma]), split(text[from+comma+1:])...)
		}
	}
	return append(out, text[from:])
}

// opensOrCloses reports whether a single quote stands where quoting begins (right after the '=') or
// ends (before a comma or the end). Any other is an apostrophe.
func opensOrCloses(text string, from, at int, quoted bool) bool {
	if quoted {
		return at+1 == len(text) || text[at+1] == ','
	}
	return strings.IndexByte(text[from:at], '=') == at-from-1 && at > from
}

func infer(text string) any {
	switch {
	case len(text) >= 2 && text[0] == '\'' && text[len(text)-1] == '\'':
		return text[1 : len(text)-1]
	case text == "true":
		return true
	case text == "false":
		return false
	case regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`).MatchString(text):
		return json.Number(text)
	default:
		return text
	}
}
