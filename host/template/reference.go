package template

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/template/parse"

	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/value"
)

// Reference is one place of a Go template that names something of its objects.
type Reference struct {
	Path []string // Values, web, replicas
	Line int
}

// String is the reference as the template has it.
func (r Reference) String() string { return "." + strings.Join(r.Path, ".") }

// Settable is what actions may set while an operation runs.
type Settable struct {
	Variables map[string]bool // by upper-case name
	Values    [][]string      // by path; the empty path is the whole
}

// SettableBy returns what actions may set.
func SettableBy(actions []spec.Action) Settable {
	out := Settable{Variables: map[string]bool{}}
	for _, a := range actions {
		if a.SetVariable != "" {
			out.Variables[strings.ToUpper(a.SetVariable)] = true
		}
		for _, v := range a.SetVariables {
			out.Variables[strings.ToUpper(v.Name)] = true
		}
		for _, v := range a.SetValues {
			// A key that is no path fails when the action runs, so it sets nothing.
			if path, err := value.ParsePath(cmp.Or(v.Key, ".")); err == nil {
				out.Values = append(out.Values, path)
			}
		}
	}
	return out
}

// Empty reports whether actions set nothing.
func (s Settable) Empty() bool { return len(s.Variables)+len(s.Values) == 0 }

// Value reports whether an action may set the value at a path, something in it or something that
// holds it.
func (s Settable) Value(path []string) bool {
	return slices.ContainsFunc(s.Values, func(set []string) bool { return value.Overlap(set, path) })
}

func (s Settable) sets(path []string) bool {
	switch {
	case len(path) < 2:
		return false
	case path[0] == "Values":
		return s.Value(path[1:])
	case path[0] == "Variables":
		return s.Variables[path[1]]
	default:
		return false
	}
}

// Findings are what is known of a Go template before it is executed.
type Findings struct {
	// Missing are the references to what does not exist and no action sets.
	Missing []Reference
	// Unsettled says why what it renders is known only when it is applied; empty means it is not.
	Unsettled []string
}

// Inspect looks for references to values, variables, constants and state that do not exist,
// branches that may never run included, as Zarf does. Text templates are filled first, as Render
// does it, where fill is set.
func (o Objects) Inspect(content []byte, settable Settable, fill bool, load Loader) (Findings, error) {
	filled := content
	if fill {
		var err error
		if filled, err = o.Variables.Fill(content, load); err != nil {
			return Findings{}, err
		}
	}
	parsed, err := parseFilled(content, filled)
	if err != nil {
		return Findings{}, err
	}
	var w walker
	for _, t := range parsed.Templates() {
		w.tree = t.Tree
		w.walk(t.Root, true) // a defined template is handed the whole by convention
	}
	slices.SortStableFunc(w.references, func(a, b Reference) int { return a.Line - b.Line })

	data := o.data()
	var out Findings
	for _, r := range w.references {
		switch {
		case settable.sets(r.Path):
			out.Unsettled = append(out.Unsettled, fmt.Sprintf("%s is set by an action", r))
		case !exists(data, r.Path):
			out.Missing = append(out.Missing, r)
		}
	}
	for _, name := range w.functions {
		if unsettled(name) {
			out.Unsettled = append(out.Unsettled, name+" gives something else each time")
		}
	}
	slices.Sort(out.Unsettled)
	out.Unsettled = slices.Compact(out.Unsettled)
	return out, nil
}

// Explain says what is wrong with a missing reference and what to do about it.
func (o Objects) Explain(r Reference) string {
	last := r.Path[len(r.Path)-1]
	switch name := strings.Join(r.Path[1:], "."); {
	case r.Path[0] == "Values" && name != "":
		return fmt.Sprintf("%s is given nowhere: give it with --set-values %s=VALUE or in a file with --values", r, name)
	case r.Path[0] == "Variables" && name != "":
		return fmt.Sprintf("%s is set nowhere: set it with --set-variables %s=VALUE", r, name)
	case r.Path[0] == "State" && o.State == nil:
		return fmt.Sprintf("%s does not exist: no state of Zarf is known here", r)
	case r.Path[0] == "State" && isCredential(last):
		return fmt.Sprintf("%s exists only for components whose stateAccess asks for it", r)
	case r.Path[0] == "Pkg":
		return fmt.Sprintf("%s does not exist: actions have no .Pkg", r)
	default:
		return fmt.Sprintf("%s does not exist", r)
	}
}

