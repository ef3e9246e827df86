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

// Kind is a kind of file that has a schema of its own and is not a package definition.
type Kind string

// The kinds that FileOf checks.
const (
	DeployConfig   Kind = "DeployConfig"
	RemoveConfig   Kind = "RemoveConfig"
	PluginMetadata Kind = "PluginMetadata"
	HookRequest    Kind = "HookRequest"
	HookResponse   Kind = "HookResponse"
	ConfigFile     Kind = "ConfigFile"
	Plan           Kind = "Plan"
	Inventory      Kind = "Inventory"
)

// FileOf checks a file, YAML or JSON, that holds one document of a kind. Values of a config do not
// appear in diagnostics, since they may be passwords.
func (v *Validator) FileOf(kind Kind, name string, data []byte) Result {
	r := &report{file: name}
	s, ok := v.kinds[kind]
	if !ok {
		r.add(position{}, nil, Error, "kind", fmt.Sprintf("there is no schema for a %q", kind), "")
		return r.result()
	}
	docs, err := definition.ReadYAML(data)
	if err != nil {
		r.unreadable(err)
		return r.result()
	}
	if len(docs) > 1 {
		r.add(position{}, nil, Error, "documents", fmt.Sprintf("the file has %d YAML documents, want one", len(docs)), "")
		return r.result()
	}
	secret := kind == DeployConfig || kind == RemoveConfig || kind == ConfigFile
	if len(docs) == 0 {
		// A config that supplies nothing is one; nothing else is a document of its kind.
		if !secret {
			r.add(position{}, nil, Error, "empty", fmt.Sprintf("the file is empty, want a %s", kind), "")
		}
		return r.result()
	}
	root, err := newDocument(docs[0], strings.Split(string(data), "\n"))
	if err != nil {
		r.unreadable(err)
		return r.result()
	}
	walk := structure{report: r, secret: secret}
	walk.check(root, s, nil)
	return r.result()
}

// DeployConfig checks a resolved config, whatever marshals to the JSON of one. It returns nil or
// an *InvalidError, which holds no value of the config.
func (v *Validator) DeployConfig(config any) error {
	return checkValue("deploy config", config, v.kinds[DeployConfig])
}

// RemoveConfig is DeployConfig for the inputs of a removal.
func (v *Validator) RemoveConfig(config any) error {
	return checkValue("remove config", config, v.kinds[RemoveConfig])
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
		out := &node{}
		if f, err := v.Float64(); err == nil && strings.ContainsAny(v.String(), ".eE") {
			out.setFloat(f)
		} else {
			out.setInt(v.String())
		}
		return out
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
