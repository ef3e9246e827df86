package guests

import "strings"

// Failing returns a guest that ends in one way that is no answer, by its name, and false for a name that
// it does not know:
//
//	endless    never ends: by its fuel or its deadline
//	hungry     wants more memory until it is refused, and dies of that
//	trapping   executes what cannot be executed
//	exiting    exits with code 42 after an answer
//	silent     exits well and says nothing
//	flooding   writes to stdout for ever
//	calling    asks the host for ever; it needs a capability
func Failing(name string) ([]byte, bool) {
	code, ok := map[string]func(*Program) []byte{
		"endless": func(*Program) []byte { return Forever() },
		"hungry": func(*Program) []byte {
			return Forever(Const(16), Op(MemoryGrow, 0), Const(0), Op(I32LtS), If(Op(Unreachable)))
		},
		"trapping": func(*Program) []byte { return Op(Unreachable) },
		"exiting":  func(p *Program) []byte { return append(p.Print(1, Answer("r1", "allow")), p.Exit(42)...) },
		"silent":   func(*Program) []byte { return nil },
		"flooding": func(p *Program) []byte { return Forever(p.Print(1, strings.Repeat("x", 1000))) },
		"calling": func(p *Program) []byte {
			return Forever(p.Ask(`{"op":"package.file/v1","path":"zarf.yaml"}`), Op(Drop))
		},
	}[name]
	switch {
	case !ok:
		return nil, false
	case name == "calling":
		return Asking(1, code), true
	default:
		return Command(1, code), true
	}
}
