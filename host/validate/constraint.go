package validate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/token"

	"github.com/zarf-host/zarf-host/host/definition"
)

// Constraint is what a policy demands of a document, as CUE that is unified with it. One Constraint
// is not for concurrent use.
type Constraint struct{ value cue.Value }

// rulePolicy is the rule of the faults that a Constraint finds.
const rulePolicy = "policy"

// Definition holds a package definition, YAML as it is in a file, against the constraint. The name
// appears in the diagnostics.
func (c *Constraint) Definition(name string, data []byte) Result {
	r := &report{file: name}
	docs, err := definition.ReadYAML(data)
	if err != nil {
		r.unreadable(err)
		return r.result()
	}
	for _, doc := range docs {
		root, err := newDocument(doc, strings.Split(string(data), "\n"))
		if err != nil {
			r.unreadable(err)
			continue
		}
		c.check(r, root)
	}
	return r.result()
}

// Value holds whatever marshals to JSON against the constraint. Values of it do not appear in the
// diagnostics: it may be a configuration.
func (c *Constraint) Value(name string, value any) (Result, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return Result{}, fmt.Errorf("writing the %s: %w", name, err)
	}
	tree, err := decodeJSON(data)
	if err != nil {
		return Result{}, fmt.Errorf("reading the %s: %w", name, err)
	}
	r := &report{file: name}
	c.check(r, fromJSON(tree))
	return r.result(), nil
}

func decodeJSON(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var tree any
	err := dec.Decode(&tree)
	return tree, err
}

// check reports each place at which the document is not what the constraint wants. Nothing that CUE
// says is shown, since that repeats values: only the place, the policy's own words, else its constraint.
func (c *Constraint) check(r *report, root *node) {
	document := cuecontext.New().BuildExpr(root.expr())
	err := c.value.Unify(document).Validate(cue.Concrete(true), cue.All())
	seen := map[string]bool{}
	violated := func(where path) {
		message := c.words(where)
		if key := where.String() + "\x00" + message; !seen[key] {
			seen[key] = true
			r.add(root.find(where), where, Error, rulePolicy, message, "")
		}
	}
	above := len(c.value.Path().Selectors())
	for _, e := range errors.Errors(err) {
		steps := e.Path()
		violated(pathOf(steps[min(above, len(steps)):], root))
	}
	demanded(c.value, root, nil, violated)
	if err != nil && len(r.list) == 0 { // an error without parts is one all the same
		violated(nil)
	}
}

// demanded finds what a constraint wants to be there and the document, nil where it has nothing, lacks.
// CUE tells of it only where nothing else is wrong, and would add a value that is fixed by itself.
func demanded(v cue.Value, n *node, where path, missing func(path)) {
	switch v.IncompleteKind() {
	case cue.StructKind:
		fields, err := v.Fields(cue.Optional(true))
		if err != nil {
			return // no document is right, which CUE tells
		}
		for fields.Next() {
			key, inner := fields.Selector().Unquoted(), fields.Value()
			given := given(n, key)
			optional := fields.FieldType()&cue.OptionalConstraint != 0
			switch {
			case given != nil:
				demanded(inner, given, where.with(key), missing)
			case fields.FieldType()&cue.RequiredConstraint != 0:
				missing(where.with(key))
			case optional:
			case inner.IncompleteKind() == cue.StructKind:
				demanded(inner, nil, where.with(key), missing)
			case !defaulted(inner):
				missing(where.with(key))
			}
		}
	case cue.ListKind:
		if n == nil || n.kind != listKind {
			return
		}
		for i, item := range n.items {
			if inner := stepInto(v, i); inner.Exists() {
				demanded(inner, item, where.with(i), missing)
			}
		}
	}
}

func given(n *node, key string) *node {
	if n == nil {
		return nil
	}
	e, _ := n.get(key)
	return e.value
}

// defaulted reports whether a constraint is content with nothing: it has a default, or is a list that may
// be empty.
func defaulted(v cue.Value) bool {
	if _, has := v.Default(); has && !v.IsConcrete() {
		return true
	}
	return v.IncompleteKind() == cue.ListKind && !v.LookupPath(cue.MakePath(cue.Index(0))).Exists()
}

