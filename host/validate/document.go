package validate

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/zarf-host/zarf-host/host/definition"
)

// kind is what a YAML node holds, after aliases, merges and tags.
type kind int

const (
	nullKind kind = iota
	boolKind
	intKind
	floatKind
	stringKind
	listKind
	mapKind
)

// position is a place in the file, counted from 1.
type position struct{ line, column int }

// node is a YAML value as Zarf reads it, with the place where the user wrote it. Nodes that come
// through an alias are shared and keep the place of their anchor.
type node struct {
	kind kind
	at   position
	// text is a scalar's value as YAML means it, for messages and comparisons.
	text string
	// whole is true for a number without a fraction, however it is written; number is its value,
	// the largest where that has no place for it.
	whole  bool
	number int64
	keys   []entry
	items  []*node
	// source is the node in the library's own form, for decoding; nil for a value that was no file.
	source ast.Node
}

// entry is a key of a map with its value.
type entry struct {
	key   string
	at    position
	value *node
}

// get returns the value of a key.
func (n *node) get(key string) (entry, bool) {
	for _, e := range n.keys {
		if e.key == key {
			return e, true
		}
	}
	return entry{}, false
}

// find follows a path as far as the document goes and returns the place of what it names: the
// value of a list item, the key of a map. The place of the last thing found stands in for the rest.
func (n *node) find(p path) position {
	at := n.at
	for _, step := range p {
		switch step := step.(type) {
		case int:
			if step >= len(n.items) {
				return at
			}
			n = n.items[step]
			at = n.at
		case string:
			e, ok := n.get(step)
			if !ok {
				return at
			}
			n, at = e.value, e.at
		}
	}
	return at
}

// converter turns the library's tree into nodes, resolving aliases and merges in document order.
type converter struct {
	lines   []string // the file, to correct places
	anchors map[string]*node
}

// newDocument converts one document of a file. Its errors are those of definition.
func newDocument(doc *ast.DocumentNode, lines []string) (*node, error) {
	c := converter{lines: lines, anchors: map[string]*node{}}
	return c.convert(doc.Body)
}

func (c *converter) convert(n ast.Node) (*node, error) {
	out := &node{at: c.placeOf(n), source: n}
	switch n := n.(type) {
	case *ast.NullNode:
		out.text = "null"
	case *ast.BoolNode:
		out.kind, out.text = boolKind, strconv.FormatBool(n.Value)
	case *ast.IntegerNode:
		out.setInt(fmt.Sprint(n.Value))
	case *ast.FloatNode:
		out.setFloat(n.Value)
	case *ast.InfinityNode:
		out.kind, out.text = floatKind, fmt.Sprint(n.Value)
	case *ast.NanNode:
		out.kind, out.text = floatKind, "NaN"
	case *ast.StringNode:
		out.kind, out.text = stringKind, n.Value
	case *ast.LiteralNode:
		out.kind, out.text = stringKind, n.Value.Value
	case *ast.MappingNode:
		return out, c.addAll(out, n.Values)
	case *ast.MappingValueNode:
		return out, c.addAll(out, []*ast.MappingValueNode{n})
	case *ast.SequenceNode:
		out.kind = listKind
		for _, v := range n.Values {
			item, err := c.convert(v)
			if err != nil {
				return nil, err
			}
			out.items = append(out.items, item)
		}
	case *ast.AnchorNode:
		value, err := c.convert(n.Value)
		if err != nil {
			return nil, err
		}
		c.anchors[n.Name.String()] = value
		return value, nil
	case *ast.AliasNode:
		anchor, ok := c.anchors[n.Value.String()]
		if !ok {
			return nil, &definition.Error{Line: out.at.line, Column: out.at.column, Message: fmt.Sprintf("alias *%s names no anchor that comes before it", n.Value.String())}
		}
		if anchor.kind == listKind || anchor.kind == mapKind {
			return anchor, nil
		}
		// A scalar is wrong where it is used, not where it was written first.
		shared := *anchor
		shared.at = out.at
		return &shared, nil
	case *ast.TagNode:
		return c.convertTagged(n, out)
	default:
		return nil, &definition.Error{Line: out.at.line, Column: out.at.column, Message: "this YAML is not understood"}
	}
	return out, nil
}

