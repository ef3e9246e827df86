package validate

import (
	"fmt"
	"io/fs"
	"math"
	"regexp"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/parser"

	"github.com/zarf-host/zarf-host/schema"
)

// shape is what one value of a schema may be, read from CUE once and immutable from then on.
type shape struct {
	kind cue.Kind // one concrete kind, or cue.TopKind for anything
	name string   // of its definition without the #, "" for one that stands inside another
	doc  string   // what the schema says about the definition

	// strings
	enum    []string
	pattern *regexp.Regexp
	want    string // what pattern asks for, in words

	// integers
	minimum int64

	// lists
	items    *shape
	minItems int

	// structs
	fields     map[string]*field
	order      []string // the names of fields, as the schema lists them
	rest       *shape   // the value of keys that fields does not name; nil where there are none
	extensible bool     // keys that start with x- may hold anything
	oneOf      []string // exactly one of these keys is given
}

// field is a key of a struct shape.
type field struct {
	shape      *shape
	required   bool
	deprecated string // what to use instead
	doc        string // what the schema says about the key
}

// compile builds the CUE package of one schema folder.
func compile(ctx *cue.Context, folder string) (cue.Value, error) {
	names, err := fs.Glob(schema.FS, folder+"/*.cue")
	if err != nil || len(names) == 0 {
		return cue.Value{}, fmt.Errorf("compiling schema %q: no such folder", folder)
	}
	instance := build.NewContext().NewInstance(folder, nil)
	for _, name := range names {
		data, err := fs.ReadFile(schema.FS, name)
		if err != nil {
			return cue.Value{}, fmt.Errorf("compiling schema %q: %w", folder, err)
		}
		file, err := parser.ParseFile(name, data, parser.ParseComments)
		if err != nil {
			return cue.Value{}, fmt.Errorf("compiling schema %q: %s", folder, errors.Details(err, nil))
		}
		if err := instance.AddSyntax(file); err != nil {
			return cue.Value{}, fmt.Errorf("compiling schema %q: %w", folder, err)
		}
	}
	if err := instance.Complete(); err != nil {
		return cue.Value{}, fmt.Errorf("compiling schema %q: %s", folder, errors.Details(err, nil))
	}
	value := ctx.BuildInstance(instance)
	if err := value.Err(); err != nil {
		return cue.Value{}, fmt.Errorf("compiling schema %q: %s", folder, errors.Details(err, nil))
	}
	return value, nil
}

// shapes reads shapes out of CUE values, each definition once.
type shapes struct {
	known map[string]*shape
}

// definitionShape returns the shape of one definition of a compiled folder, such as #Package.
func definitionShape(value cue.Value, folder, name string) (*shape, error) {
	root := value.LookupPath(cue.ParsePath(name))
	if !root.Exists() {
		return nil, fmt.Errorf("compiling schema %q: no definition %s", folder, name)
	}
	s := shapes{known: map[string]*shape{}}
	out, err := s.read(root, name)
	if err != nil {
		return nil, fmt.Errorf("reading schema %q: %w", folder, err)
	}
	out.name, out.doc = strings.TrimPrefix(name, "#"), comment(root)
	return out, nil
}

// read refuses what a shape cannot express, so that a schema never means more than is checked.
func (s *shapes) read(v cue.Value, where string) (*shape, error) {
	_, ref := v.ReferencePath()
	name := ref.String()
	if name != "" {
		if known, ok := s.known[name]; ok {
			return known, nil
		}
	}
	target := cue.Dereference(v)
	out := &shape{}
	if name != "" {
		s.known[name] = out
		out.name, out.doc = strings.TrimPrefix(name, "#"), comment(target)
	}
	for _, a := range target.Attributes(cue.ValueAttr) {
		switch a.Name() {
		case "want":
			out.want, _ = a.String(0)
		case "oneof":
			for i := range a.NumArgs() {
				key, _ := a.Arg(i)
				out.oneOf = append(out.oneOf, key)
			}
		}
	}
	if len(out.oneOf) > 0 {
		var err error
		if target, err = withoutOneOf(target, where); err != nil {
			return nil, err
		}
	}
	out.kind = target.IncompleteKind()
	var err error
	switch out.kind {
	case cue.TopKind, cue.BoolKind:
		if op, _ := target.Expr(); op != cue.NoOp || target.IsConcrete() {
			err = fmt.Errorf("%s: the constraint on a %v is not checked", where, out.kind)
		}
	case cue.IntKind:
		err = out.readInt(target, where)
	case cue.StringKind:
		err = out.readString(target, where)
	case cue.ListKind:
		err = s.readList(out, target, where)
	case cue.StructKind:
		err = s.readStruct(out, target, where)
	default:
		err = fmt.Errorf("%s: values of kind %v are not checked", where, out.kind)
	}
	return out, err
}

// withoutOneOf returns the struct beside the matchN that says in CUE what @oneof says in words.
func withoutOneOf(v cue.Value, where string) (cue.Value, error) {
	op, args := v.Expr()
	if op == cue.AndOp {
		for _, arg := range args {
			if arg.IncompleteKind() == cue.StructKind {
				return arg, nil
			}
		}
	}
	return cue.Value{}, fmt.Errorf("%s: @oneof stands beside no matchN", where)
}

