package validate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/definition"
)

// DeployConfigFile checks a file, YAML or JSON, that holds a DeployConfig. No value of it appears
// in a diagnostic, since it may hold passwords.
func (v *Validator) DeployConfigFile(name string, data []byte) Result {
	r := &report{file: name}
	docs, err := definition.ReadYAML(data)
	if err != nil {
		r.unreadable(err)
		return r.result()
	}
	if len(docs) > 1 {
		r.add(position{}, nil, Error, "documents", fmt.Sprintf("the file has %d YAML documents, want one", len(docs)), "")
		return r.result()
	}
	for _, doc := range docs {
		root, err := newDocument(doc, strings.Split(string(data), "\n"))
		if err != nil {
			r.unreadable(err)
			continue
		}
		walk := structure{report: r, secret: true}
		walk.check(root, v.deployConfig, nil)
	}
	return r.result()
}

// DeployConfig checks a resolved config, whatever marshals to the JSON of one. It returns nil or
// an *InvalidError, which holds no value of the config.
func (v *Validator) DeployConfig(config any) error {
	return checkValue("deploy config", config, v.deployConfig)
}

// RemoveConfig is DeployConfig for the inputs of a removal.
func (v *Validator) RemoveConfig(config any) error {
	return checkValue("remove config", config, v.removeConfig)
}

func checkValue(name string, value any, s *shape) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("validating %s: %w", name, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return fmt.Errorf("validating %s: %w", name, err)
	}
	r := &report{file: name}
	walk := structure{report: r, secret: true}
	walk.check(fromJSON(tree), s, nil)
	return r.result().Err()
}

// fromJSON makes a node of a decoded JSON value; it has no places.
func fromJSON(value any) *node {
	switch v := value.(type) {
	case bool:
		return &node{kind: boolKind, text: fmt.Sprint(v)}
	case json.Number:
		return &node{kind: intKind, text: v.String(), whole: !strings.ContainsAny(v.String(), ".eE")}
	case string:
		return &node{kind: stringKind, text: v}
	case []any:
		out := &node{kind: listKind}
		for _, item := range v {
			out.items = append(out.items, fromJSON(item))
		}
		return out
	case map[string]any:
		out := &node{kind: mapKind}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out.keys = append(out.keys, entry{key: key, value: fromJSON(v[key])})
		}
		return out
	}
	return &node{text: "null"}
}
