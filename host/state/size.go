package state

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

// MaxSize is how many bytes the values of a Secret may have together.
const MaxSize = 1 << 20

// Part is a part of a record with the bytes that it takes.
type Part struct {
	Name  string
	Bytes int
}

// Size returns how many bytes a record takes in its Secret, and its parts, the largest first.
func (r Record) Size() (int, []Part, error) {
	data, own, err := r.Encode()
	if err != nil {
		return 0, nil, err
	}
	var parts []Part
	for _, key := range []struct {
		name  string
		value []byte
	}{{DataKey, data}, {OwnKey, own}} {
		if len(key.value) == 0 {
			continue
		}
		members, err := split(key.value)
		if err != nil {
			return 0, nil, fmt.Errorf("measuring key %q: %w", key.name, err)
		}
		for _, m := range members {
			parts = append(parts, partsOf(key.name, m)...)
		}
	}
	slices.SortStableFunc(parts, func(a, b Part) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return len(data) + len(own), parts, nil
}

// partsOf names a member of a key for people; the definition is told by component, since nobody can
// act on the whole.
func partsOf(key string, m member) []Part {
	if key == DataKey && m.key == "data" {
		var parts []Part
		rest := len(m.value)
		definition, err := split(m.value)
		var components []json.RawMessage
		if err == nil && json.Unmarshal(definition.get("components"), &components) == nil {
			for _, c := range components {
				var named struct{ Name string }
				if json.Unmarshal(c, &named) == nil {
					parts = append(parts, Part{Name: fmt.Sprintf("the definition of component %q", named.Name), Bytes: len(c)})
					rest -= len(c)
				}
			}
		}
		return append(parts, Part{Name: "the rest of the definition", Bytes: rest})
	}
	name := m.key
	switch {
	case key == OwnKey:
		name = fmt.Sprintf("%s of key %q", m.key, OwnKey)
	case m.key == "deployConfig":
		name = "the configuration"
	case m.key == "deployedComponents":
		name = "the components' entries"
	case m.key == "events":
		name = "the events"
	}
	return []Part{{Name: name, Bytes: len(m.value)}}
}
