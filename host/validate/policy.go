package validate

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/parser"

	"github.com/zarf-host/zarf-host/host/definition"
)

// Policy is the kind of a policy file.
const Policy Kind = "Policy"

// The keys of a policy whose values are constraints.
const (
	packageKey = "package"
	configKey  = "deployConfig"
)

// PolicyFile is a policy that is sound.
type PolicyFile struct {
	// JSON is the document without its constraints.
	JSON []byte
	// Package and DeployConfig are its constraints; nil where it has none.
	Package, DeployConfig *Constraint
}

// PolicyFile reads a policy: CUE where the name ends in .cue, else YAML or JSON. Its error is an
// *InvalidError with every fault.
func (v *Validator) PolicyFile(name string, data []byte) (PolicyFile, error) {
	if filepath.Ext(name) == ".cue" {
		return v.cuePolicy(name, data)
	}
	if err := v.FileOf(Policy, name, data).Err(); err != nil {
		return PolicyFile{}, err
	}
	docs, err := definition.ReadYAML(data)
	if err != nil {
		return PolicyFile{}, err
	}
	var fields map[string]any
	if err := definition.Decode(docs[0].Body, &fields); err != nil {
		return PolicyFile{}, fmt.Errorf("%s: %w", name, err)
	}
	places, err := NewPlaces(name, data)
	if err != nil {
		return PolicyFile{}, err
	}
	var out PolicyFile
	for key, to := range map[string]**Constraint{packageKey: &out.Package, configKey: &out.DeployConfig} {
		value, given := fields[key]
		if !given {
			continue
		}
		delete(fields, key)
		if *to, err = newConstraint(value); err != nil {
			return PolicyFile{}, faultAt(places, key, err)
		}
	}
	if out.JSON, err = json.Marshal(fields); err != nil {
		return PolicyFile{}, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}

// faultAt makes a fault of a constraint that stands under a key of a YAML file.
func faultAt(p *Places, key string, err error) error {
	r := &report{file: p.name}
	r.add(p.root.find(path{key}), path{key}, Error, "constraint", err.Error(), "")
	return r.result().Err()
}

// newConstraint compiles a constraint that stands in YAML: CUE in a string, or plain values.
func newConstraint(value any) (*Constraint, error) {
	var text string
	switch value := value.(type) {
	case string:
		text = value
	case map[string]any:
		data, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		text = string(data) // JSON is CUE
	default:
		return nil, errors.New("want CUE in a string, or a map of values")
	}
	v := newContext().CompileString(text)
	if err := v.Err(); err != nil {
		return nil, fmt.Errorf("this is no CUE: %s", plainError(err))
	}
	return &Constraint{value: v}, nil
}

// cuePolicy reads a policy that is written in CUE.
func (v *Validator) cuePolicy(name string, data []byte) (PolicyFile, error) {
	r := &report{file: name}
	if len(data) > definition.MaxBytes {
		r.add(position{}, nil, Error, "cue", fmt.Sprintf("the file has %d bytes, more than the %d that a policy may have", len(data), definition.MaxBytes), "")
		return PolicyFile{}, r.result().Err()
	}
	file, err := parser.ParseFile(name, data)
	if err != nil {
		r.cue(err)
		return PolicyFile{}, r.result().Err()
	}
	whole := newContext().BuildFile(file)
	if err := whole.Err(); err != nil {
		r.cue(err)
		return PolicyFile{}, r.result().Err()
	}
	fields, err := whole.Fields()
	if err != nil {
		r.cue(err)
		return PolicyFile{}, r.result().Err()
	}
	var out PolicyFile
	rest := map[string]json.RawMessage{}
	root := &node{kind: mapKind, at: position{1, 1}}
	for fields.Next() {
		key, value := fields.Selector().Unquoted(), fields.Value()
		switch key {
		case packageKey:
			out.Package = &Constraint{value: value}
			continue
		case configKey:
			out.DeployConfig = &Constraint{value: value}
			continue
		}
		body, err := value.MarshalJSON()
		if err != nil {
			r.cue(err)
			continue
		}
		rest[key] = body
		tree, err := fromCUE(value)
		if err != nil {
			r.cue(err)
			continue
		}
		root.keys = append(root.keys, entry{key: key, at: positionOf(value), value: tree})
	}
	if len(r.list) == 0 {
		walk := structure{report: r}
		walk.check(root, v.kinds[Policy], nil)
	}
	if err := r.result().Err(); err != nil {
		return PolicyFile{}, err
	}
	out.JSON, err = json.Marshal(rest)
	return out, err
}

// fromCUE makes a node of a concrete CUE value, with its places.
func fromCUE(v cue.Value) (*node, error) {
	out := &node{}
	switch v.Kind() {
	case cue.ListKind:
		out.kind = listKind
		items, err := v.List()
		if err != nil {
			return nil, err
		}
		for items.Next() {
			item, err := fromCUE(items.Value())
			if err != nil {
				return nil, err
			}
			out.items = append(out.items, item)
		}
	case cue.StructKind:
		out.kind = mapKind
		fields, err := v.Fields()
		if err != nil {
			return nil, err
		}
		for fields.Next() {
			value, err := fromCUE(fields.Value())
			if err != nil {
				return nil, err
			}
			out.keys = append(out.keys, entry{key: fields.Selector().Unquoted(), at: positionOf(fields.Value()), value: value})
		}
	default:
		data, err := v.MarshalJSON()
		if err != nil {
			return nil, err
		}
		tree, err := decodeJSON(data)
		if err != nil {
			return nil, err
		}
		out = fromJSON(tree)
	}
	out.at = positionOf(v)
	return out, nil
}

func positionOf(v cue.Value) position {
	p := v.Pos()
	return position{p.Line(), p.Column()}
}

// cue adds the faults that CUE has found in a file, in its words: whoever writes CUE knows them.
func (r *report) cue(err error) {
	for _, e := range errors.Errors(err) {
		at := e.Position()
		format, args := e.Msg()
		r.add(position{at.Line(), at.Column()}, nil, Error, "cue", fmt.Sprintf(format, args...), "")
	}
}

// plainError is what CUE says on one line.
func plainError(err error) string {
	var out []string
	for _, e := range errors.Errors(err) {
		format, args := e.Msg()
		text := fmt.Sprintf(format, args...)
		if at := e.Position(); at.Line() > 0 {
			text = fmt.Sprintf("line %d: %s", at.Line(), text)
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}