// exists reports whether a path can be followed. What is no map (.Pkg, a value's text) is left to
// the template's execution, which knows its fields.
func exists(data map[string]any, path []string) bool {
	for i, key := range path {
		below, ok := data[key]
		if !ok {
			return false
		}
		next, isMap := below.(map[string]any)
		if !isMap {
			_, isPackage := below.(Package)
			return isPackage || i == len(path)-1
		}
		data = next
	}
	return true
}

// unsettled reports whether a function gives something else each time it is called.
func unsettled(name string) bool {
	for _, prefix := range []string{"rand", "gen", "now", "ago", "uuidv4", "htpasswd", "bcrypt", "shuffle", "encryptAES"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// walker gathers references and functions of a parsed template.
type walker struct {
	tree       *parse.Tree
	references []Reference
	functions  []string
}

// walk visits a node; whole says whether the dot is the whole of the objects there.
func (w *walker) walk(node parse.Node, whole bool) {
	switch n := node.(type) {
	case *parse.ListNode:
		if n == nil {
			return
		}
		for _, child := range n.Nodes {
			w.walk(child, whole)
		}
	case *parse.ActionNode:
		w.walk(n.Pipe, whole)
	case *parse.TemplateNode:
		w.walk(n.Pipe, whole)
	case *parse.PipeNode:
		if n == nil {
			return
		}
		for _, c := range n.Cmds {
			for _, arg := range c.Args {
				w.walk(arg, whole)
			}
		}
	case *parse.IfNode:
		w.branch(&n.BranchNode, whole, whole)
	case *parse.WithNode:
		w.branch(&n.BranchNode, whole, whole && isDot(n.Pipe))
	case *parse.RangeNode:
		w.branch(&n.BranchNode, whole, false)
	case *parse.ChainNode:
		w.chain(n, whole)
	case *parse.FieldNode:
		if whole {
			w.refer(n, n.Ident)
		}
	case *parse.VariableNode:
		if n.Ident[0] == "$" && len(n.Ident) > 1 {
			w.refer(n, n.Ident[1:])
		}
	case *parse.IdentifierNode:
		w.functions = append(w.functions, n.Ident)
	}
}

func (w *walker) branch(n *parse.BranchNode, whole, inside bool) {
	w.walk(n.Pipe, whole)
	w.walk(n.List, inside)
	w.walk(n.ElseList, whole)
}

// chain is (…).Field: what is in the parentheses may itself be a reference that goes on.
func (w *walker) chain(n *parse.ChainNode, whole bool) {
	pipe, ok := n.Node.(*parse.PipeNode)
	if ok && len(pipe.Cmds) == 1 && len(pipe.Cmds[0].Args) == 1 {
		if field, ok := pipe.Cmds[0].Args[0].(*parse.FieldNode); ok && whole {
			w.refer(n, slices.Concat(field.Ident, n.Field))
			return
		}
	}
	w.walk(n.Node, whole)
}

func isDot(pipe *parse.PipeNode) bool {
	if len(pipe.Cmds) != 1 || len(pipe.Cmds[0].Args) != 1 {
		return false
	}
	switch n := pipe.Cmds[0].Args[0].(type) {
	case *parse.DotNode:
		return true
	case *parse.VariableNode:
		return len(n.Ident) == 1 && n.Ident[0] == "$"
	}
	return false
}

func (w *walker) refer(n parse.Node, path []string) {
	location, _ := w.tree.ErrorContext(n) // t:LINE:COLUMN
	var line int
	if _, err := fmt.Sscanf(strings.TrimPrefix(location, parseName+":"), "%d", &line); err != nil {
		line = 0 // only a line less in a message
	}
	w.references = append(w.references, Reference{Path: slices.Clone(path), Line: line})
}