// convertTagged lets the library work out what a tagged scalar means; tags on maps and lists
// change nothing.
func (c *converter) convertTagged(n *ast.TagNode, out *node) (*node, error) {
	switch n.Value.(type) {
	case *ast.MappingNode, *ast.MappingValueNode, *ast.SequenceNode, *ast.AnchorNode, *ast.AliasNode:
		return c.convert(n.Value)
	}
	var value any
	if err := definition.Decode(n, &value); err != nil {
		return nil, err
	}
	switch v := value.(type) {
	case nil:
		out.text = "null"
	case bool:
		out.kind, out.text = boolKind, strconv.FormatBool(v)
	case float64:
		out.setFloat(v)
	case int, int64, uint64:
		out.setInt(fmt.Sprint(v))
	default:
		out.kind, out.text = stringKind, fmt.Sprint(v)
	}
	return out, nil
}

func (n *node) setInt(text string) {
	n.kind, n.text, n.whole = intKind, text, true
	n.number, _ = strconv.ParseInt(text, 10, 64) // out of range, it is the nearest bound
}

func (n *node) setFloat(v float64) {
	n.kind, n.text = floatKind, strconv.FormatFloat(v, 'g', -1, 64)
	n.whole = v == math.Trunc(v) && !math.IsInf(v, 0)
	n.number = int64(max(min(v, math.MaxInt32), math.MinInt32))
}

// addAll puts key-value pairs into a map. A later key replaces an earlier one of the same name,
// which only a merge can bring about: the parser refuses keys that are written twice.
func (c *converter) addAll(out *node, pairs []*ast.MappingValueNode) error {
	out.kind = mapKind
	if len(pairs) > 0 && !isFlow(out.source) {
		out.at = c.placeOf(pairs[0].Key)
	}
	index := map[string]int{}
	put := func(e entry) {
		if i, ok := index[e.key]; ok {
			out.keys[i] = e
			return
		}
		index[e.key] = len(out.keys)
		out.keys = append(out.keys, e)
	}
	for _, pair := range pairs {
		value, err := c.convert(pair.Value)
		if err != nil {
			return err
		}
		at := c.placeOf(pair.Key)
		if pair.Key.IsMergeKey() {
			if err := merge(value, at, put); err != nil {
				return err
			}
			continue
		}
		key, err := c.convert(pair.Key)
		if err != nil {
			return err
		}
		if value.kind == nullKind && value.source == pair.Value && isImplicit(pair.Value) {
			value.at = at
		}
		put(entry{key: key.text, at: at, value: value})
	}
	return nil
}

// merge adds the keys of a map, or of each map in a list, as `<<` asks for.
func merge(value *node, at position, put func(entry)) error {
	switch value.kind {
	case nullKind:
		return nil
	case mapKind:
		for _, e := range value.keys {
			put(e)
		}
		return nil
	case listKind:
		for _, item := range value.items {
			if err := merge(item, at, put); err != nil {
				return err
			}
		}
		return nil
	}
	return &definition.Error{Line: at.line, Column: at.column, Message: "<< wants a map to merge"}
}

// isFlow reports whether a map is written in braces.
func isFlow(n ast.Node) bool {
	m, ok := n.(*ast.MappingNode)
	return ok && m.IsFlowStyle
}

// isImplicit reports whether a null is no more than a missing value.
func isImplicit(n ast.Node) bool {
	tk := n.GetToken()
	return tk == nil || tk.Type == token.ImplicitNullType || tk.Value == ""
}

// placeOf returns where a node starts. The library counts white space after a plain scalar into
// its column, so a plain scalar is looked for on its line from there to the left.
func (c *converter) placeOf(n ast.Node) position {
	if k, ok := n.(*ast.MappingKeyNode); ok {
		n = k.Value
	}
	tk := n.GetToken()
	if tk == nil || tk.Position == nil {
		return position{}
	}
	at := position{line: tk.Position.Line, column: tk.Position.Column}
	if tk.Type != token.StringType || at.line < 1 || at.line > len(c.lines) {
		return at
	}
	words := strings.Fields(tk.Value)
	if len(words) == 0 {
		return at
	}
	line, word := []rune(c.lines[at.line-1]), words[0]
	for column := min(at.column, len(line)); column >= 1; column-- {
		if strings.HasPrefix(string(line[column-1:min(len(line), column-1+len(word))]), word) {
			at.column = column
			break
		}
	}
	return at
}