// expr is the node as CUE has it.
func (n *node) expr() ast.Expr {
	switch n.kind {
	case boolKind:
		return ast.NewBool(n.text == "true")
	case intKind, floatKind:
		if strings.ContainsAny(n.text, "IiNn") { // no number that CUE or JSON have
			return ast.NewString(n.text)
		}
		return numeral(n.text)
	case stringKind:
		return ast.NewString(n.text)
	case listKind:
		items := make([]ast.Expr, len(n.items))
		for i, item := range n.items {
			items[i] = item.expr()
		}
		return ast.NewList(items...)
	case mapKind:
		fields := &ast.StructLit{}
		for _, e := range n.keys {
			fields.Elts = append(fields.Elts, &ast.Field{Label: ast.NewString(e.key), Value: e.value.expr()})
		}
		return fields
	}
	return ast.NewNull()
}

// numeral is a number; CUE writes the sign of a negative one as an operator.
func numeral(text string) ast.Expr {
	kind := token.INT
	if strings.ContainsAny(text, ".eE") {
		kind = token.FLOAT
	}
	if rest, negative := strings.CutPrefix(text, "-"); negative {
		return &ast.UnaryExpr{Op: token.SUB, X: ast.NewLit(kind, rest)}
	}
	return ast.NewLit(kind, text)
}

// pathOf reads a path of CUE's, whose steps are words, beside the document.
func pathOf(steps []string, root *node) path {
	var out path
	at := root
	for _, step := range steps {
		if at != nil && at.kind == listKind {
			i := 0
			if _, err := fmt.Sscanf(step, "%d", &i); err != nil || i < 0 {
				return out
			}
			out = out.with(i)
			if i < len(at.items) {
				at = at.items[i]
			} else {
				at = nil
			}
			continue
		}
		if selectors := cue.ParsePath(step).Selectors(); len(selectors) == 1 && selectors[0].IsString() {
			step = selectors[0].Unquoted()
		}
		out = out.with(step)
		var next *node
		if at != nil {
			if e, ok := at.get(step); ok {
				next = e.value
			}
		}
		at = next
	}
	return out
}

// words is what the policy says to whoever violates it at a place: the message nearest to it, else what
// the constraint there is.
func (c *Constraint) words(where path) string {
	at, message := c.value, ""
	read := func(v cue.Value) {
		for _, a := range v.Attributes(cue.ValueAttr | cue.FieldAttr) {
			if text, err := a.String(0); err == nil && a.Name() == "message" {
				message = text
			}
		}
	}
	read(at)
	deepest := at
	for _, step := range where {
		if at = stepInto(at, step); !at.Exists() {
			break
		}
		deepest = at
		read(at)
	}
	if message != "" {
		return message
	}
	return "the policy wants " + shownConstraint(deepest)
}

// stepInto is what a constraint says of a part of what it is about.
func stepInto(v cue.Value, step any) cue.Value {
	var paths []cue.Path
	switch step := step.(type) {
	case int:
		paths = []cue.Path{cue.MakePath(cue.Index(step)), cue.MakePath(cue.AnyIndex)}
	case string:
		paths = []cue.Path{cue.MakePath(cue.Str(step)), cue.MakePath(cue.Str(step).Optional()), cue.MakePath(cue.Str(step).Required()), cue.MakePath(cue.AnyString)}
	}
	for _, p := range paths {
		if found := v.LookupPath(p); found.Exists() {
			return found
		}
	}
	return cue.Value{}
}

// maxShown is how much of a constraint an error shows.
const maxShown = 200

// shownConstraint is a constraint on one line.
func shownConstraint(v cue.Value) string {
	text, err := format.Node(v.Syntax(cue.Raw()), format.Simplify())
	if err != nil {
		return "something else here"
	}
	line := strings.Join(strings.Fields(string(text)), " ")
	if len(line) > maxShown {
		line = line[:maxShown] + "…"
	}
	return line
}
