package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/spec"
)

// A graft carries over to what is going to be written what was read and not understood. Both are
// the JSON of the same thing; what it returns is the JSON to write.
type graft func(written, read json.RawMessage) (json.RawMessage, error)

// graftPackage keeps the unknown members of a record, its components and its charts.
func graftPackage(written, read []byte) ([]byte, error) {
	chart := graftObject[Chart](nil)
	component := graftObject[Component](map[string]graft{
		"installedCharts": graftList(chart, "namespace", "chartName"),
		"lastEvent":       graftSame[ComponentEvent],
	})
	return compacted(graftObject[Package](map[string]graft{
		"data":               graftDefinition,
		"deployedComponents": graftList(component, "name"),
		"events":             graftList(graftSame[PackageEvent], "type", "timestamp"),
		"deployConfig":       graftSame[DeployConfig],
	})(written, read))
}

// graftOwn keeps the unknown members of zarf-host's own key and of its entries.
func graftOwn(written, read []byte) ([]byte, error) {
	return compacted(graftObject[Own](map[string]graft{
		"charts": graftList(graftObject[OwnChart](nil), "namespace", "chartName"),
		"kept":   graftList(graftObject[KeptObject](nil), "apiVersion", "kind", "namespace", "name"),
		"components": graftList(graftObject[OwnComponent](map[string]graft{
			"lastEvent": graftSame[ComponentEvent],
		}), "name"),
		"pushed":       graftList(graftObject[PushedImage](nil), "reference"),
		"identity":     graftObject[Identity](nil),
		"accepted":     graftList(graftObject[Acceptance](nil), "kind"),
		"policies":     graftList(graftObject[Participant](nil), "name", "digest"),
		"plugins":      graftList(graftObject[Participant](nil), "name", "digest"),
		"deployment":   graftObject[Deployment](nil),
		"events":       graftList(graftSame[PackageEvent], "type", "timestamp"),
		"deployConfig": graftSame[DeployConfig],
	})(written, read))
}

// compacted drops the white space of what was read.
func compacted(data json.RawMessage, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, data); err != nil {
		return nil, readable(err)
	}
	return compact.Bytes(), nil
}

// graftDefinition keeps members of a definition that did not change as they were read. What an old
// definition says in words that we do not know is nothing that a new one says: such members of the
// definition stay while its metadata and build data do, those of a component while the component
// does.
func graftDefinition(written, read json.RawMessage) (json.RawMessage, error) {
	canonical, err := normalise[spec.Package](read)
	if err != nil {
		return nil, err
	}
	fields, err := splitAll(written, read, canonical)
	if err != nil {
		return nil, err
	}
	into, old, known := fields[0], fields[1], fields[2]
	unchanged := true
	for i, m := range into {
		switch {
		case m.key == "components":
			if into[i].value, err = graftList(graftSame[spec.Component], "name")(m.value, old.get("components")); err != nil {
				return nil, err
			}
		case bytes.Equal(m.value, known.get(m.key)):
			if raw := old.get(m.key); raw != nil { // a struct is written even where none was read
				into[i].value = raw
			}
		case m.key == "metadata" || m.key == "build":
			unchanged = false
		}
	}
	if unchanged {
		into = append(into, old.unknown(reflect.TypeFor[spec.Package]())...)
	}
	return into.join(), nil
}

// graftObject returns the graft of an object that T describes: members that T does not know stay,
// and those that parts names are grafted in turn.
func graftObject[T any](parts map[string]graft) graft {
	return func(written, read json.RawMessage) (json.RawMessage, error) {
		if len(read) == 0 {
			return written, nil
		}
		fields, err := splitAll(written, read)
		if err != nil {
			return nil, err
		}
		into, old := fields[0], fields[1]
		for i, m := range into {
			part, value := parts[m.key], old.get(m.key)
			if part == nil || value == nil || isNull(value) || isNull(m.value) {
				continue
			}
			if into[i].value, err = part(m.value, value); err != nil {
				return nil, fmt.Errorf("%s: %w", m.key, err)
			}
		}
		return append(into, old.unknown(reflect.TypeFor[T]())...).join(), nil
	}
}

