package definition

import (
	"errors"
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

const (
	// MaxBytes is the largest definition that is read; zarf.yaml files of thousands of components
	// stay under it.
	MaxBytes = 1 << 20

	// The library recurses once a level and takes quadratic time in the keys of a map and in the
	// number of documents, so these limits are enforced on tokens, before it parses.
	maxDepth     = 1000
	maxKeys      = 2000
	maxDocuments = 100

	// maxNodes bounds what a document holds once its aliases are expanded: more than any file of
	// MaxBytes has without aliases, far less than an alias bomb.
	maxNodes = 2_000_000
)

// Error is a definition that cannot be read, with the place. Line and Column count from 1 and are
// 0 when the fault has no single place.
type Error struct {
	Line, Column int
	Message      string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// ReadYAML parses YAML as Zarf does and refuses what would cost more than a definition may: files
// over MaxBytes, deep nesting, huge maps, many documents, alias bombs and aliases that contain
// themselves. Its errors are
// *Error. Documents without content are left out.
func ReadYAML(data []byte) ([]*ast.DocumentNode, error) {
	if len(data) > MaxBytes {
		return nil, &Error{Message: fmt.Sprintf("the file has %d bytes, more than the %d that a definition may have", len(data), MaxBytes)}
	}
	file, err := parse(data)
	if err != nil {
		return nil, err
	}
	var docs []*ast.DocumentNode
	for _, doc := range file.Docs {
		if doc == nil || doc.Body == nil {
			continue
		}
		sizer := aliasSizer{anchors: map[string]int{}}
		if _, err := sizer.size(doc.Body); err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
	return docs, nil
}

// parse turns the library's panics on malformed bytes into errors: a definition comes from
// outside, and one bad file must not end the program.
func parse(data []byte) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			file, err = nil, &Error{Message: fmt.Sprintf("the YAML reader gave up: %v", p)}
		}
	}()
	tokens := lexer.Tokenize(string(data))
	if err := checkLimits(tokens); err != nil {
		return nil, err
	}
	file, err = parser.Parse(tokens, 0)
	if err != nil {
		return nil, placed(err)
	}
	return file, nil
}

// Decode stores a node in value as Zarf does, unknown keys left out. Its errors are *Error.
func Decode(node ast.Node, value any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &Error{Message: fmt.Sprintf("the YAML decoder gave up: %v", p)}
		}
	}()
	if err := yaml.NodeToValue(node, value); err != nil {
		return placed(err)
	}
	return nil
}

// placed takes the message and the place out of a library error, whose own text is several lines
// with an excerpt of the source.
func placed(err error) error {
	var yerr yaml.Error
	if !errors.As(err, &yerr) {
		return &Error{Message: err.Error()}
	}
	return atToken(yerr.GetToken(), yerr.GetMessage())
}

// checkLimits holds the tokens against maxDepth, maxKeys and maxDocuments. It follows open flow
// collections by their brackets and block collections by the column of what opens them, an upper
// bound of the nesting that the parser will see.
func checkLimits(tokens token.Tokens) error {
	type collection struct {
		column, keys int
		flowMap      bool
	}
	var (
		open      []collection
		flow      int // how many of open are flow collections
		documents int
	)
	for _, tk := range tokens {
		column := tk.Position.Column
		switch tk.Type {
		case token.SequenceStartType, token.MappingStartType:
			open = append(open, collection{column: column, flowMap: tk.Type == token.MappingStartType})
			flow++
		case token.SequenceEndType, token.MappingEndType:
			if flow > 0 {
				open = open[:len(open)-1]
				flow--
			}
		case token.DocumentHeaderType:
			open, flow = open[:0], 0
			documents++
		case token.SequenceEntryType, token.MappingKeyType, token.MappingValueType, token.AnchorType, token.TagType:
			if flow == 0 {
				if tk.Type == token.MappingValueType && tk.Prev != nil && tk.Prev.Position.Line == tk.Position.Line {
					column = tk.Prev.Position.Column // the key, which siblings share
				}
				for len(open) > 0 && open[len(open)-1].column > column {
					open = open[:len(open)-1]
				}
				if len(open) == 0 || open[len(open)-1].column < column {
					open = append(open, collection{column: column})
				}
			}
			// A key is counted at its colon, and at its question mark, which may stand alone; in a
			// flow map at its comma, since it may have neither.
			isKey := tk.Type == token.MappingValueType || tk.Type == token.MappingKeyType
			if isKey && len(open) > 0 && !open[len(open)-1].flowMap {
				open[len(open)-1].keys++
			}
		case token.CollectEntryType:
			if flow > 0 && open[len(open)-1].flowMap {
				open[len(open)-1].keys++
			}
		}
		switch {
		case len(open) > maxDepth:
			return atToken(tk, fmt.Sprintf("maps and lists are nested more than %d levels deep", maxDepth))
		case len(open) > 0 && open[len(open)-1].keys > maxKeys:
			return atToken(tk, fmt.Sprintf("a map has more than %d keys", maxKeys))
		case documents > maxDocuments:
			return atToken(tk, fmt.Sprintf("the file has more than %d YAML documents", maxDocuments))
		}
	}
	return nil
}

// aliasSizer counts the nodes of a document with every alias replaced by what it names.
type aliasSizer struct {
	anchors map[string]int // nodes below each anchor; -1 while its own value is being counted
}

func (s *aliasSizer) size(node ast.Node) (int, error) {
	total := 1
	add := func(child ast.Node) error {
		if child == nil {
			return nil
		}
		n, err := s.size(child)
		if err != nil {
			return err
		}
		if total += n; total > maxNodes {
			return at(child, fmt.Sprintf("the document has more than %d nodes once its aliases are expanded", maxNodes))
		}
		return nil
	}
	switch n := node.(type) {
	case *ast.MappingNode:
		for _, v := range n.Values {
			if err := add(v); err != nil {
				return 0, err
			}
		}
	case *ast.MappingValueNode:
		if err := add(n.Key); err != nil {
			return 0, err
		}
		if err := add(n.Value); err != nil {
			return 0, err
		}
	case *ast.MappingKeyNode:
		if err := add(n.Value); err != nil {
			return 0, err
		}
	case *ast.SequenceNode:
		for _, v := range n.Values {
			if err := add(v); err != nil {
				return 0, err
			}
		}
	case *ast.TagNode:
		if err := add(n.Value); err != nil {
			return 0, err
		}
	case *ast.AnchorNode:
		name := n.Name.String()
		s.anchors[name] = -1
		if err := add(n.Value); err != nil {
			return 0, err
		}
		s.anchors[name] = total
	case *ast.AliasNode:
		name := n.Value.String()
		size, known := s.anchors[name]
		switch {
		case !known:
			return 0, at(n, fmt.Sprintf("alias *%s names no anchor that comes before it", name))
		case size < 0:
			return 0, at(n, fmt.Sprintf("alias *%s stands inside its own anchor", name))
		}
		total += size
	}
	return total, nil
}

func at(node ast.Node, message string) *Error { return atToken(node.GetToken(), message) }

func atToken(tk *token.Token, message string) *Error {
	out := &Error{Message: message}
	if tk != nil && tk.Position != nil {
		out.Line, out.Column = tk.Position.Line, tk.Position.Column
	}
	return out
}
