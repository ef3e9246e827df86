package chart

import (
	"cmp"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"text/template/parse"

	helmchart "helm.sh/helm/v3/pkg/chart"
)

// unknowable are the template functions whose results cannot be known before apply: they read the
// clock, randomness or the cluster.
var unknowable = regexp.MustCompile(`^(now|date.*|ago|htmlDate.*|unixEpoch|rand.*|shuffle|gen.*|uuidv4|htpasswd|bcrypt|lookup|getHostByName)$`)

// unknowableFields are the fields of which the same is true.
var unknowableFields = []string{".Capabilities.APIVersions", ".Release.Revision"}

// unknownTemplates returns the templates of a chart, by path, whose output can be known only after
// apply, and why. What a template includes counts as its own.
// Values count as the template that tpl renders.
func unknownTemplates(ch *helmchart.Chart, values map[string]any) map[string]string {
	uses := map[string]templateUse{} // by the name of the template, defined ones included
	collectTemplates(ch, uses)
	var inValues templateUse
	inValues.values(values)
	uses[valuesTemplate] = inValues
	out := map[string]string{}
	for name, use := range uses {
		if !use.isFile {
			continue
		}
		if why := trace(name, uses, map[string]bool{}); why != "" {
			out[name] = why
		}
	}
	return out
}

// templateUse is what a template uses itself.
type templateUse struct {
	isFile   bool
	why      string
	includes []string
	suffixes []string // ends of the names that it includes, where a name is computed
}

// valuesTemplate stands for whatever templates values hold.
const valuesTemplate = "\x00values"

func (u *templateUse) values(value any) {
	switch v := value.(type) {
	case map[string]any:
		for _, item := range v {
			u.values(item)
		}
	case []any:
		for _, item := range v {
			u.values(item)
		}
	case string:
		if strings.Contains(v, "{{") {
			for _, use := range parseTemplate("value", v) {
				u.includes = append(u.includes, use.includes...)
				u.suffixes = append(u.suffixes, use.suffixes...)
				u.why = cmp.Or(u.why, use.why)
			}
		}
	}
}

func collectTemplates(ch *helmchart.Chart, uses map[string]templateUse) {
	for _, f := range ch.Templates {
		name := path.Join(ch.ChartFullPath(), f.Name)
		for defined, use := range parseTemplate(name, string(f.Data)) {
			use.isFile = defined == name
			uses[defined] = use
		}
	}
	for _, sub := range ch.Dependencies() {
		collectTemplates(sub, uses)
	}
}

func parseTemplate(name, text string) map[string]templateUse {
	tree := parse.New(name)
	tree.Mode = parse.SkipFuncCheck
	trees := map[string]*parse.Tree{}
	if _, err := tree.Parse(text, "", "", trees); err != nil {
		return nil // the engine reports it with more context
	}
	uses := make(map[string]templateUse, len(trees))
	for defined, t := range trees {
		var use templateUse
		if t.Root != nil {
			use.walk(t.Root)
		}
		uses[defined] = use
	}
	return uses
}

func (u *templateUse) walk(node parse.Node) {
	switch n := node.(type) {
	case *parse.ListNode:
		if n == nil {
			return
		}
		for _, child := range n.Nodes {
			u.walk(child)
		}
	case *parse.ActionNode:
		u.walk(n.Pipe)
	case *parse.PipeNode:
		if n == nil {
			return
		}
		for _, cmd := range n.Cmds {
			u.command(cmd)
		}
	case *parse.IfNode:
		u.branch(&n.BranchNode)
	case *parse.RangeNode:
		u.branch(&n.BranchNode)
	case *parse.WithNode:
		u.branch(&n.BranchNode)
	case *parse.TemplateNode:
		u.includes = append(u.includes, n.Name)
		u.walk(n.Pipe)
	case *parse.IdentifierNode:
		if unknowable.MatchString(n.Ident) {
			u.because("function " + n.Ident)
		}
	case *parse.ChainNode:
		u.walk(n.Node)
		u.field("." + strings.Join(n.Field, "."))
	case *parse.FieldNode:
		u.field("." + strings.Join(n.Ident, "."))
	case *parse.VariableNode:
		if len(n.Ident) > 1 {
			u.field("." + strings.Join(n.Ident[1:], "."))
		}
	}
}

func (u *templateUse) branch(n *parse.BranchNode) {
	u.walk(n.Pipe)
	u.walk(n.List)
	u.walk(n.ElseList)
}

func (u *templateUse) command(cmd *parse.CommandNode) {
	if len(cmd.Args) > 0 {
		if id, ok := cmd.Args[0].(*parse.IdentifierNode); ok {
			switch {
			case id.Ident == "tpl":
				u.includes = append(u.includes, valuesTemplate)
			case id.Ident == "include" && len(cmd.Args) > 1:
				u.include(cmd.Args[1])
			}
		}
	}
	for _, arg := range cmd.Args {
		u.walk(arg)
	}
}

// include notes what is included; of a computed name, such as that of a file whose digest is taken
// (print $.Template.BasePath "/config.yaml"), the literal that it ends in.
func (u *templateUse) include(name parse.Node) {
	switch n := name.(type) {
	case *parse.StringNode:
		u.includes = append(u.includes, n.Text)
	case *parse.PipeNode:
		if len(n.Cmds) == 0 {
			return
		}
		args := n.Cmds[0].Args
		if last, ok := args[len(args)-1].(*parse.StringNode); ok && last.Text != "" {
			u.suffixes = append(u.suffixes, last.Text)
		}
	}
}

func (u *templateUse) field(name string) {
	for _, unknown := range unknowableFields {
		if name == unknown || strings.HasPrefix(name, unknown+".") {
			u.because("field " + unknown)
		}
	}
}

func (u *templateUse) because(why string) {
	if u.why == "" {
		u.why = "its template uses " + why
	}
}

// trace follows what a template includes.
func trace(name string, uses map[string]templateUse, seen map[string]bool) string {
	if seen[name] {
		return ""
	}
	seen[name] = true
	use := uses[name]
	if use.why != "" {
		return use.why
	}
	next := slices.Clone(use.includes)
	for _, end := range use.suffixes {
		for _, other := range slices.Sorted(maps.Keys(uses)) {
			if strings.HasSuffix(other, end) {
				next = append(next, other)
			}
		}
	}
	for _, n := range next {
		if why := trace(n, uses, seen); why != "" {
			return why
		}
	}
	return ""
}

// markKnownAfterApply gives each object of first its reason, if it has one: its template's, or that
// the second run rendered something else.
func markKnownAfterApply(first, second *rendering) {
	const differs = "two renders of it differ"
	other := map[string][]string{}
	for _, p := range second.result.pieces {
		other[p.source] = append(other[p.source], p.text)
	}
	count := map[string]int{}
	for _, p := range first.result.pieces {
		count[p.source]++
	}
	at := map[string]int{}
	first.reasons = make([]string, len(first.result.objects))
	for i, p := range first.result.pieces {
		n := at[p.source]
		at[p.source]++
		texts := other[p.source]
		switch {
		case first.unknown[p.source] != "":
			first.reasons[i] = first.unknown[p.source]
		case len(texts) != count[p.source] || texts[n] != p.text:
			first.reasons[i] = differs
		}
	}
	for i, h := range first.hooks {
		if first.unknown[h.Path] == "" && (i >= len(second.hooks) || second.hooks[i].Manifest != h.Manifest) {
			first.unknown[h.Path] = differs
		}
	}
}