func (out *shape) readString(v cue.Value, where string) error {
	op, args := v.Expr()
	switch op {
	case cue.OrOp:
		for _, arg := range args {
			text, err := arg.String()
			if err != nil {
				return fmt.Errorf("%s: an alternative is no plain string", where)
			}
			out.enum = append(out.enum, text)
		}
		return nil
	case cue.RegexMatchOp:
		text, err := args[0].String()
		if err != nil {
			return fmt.Errorf("%s: reading pattern: %w", where, err)
		}
		if out.want == "" {
			return fmt.Errorf("%s: a pattern without @want", where)
		}
		out.pattern, err = regexp.Compile(text)
		return err
	case cue.NoOp:
		if text, err := v.String(); err == nil {
			out.enum = []string{text}
		}
		return nil
	}
	return fmt.Errorf("%s: the string constraint %v is not checked", where, op)
}

// readInt takes int, or int with a minimum.
func (out *shape) readInt(v cue.Value, where string) error {
	out.minimum = math.MinInt64
	op, args := v.Expr()
	if op == cue.NoOp && !v.IsConcrete() {
		return nil
	}
	if op == cue.AndOp {
		for _, arg := range args {
			op, bound := arg.Expr()
			if op == cue.NoOp && !arg.IsConcrete() {
				continue
			}
			minimum, err := bound[0].Int64()
			if op != cue.GreaterThanEqualOp || err != nil {
				return fmt.Errorf("%s: the number constraint %v is not checked", where, op)
			}
			out.minimum = minimum
		}
		return nil
	}
	return fmt.Errorf("%s: the number constraint %v is not checked", where, op)
}

func (s *shapes) readList(out *shape, v cue.Value, where string) error {
	items, err := s.read(v.LookupPath(cue.MakePath(cue.AnyIndex)), where+"[]")
	if err != nil {
		return err
	}
	out.items = items
	for out.minItems = 0; v.LookupPath(cue.MakePath(cue.Index(out.minItems))).Exists(); out.minItems++ {
		if out.minItems == math.MaxInt16 {
			return fmt.Errorf("%s: a list of a fixed length is not checked", where)
		}
	}
	return nil
}

func (s *shapes) readStruct(out *shape, v cue.Value, where string) error {
	// A key that no schema names tells what happens to others.
	const probe = "probe\x00"
	if v.Allows(cue.Str(probe)) {
		out.rest = &shape{kind: cue.TopKind}
		if value := v.LookupPath(cue.MakePath(cue.AnyString)); value.Exists() {
			rest, err := s.read(value, where+".*")
			if err != nil {
				return err
			}
			out.rest = rest
		}
	} else {
		out.extensible = v.Allows(cue.Str("x-" + probe))
	}
	fields, err := v.Fields(cue.Optional(true))
	if err != nil {
		return fmt.Errorf("%s: %s", where, errors.Details(err, nil))
	}
	out.fields = map[string]*field{}
	for fields.Next() {
		name := fields.Selector().Unquoted()
		inner, err := s.read(fields.Value(), where+"."+name)
		if err != nil {
			return err
		}
		f := &field{shape: inner, required: fields.FieldType()&cue.RequiredConstraint != 0}
		if inner.doc != comment(fields.Value()) {
			f.doc = comment(fields.Value())
		}
		for _, a := range fields.Value().Attributes(cue.FieldAttr) {
			if a.Name() == "deprecated" {
				f.deprecated, _ = a.String(0)
			}
		}
		out.fields[name] = f
		out.order = append(out.order, name)
	}
	return nil
}

// comment returns what a schema says about a value, on one line.
func comment(v cue.Value) string {
	var words []string
	for _, group := range v.Doc() {
		words = append(words, strings.Fields(group.Text())...)
	}
	return strings.TrimPrefix(strings.Join(words, " "), "#")
}

// newContext makes the CUE context that the schemas of one Validator are compiled in.
func newContext() *cue.Context { return cuecontext.New() }

// allowsKey reports whether a struct may hold the key.
func (s *shape) allowsKey(key string) bool {
	_, named := s.fields[key]
	return named || s.rest != nil || s.extensible && strings.HasPrefix(key, "x-")
}

// describe says in a few words what the shape wants.
func (s *shape) describe() string {
	switch s.kind {
	case cue.StringKind:
		switch {
		case s.want != "":
			return s.want
		case len(s.enum) == 1:
			return strconv.Quote(s.enum[0])
		case len(s.enum) > 0:
			return "one of " + quoteAll(s.enum)
		}
		return "a string"
	case cue.BoolKind:
		return "true or false"
	case cue.IntKind:
		if s.minimum > math.MinInt64 {
			return fmt.Sprintf("a whole number, at least %d", s.minimum)
		}
		return "a whole number"
	case cue.ListKind:
		return "a list"
	case cue.StructKind:
		return "a map"
	}
	return "a value"
}

func quoteAll(names []string) string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = strconv.Quote(name)
	}
	return strings.Join(out, ", ")
}
