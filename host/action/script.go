package action

import (
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// zarfWord is how a package calls the program that deploys it.
const zarfWord = "./zarf"

// call is one use of ./zarf in a script.
type call struct {
	from, to int      // where the word, or the text that holds it, is in the script
	nested   bool     // the range is a quoted script for another shell
	args     []string // the words after it; one that only the shell knows is empty
}

// calls finds the uses of ./zarf in a script: as a command, after a command that runs another one
// (timeout, xargs), in substitutions, and in scripts handed to "sh -c" and "eval". The result is
// false if the script is not in a language that can be read.
func calls(script string) ([]call, bool) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "")
	if err != nil {
		return nil, false
	}
	var found []call
	syntax.Walk(file, func(node syntax.Node) bool {
		if c, ok := node.(*syntax.CallExpr); ok {
			found = append(found, callsOf(c)...)
		}
		return true
	})
	slices.SortFunc(found, func(a, b call) int { return a.from - b.from })
	return found, true
}

func callsOf(c *syntax.CallExpr) []call {
	var found []call
	words := make([]string, len(c.Args))
	for i, w := range c.Args {
		words[i] = literal(w)
	}
	inner := scriptArgument(words)
	for i, w := range c.Args {
		from, to := int(w.Pos().Offset()), int(w.End().Offset())
		switch {
		case words[i] == zarfWord:
			found = append(found, call{from: from, to: to, args: words[i+1:]})
		case i == inner && strings.Contains(words[i], zarfWord):
			deeper, ok := calls(words[i])
			if !ok {
				deeper = roughCalls(words[i])
			}
			for _, d := range deeper {
				found = append(found, call{from: from, to: to, nested: true, args: d.args})
			}
		}
	}
	return found
}

// scriptArgument returns the index of the word that is a script of its own, or -1.
func scriptArgument(words []string) int {
	for i, w := range words {
		switch w[strings.LastIndexByte(w, '/')+1:] {
		case "eval":
			if i+1 < len(words) {
				return i + 1
			}
		case "sh", "bash", "dash", "ash", "ksh", "zsh":
			for j := i + 1; j+1 < len(words) && strings.HasPrefix(words[j], "-"); j++ {
				if strings.HasSuffix(words[j], "c") {
					return j + 1
				}
			}
		}
	}
	return -1
}

// literal returns the text of a word that holds no expansion, else "".
func literal(w *syntax.Word) string {
	var text strings.Builder
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			text.WriteString(p.Value)
		case *syntax.SglQuoted:
			text.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok {
					return ""
				}
				text.WriteString(lit.Value)
			}
		default:
			return ""
		}
	}
	return text.String()
}

// roughCalls finds calls in a script that cannot be parsed, by its text alone.
func roughCalls(script string) []call {
	var found []call
	for _, at := range regexp.MustCompile(`\./zarf[ \t]+([^\n;|&)]*)`).FindAllStringSubmatchIndex(script, -1) {
		found = append(found, call{from: at[0], to: at[0] + len(zarfWord), args: strings.Fields(script[at[2]:at[3]])})
	}
	return found
}

// rewrite makes the uses of ./zarf in a script call self. Text that only mentions it stays.
func rewrite(script, self string, posix bool) string {
	found, ok := []call(nil), false
	if posix {
		found, ok = calls(script)
	}
	if !ok {
		return replaceText(script, self)
	}
	quoted, err := syntax.Quote(self, syntax.LangPOSIX)
	if err != nil {
		return script // a path that no shell can name
	}
	var out strings.Builder
	done := 0
	for _, c := range found {
		if c.from < done {
			continue // a nested script with several calls was replaced as a whole
		}
		out.WriteString(script[done:c.from])
		if c.nested {
			out.WriteString(replaceText(script[c.from:c.to], self))
		} else {
			out.WriteString(quoted)
		}
		done = c.to
	}
	return out.String() + script[done:]
}

// replaceText replaces by text alone, where quoting the path could break the quotes around it.
func replaceText(text, self string) string {
	return strings.ReplaceAll(text, zarfWord+" ", self+" ")
}
