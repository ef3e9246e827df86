package action

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/zarf-host/zarf-host/host/spec"
)

// variables returns what an action sets from its output; the deprecated setVariable is the short
// form of one entry.
func variables(a spec.Action) []spec.Variable {
	if len(a.SetVariables) == 0 && a.SetVariable != "" {
		return []spec.Variable{{Name: a.SetVariable}}
	}
	return a.SetVariables
}

func anySensitive(vs []spec.Variable) bool {
	for _, v := range vs {
		if v.Sensitive {
			return true
		}
	}
	return false
}

// store sets variables and values from the output of a command.
func (r *Runner) store(text string, vs []spec.Variable, values []spec.SetValue) error {
	for _, v := range vs {
		if err := r.Variables.Set(v, text); err != nil {
			return fmt.Errorf("setting a variable from the output: %w", err)
		}
	}
	for _, sv := range values {
		value, err := parse(text, sv.Type)
		if err != nil {
			return fmt.Errorf("setting the value %q from the output: %w", sv.Key, err)
		}
		if err := r.setValue(sv.Key, value); err != nil {
			return fmt.Errorf("setting the value %q from the output: %w", sv.Key, err)
		}
	}
	return nil
}

// parse reads output as a setValues type says. Errors never quote the output, which may be secret.
func parse(text, kind string) (any, error) {
	switch kind {
	case "", "string":
		return text, nil
	case "json":
		return parseJSON([]byte(text))
	case "yaml":
		data, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			return nil, fmt.Errorf("the output is not YAML")
		}
		return parseJSON(data)
	default:
		return nil, fmt.Errorf("the type %q is unknown, use string, json or yaml", kind)
	}
}

// parseJSON keeps numbers as they are written, so that no large integer changes.
func parseJSON(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil || dec.More() {
		return nil, fmt.Errorf("the output is not one JSON document")
	}
	return v, nil
}

// setValue stores a value at a path such as .web.image; a lone dot means the whole.
func (r *Runner) setValue(key string, value any) error {
	if r.Values == nil {
		return fmt.Errorf("this operation has no values")
	}
	key = strings.TrimPrefix(key, ".")
	if key == "" {
		whole, ok := value.(map[string]any)
		if !ok {
			return fmt.Errorf("the whole of the values must be a map")
		}
		for k, v := range whole {
			r.Values[k] = v
		}
		return nil
	}
	at := r.Values
	names := strings.Split(key, ".")
	for i, name := range names {
		if name == "" {
			return fmt.Errorf("the key has an empty part")
		}
		if i == len(names)-1 {
			at[name] = value
			return nil
		}
		below, ok := at[name].(map[string]any)
		if !ok {
			if _, taken := at[name]; taken {
				return fmt.Errorf("%q is not a map", strings.Join(names[:i+1], "."))
			}
			below = map[string]any{}
			at[name] = below
		}
		at = below
	}
	return nil
}
