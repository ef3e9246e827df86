package depcheck_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// retriers are the functions within which a write may be made: they make it again after a passing
// fault, such as a restart of the API server.
var retriers = map[string]bool{"retry": true, "persist": true, "attempt": true}

// triedElsewhere are the functions whose caller makes them again, by package, with who that is.
var triedElsewhere = map[string]map[string]string{
	"cluster": {
		"createOrApply": "put, within attempt",
		"take":          "acquire, which looks again",
		"renew":         "keep, until the lease is lost",
		"delete":        "Release, until its time is over",
		"giveBack":      "nobody: the lease runs out by itself",
	},
}

// No write to the API server may lack what gets over a restart of it. Reads need nothing: the
// connection sends them again.
func TestEveryWriteIsMadeAgain(t *testing.T) {
	found := 0
	for _, pkg := range []string{"chart", "cluster"} {
		dir := filepath.Join("..", "..", pkg)
		files := token.NewFileSet()
		err := fs.WalkDir(os.DirFS(dir), ".", func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(files, filepath.Join(dir, path), nil, 0)
			if err != nil {
				return err
			}
			for _, decl := range file.Decls {
				f, ok := decl.(*ast.FuncDecl)
				if !ok || f.Body == nil {
					continue
				}
				for _, at := range bareWrites(f.Body, &found) {
					if triedElsewhere[pkg][f.Name.Name] == "" {
						t.Errorf("%s: %s writes to the API server once: make the write within retry, persist or attempt",
							files.Position(at), f.Name.Name)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 12 {
		t.Errorf("only %d writes were found: the test no longer sees them", found)
	}
}

// bareWrites returns where writes are made outside of a retrier, and counts all of them.
func bareWrites(body ast.Node, all *int) []token.Pos {
	var bare []token.Pos
	within := 0
	var open []bool // for each node on the way, whether it is a call of a retrier
	ast.Inspect(body, func(n ast.Node) bool {
		if n == nil {
			if open[len(open)-1] {
				within--
			}
			open = open[:len(open)-1]
			return true
		}
		call, isCall := n.(*ast.CallExpr)
		retrier := isCall && retriers[called(call)]
		if retrier {
			within++
		}
		open = append(open, retrier)
		if isCall && writes(call) {
			*all++
			if within == 0 {
				bare = append(bare, call.Pos())
			}
		}
		return true
	})
	return bare
}

// called is the name of a function or method that is called.
func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// writes reports whether a call is one of a Kubernetes client that changes something: it takes options
// for that.
func writes(call *ast.CallExpr) bool {
	for _, arg := range call.Args {
		literal, ok := arg.(*ast.CompositeLit)
		if !ok {
			continue
		}
		of, ok := literal.Type.(*ast.SelectorExpr)
		if !ok {
			continue
		}
		switch of.Sel.Name {
		case "CreateOptions", "UpdateOptions", "PatchOptions", "ApplyOptions", "DeleteOptions":
			return true
		}
	}
	return false
}
