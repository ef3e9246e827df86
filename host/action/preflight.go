package action

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/spec"
)

// Problem is one thing in a component that cannot be done.
type Problem struct {
	Component string
	Where     string // the list and place of the action, such as "onDeploy.before[0]"
	Action    string // its label
	Reason    string
}

// String is the problem as a sentence without an end.
func (p Problem) String() string {
	return fmt.Sprintf("component %q, %s, %s: %s", p.Component, p.Where, p.Action, p.Reason)
}

// UnsupportedError lists what a package asks for and this program cannot do. It comes before
// anything changes.
type UnsupportedError struct {
	Problems []Problem
}

// Error lists every problem.
func (e *UnsupportedError) Error() string {
	texts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		texts[i] = p.String()
	}
	return "checking actions: " + strings.Join(texts, "; ")
}

// Hint says what can be done.
func (e *UnsupportedError) Hint() string {
	return "leave the component out with --components, or change the action in the package"
}

// Preflight looks at the actions of one operation ("onDeploy", "onRemove") on a component before
// anything runs. It returns nil or an *UnsupportedError.
func Preflight(component spec.Component, operation string, actions spec.ActionSet) error {
	var problems []Problem
	report := func(where, label, reason string) {
		problems = append(problems, Problem{Component: component.Name, Where: where, Action: label, Reason: reason})
	}
	for _, list := range []struct {
		name    string
		actions []spec.Action
	}{
		{"before", actions.Before}, {"after", actions.After},
		{"onSuccess", actions.OnSuccess}, {"onFailure", actions.OnFailure},
	} {
		for i, a := range list.actions {
			where := fmt.Sprintf("%s.%s[%d]", operation, list.name, i)
			for _, reason := range check(actions.Defaults, a) {
				report(where, Label(a), reason)
			}
		}
	}
	if len(problems) > 0 {
		return &UnsupportedError{Problems: problems}
	}
	return nil
}

// check returns what is wrong with one action.
func check(defaults spec.ActionDefaults, a spec.Action) []string {
	var reasons []string
	if w := a.Wait; w != nil {
		if w.Cluster == nil && w.Network == nil {
			reasons = append(reasons, "the wait names neither a cluster object nor a network address")
		}
		return reasons
	}
	shell, _ := shellCommand(merge(defaults, a).shell)
	found, ok := []call(nil), false
	if isPOSIX(shell) {
		found, ok = calls(a.Cmd)
	}
	if !ok {
		found = roughCalls(a.Cmd)
	}
	for _, c := range found {
		if a.ShouldTemplate() {
			c.args = untilTemplate(c.args)
		}
		if !known(c.args) {
			reasons = append(reasons, fmt.Sprintf("it calls %q, which zarf-host does not have", shown(c.args)))
		}
	}
	return reasons
}

// untilTemplate leaves of a call what stands before its first Go template: the rest is known only
// when the command runs.
func untilTemplate(args []string) []string {
	for i, a := range args {
		if strings.Contains(a, "{{") {
			return append(slices.Clone(args[:i]), "")
		}
	}
	return args
}

// commands are the commands of Zarf that zarf-host has too, one word or alternative spelling of a
// word after the other. What follows them is theirs to judge.
func commands() [][][]string {
	word := func(spellings ...string) []string { return spellings }
	tools, pkg := word("tools", "t"), word("package", "p")
	inspect := word("inspect", "i")
	return [][][]string{
		{tools, word("kubectl", "k")},
		{tools, word("wait-for", "w", "wait")},
		{tools, word("get-creds", "gc")},
		{tools, word("registry", "r", "crane"), word("catalog", "copy", "cp", "delete", "digest", "export", "login", "logout",
			"ls", "manifest", "pull", "push", "version")},
		{tools, word("archiver", "a"), word("compress", "c", "decompress", "d")},
		{pkg, word("deploy", "d")},
		{pkg, word("remove", "u", "rm")},
		{pkg, word("list", "l", "ls")},
		{pkg, word("mirror-resources", "mr")},
		{pkg, inspect, word("definition", "digest", "documentation", "images", "manifests", "sbom", "values-files")},
		{word("version", "v")},
	}
}

// known reports whether the words after ./zarf may be a command of ours. A word that only the
// shell knows at run time gets the benefit of the doubt.
func known(args []string) bool {
	words := withoutFlags(args)
	if len(words) == 0 {
		return true
	}
	for _, command := range commands() {
		if fits(command, words) {
			return true
		}
	}
	return false
}

func fits(command [][]string, words []string) bool {
	for _, spellings := range command {
		words = withoutFlags(words)
		switch {
		case len(words) == 0:
			return false
		case words[0] == "":
			return true
		case !slices.Contains(spellings, words[0]):
			return false
		}
		words = words[1:]
	}
	return true
}

// withoutFlags drops the flags that may stand before a word of a command: Zarf's global ones, and
// those that all of one tool have.
func withoutFlags(args []string) []string {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		flag := args[0]
		args = args[1:]
		switch flag {
		case "-a", "--architecture", "-l", "--log-level", "--log-format", "--cache", "--tmpdir", "--features", "--platform":
			if len(args) > 0 {
				args = args[1:]
			}
		}
	}
	return args
}

// shown is a call as the author would recognise it, without its operands.
func shown(args []string) string {
	const longest = 3
	text := zarfWord
	for i, a := range withoutFlags(args) {
		if i == longest || a == "" || strings.HasPrefix(a, "-") {
			break
		}
		text += " " + a
	}
	return text
}
