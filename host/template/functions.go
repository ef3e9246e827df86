package template

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"text/template"

	"github.com/BurntSushi/toml"
	"github.com/Masterminds/sprig/v3"
	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// functions are those of Go templates: sprig without what reads this machine or its network, and
// Helm's conversions. As in Helm, a conversion that fails yields an empty text or a map with an
// "Error", but for the must… forms.
func functions() template.FuncMap {
	out := sprig.TxtFuncMap()
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		delete(out, name)
	}
	maps.Copy(out, template.FuncMap{
		"toYaml":        orEmpty(toYAML),
		"mustToYaml":    toYAML,
		"toYamlPretty":  orEmpty(toYAMLPretty),
		"fromYaml":      func(text string) map[string]any { return readMap(text, yamlInto) },
		"fromYamlArray": func(text string) []any { return readList(text, yamlInto) },
		"toJson":        orEmpty(toJSON),
		"mustToJson":    toJSON,
		"fromJson":      func(text string) map[string]any { return readMap(text, json.Unmarshal) },
		"fromJsonArray": func(text string) []any { return readList(text, json.Unmarshal) },
		"toToml":        orEmpty(toTOML),
		"mustToToml":    toTOML,
		"fromToml":      func(text string) map[string]any { return readMap(text, toml.Unmarshal) },
	})
	return out
}

func orEmpty(convert func(any) (string, error)) func(any) string {
	return func(value any) string {
		text, err := convert(value)
		if err != nil {
			return ""
		}
		return text
	}
}

func toYAML(value any) (string, error) {
	data, err := yaml.Marshal(value)
	return strings.TrimSuffix(string(data), "\n"), err
}

// toYAMLPretty indents by two, lists below their key too.
func toYAMLPretty(value any) (string, error) {
	plain, err := toYAML(value) // by the JSON names of what is marshalled
	if err != nil {
		return "", err
	}
	var node yamlv3.Node
	if err := yamlv3.Unmarshal([]byte(plain), &node); err != nil {
		return "", err
	}
	var out bytes.Buffer
	encoder := yamlv3.NewEncoder(&out)
	encoder.SetIndent(2)
	err = errors.Join(encoder.Encode(&node), encoder.Close())
	return strings.TrimSuffix(out.String(), "\n"), err
}

func toJSON(value any) (string, error) {
	data, err := json.Marshal(value)
	return string(data), err
}

func toTOML(value any) (string, error) {
	var out bytes.Buffer
	err := toml.NewEncoder(&out).Encode(value)
	return out.String(), err
}

func yamlInto(data []byte, into any) error { return yaml.Unmarshal(data, into) }

func readMap(text string, read func([]byte, any) error) map[string]any {
	out := map[string]any{}
	if err := read([]byte(text), &out); err != nil {
		return map[string]any{"Error": err.Error()}
	}
	return out
}

func readList(text string, read func([]byte, any) error) []any {
	var out []any
	if err := read([]byte(text), &out); err != nil {
		return []any{err.Error()}
	}
	return out
}
