package validate

import (
	"fmt"
	"strings"

	"github.com/zarf-host/zarf-host/host/definition"
)

// Places knows where in a file its author wrote what.
type Places struct {
	name string
	root *node
}

// NewPlaces reads a definition for its places. The name is what they are shown with; of several
// documents it is the first with content. Errors are those of definition.ReadYAML.
func NewPlaces(name string, data []byte) (*Places, error) {
	docs, err := definition.ReadYAML(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p := &Places{name: name, root: &node{}}
	if len(docs) == 0 {
		return p, nil
	}
	if p.root, err = newDocument(docs[0], strings.Split(string(data), "\n")); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

// At is the place of a value, as file:line:col: path. Its path is made of keys (strings) and indexes
// (ints); where the author wrote nothing there, it is the place of what it would be part of.
func (p *Places) At(steps ...any) string {
	d := Diagnostic{File: p.name, Path: path(steps).String()}
	at := p.root.find(steps)
	d.Line, d.Column = at.line, at.column
	return strings.TrimSuffix(d.String(), ": ")
}