// graftList returns the graft of a list of objects, paired by the values of their members keys.
func graftList(element graft, keys ...string) graft {
	return func(written, read json.RawMessage) (json.RawMessage, error) {
		if isNull(written) || isNull(read) {
			return written, nil
		}
		var into, old []json.RawMessage
		if err := json.Unmarshal(written, &into); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(read, &old); err != nil {
			return nil, err
		}
		byIdentity := map[string]json.RawMessage{}
		for _, o := range slices.Backward(old) { // of duplicates the first one counts
			id, err := identity(o, keys)
			if err != nil {
				return nil, err
			}
			byIdentity[id] = o
		}
		for i, w := range into {
			id, err := identity(w, keys)
			if err != nil {
				return nil, err
			}
			if o := byIdentity[id]; o != nil {
				if into[i], err = element(w, o); err != nil {
					return nil, err
				}
			}
		}
		return joinList(into), nil
	}
}

// graftSame keeps what was read, to the byte, unless what T knows of it has changed.
func graftSame[T any](written, read json.RawMessage) (json.RawMessage, error) {
	canonical, err := normalise[T](read)
	if err != nil || !bytes.Equal(written, canonical) {
		return written, err
	}
	return read, nil
}

// normalise returns data as T writes it.
func normalise[T any](data json.RawMessage) (json.RawMessage, error) {
	var value T
	if err := decode(data, &value); err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

// identity returns the values of some members of an object, comparable.
func identity(data json.RawMessage, keys []string) (string, error) {
	object, err := split(data)
	if err != nil {
		return "", err
	}
	var id strings.Builder
	for _, key := range keys {
		id.Write(object.get(key))
		id.WriteByte(0)
	}
	return id.String(), nil
}

// A member is a key of a JSON object with its value.
type member struct {
	key   string
	value json.RawMessage
}

// members are those of one object, in order.
type members []member

// split takes a JSON object apart.
func split(data json.RawMessage) (members, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if _, err := decoder.Token(); err != nil {
		return nil, readable(err)
	}
	var object members
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return nil, readable(err)
		}
		name, ok := key.(string)
		if !ok {
			return nil, fmt.Errorf("it is not a JSON object")
		}
		m := member{key: name}
		if err := decoder.Decode(&m.value); err != nil {
			return nil, readable(err)
		}
		object = append(object, m)
	}
	return object, nil
}

func splitAll(objects ...json.RawMessage) ([]members, error) {
	all := make([]members, len(objects))
	for i, data := range objects {
		object, err := split(data)
		if err != nil {
			return nil, err
		}
		all[i] = object
	}
	return all, nil
}

// join puts a JSON object together again.
func (o members) join() json.RawMessage {
	var data bytes.Buffer
	data.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			data.WriteByte(',')
		}
		key, _ := json.Marshal(m.key) // a string always marshals
		data.Write(key)
		data.WriteByte(':')
		data.Write(m.value)
	}
	data.WriteByte('}')
	return data.Bytes()
}

func joinList(elements []json.RawMessage) json.RawMessage {
	var data bytes.Buffer
	data.WriteByte('[')
	for i, element := range elements {
		if i > 0 {
			data.WriteByte(',')
		}
		data.Write(element)
	}
	data.WriteByte(']')
	return data.Bytes()
}

// get returns the value that encoding/json would take for a field called key: the last one, in any
// case of its letters. It is nil where there is none.
func (o members) get(key string) json.RawMessage {
	for _, m := range slices.Backward(o) {
		if strings.EqualFold(m.key, key) {
			return m.value
		}
	}
	return nil
}

// unknown returns the members that a struct type has no field for.
func (o members) unknown(t reflect.Type) members {
	known := map[string]bool{}
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		known[strings.ToLower(name)] = true
	}
	return slices.DeleteFunc(slices.Clone(o), func(m member) bool { return known[strings.ToLower(m.key)] })
}

func isNull(data json.RawMessage) bool {
	return len(data) == 0 || bytes.Equal(bytes.TrimSpace(data), []byte("null"))
}
