package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Inputs are dotted paths into a request, such as plan.prune.objects.kind. A path goes through lists
// without naming them and takes the whole subtree at which it ends.
type Inputs []string

// always is what every request carries: without it no answer can be given.
func always() []string {
	return []string{"apiVersion", "kind", "id", "hook", "time", "config"}
}

// requestKeys are the top-level keys that a path may begin with.
func requestKeys() []string {
	return append(always(), "operation", "package", "deployed", "plan", "collisions", "result", "cluster", "user", "deployConfig")
}

// Validate refuses a path that can never name anything: it would leave a plugin blind to what it
// means to guard.
func (in Inputs) Validate() error {
	syntax := regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)
	for _, path := range in {
		if !syntax.MatchString(path) {
			return fmt.Errorf("input %q is not a path like plan.prune.objects.kind", path)
		}
		first, _, _ := strings.Cut(path, ".")
		if !slices.Contains(requestKeys(), first) {
			return fmt.Errorf("input %q names no field of a request: they are %s", path, strings.Join(requestKeys(), ", "))
		}
	}
	return nil
}

// Project cuts a request document down to the inputs, plus what every request carries. No inputs at
// all mean the whole document. Elements of a list stay in number and order, so that indexes and
// counts mean the same as in the whole.
func Project(request []byte, inputs Inputs) ([]byte, error) {
	if len(inputs) == 0 {
		return request, nil
	}
	dec := json.NewDecoder(bytes.NewReader(request))
	dec.UseNumber() // a rounded number would be another number
	var doc map[string]any
	if err := dec.Decode(&doc); err != nil {
		return nil, fmt.Errorf("reading the request to cut it down: %w", err)
	}
	root := selection{}
	for _, path := range append(always(), inputs...) {
		root.add(strings.Split(path, "."))
	}
	out, err := json.Marshal(root.apply(doc))
	if err != nil {
		return nil, fmt.Errorf("writing the cut down request: %w", err)
	}
	return out, nil
}

// selection is a tree of wanted keys; an empty one wants everything below it.
type selection map[string]selection

func (s selection) add(path []string) {
	child, known := s[path[0]]
	switch {
	case len(path) == 1:
		s[path[0]] = selection{}
	case known && len(child) == 0: // a shorter path already takes all of it
	default:
		if !known {
			child = selection{}
			s[path[0]] = child
		}
		child.add(path[1:])
	}
}

func (s selection) apply(value any) any {
	if len(s) == 0 {
		return value
	}
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(s))
		for key, below := range s {
			if child, ok := v[key]; ok {
				out[key] = below.apply(child)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = s.apply(item)
		}
		return out
	default: // a path that goes on below a scalar takes nothing of it
		return nil
	}
}
