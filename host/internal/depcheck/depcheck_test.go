// Package depcheck holds the arrows of host/doc.go: who may import whom. It has no code of its own,
// only the test.
package depcheck

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/zarf-host/zarf-host/"

// The groups of host/doc.go, innermost first.
var (
	words     = []string{"host/spec", "host/state", "host/event", "host/object"}
	decisions = []string{"host/config", "host/plan", "host/hook", "host/template", "host/selection", "host/value", "host/image", "host/compose", "host/differential", "host/inventory", "host/comparison", "host/plugin", "host/policy"}
	formats   = []string{"host/archive", "host/bundle", "host/definition", "host/validate", "host/signature", "schema"}
	effects   = []string{"host/cluster", "host/chart", "host/action", "host/source", "host/wasm", "host/wait", "host/registry", "host/recording", "host/imagetar", "host/kustomize", "host/repo"}
	execution = []string{"host/apply", "host/create"}
)

type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string
	Standard   bool
}

func TestArrows(t *testing.T) {
	pkgs := load(t)
	for path, p := range pkgs {
		local, ok := strings.CutPrefix(path, module)
		if !ok || strings.Contains(local, "/internal/") && !strings.HasPrefix(local, "cmd/") {
			continue
		}
		switch {
		case belongs(local, words):
			p.onlyStandardAnd(t, words)
		case belongs(local, decisions):
			p.onlyOurs(t, words, decisions)
			p.neverDirectly(t, "context", "os", "net", "net/http", "os/exec")
			p.neverAtAll(t, pkgs, "k8s.io/client-go", "helm.sh/helm", "oras.land/oras-go", "github.com/tetratelabs/wazero")
		case belongs(local, formats):
			p.onlyOurs(t, words, formats)
			p.neverAtAll(t, pkgs, "k8s.io/client-go", "helm.sh/helm", "oras.land/oras-go", "github.com/tetratelabs/wazero")
		case belongs(local, effects):
			p.onlyOurs(t, words, decisions, formats, []string{local})
		case local == "host/create": // it writes what apply only reads
			p.onlyOurs(t, words, decisions, formats)
		case belongs(local, execution):
			p.onlyOurs(t, words, decisions)
		case local == "host":
			p.onlyOurs(t, words, decisions, formats, effects, execution)
		case strings.HasPrefix(local, "plugins/sdk"):
			p.onlyStandardAnd(t, []string{"plugins/sdk"})
		case strings.HasPrefix(local, "cmd/"), strings.HasPrefix(local, "plugins/"), strings.HasPrefix(local, "examples/"):
		default:
			t.Errorf("%s is in no group: add it to host/doc.go and to this test", local)
		}
		if !strings.HasPrefix(local, "cmd/") {
			for _, i := range p.Imports {
				if strings.HasPrefix(i, module+"cmd/") {
					t.Errorf("%s imports %s: nothing imports cmd", local, i)
				}
			}
		}
	}
	onlyImporter(t, pkgs, "github.com/tetratelabs/wazero", "host/wasm")
	onlyImporter(t, pkgs, "helm.sh/helm/v3", "host/chart")
}

func (p pkg) onlyOurs(t *testing.T, groups ...[]string) {
	t.Helper()
	for _, i := range p.Imports {
		local, ok := strings.CutPrefix(i, module)
		if ok && !belongs(local, slices.Concat(groups...)) && !strings.HasPrefix(i, p.ImportPath+"/") {
			t.Errorf("%s imports %s, against the arrows of host/doc.go", p.ImportPath, i)
		}
	}
}

func (p pkg) onlyStandardAnd(t *testing.T, group []string) {
	t.Helper()
	for _, i := range p.Imports {
		if local, ok := strings.CutPrefix(i, module); ok && belongs(local, group) {
			continue
		}
		if first, _, _ := strings.Cut(i, "/"); strings.Contains(first, ".") {
			t.Errorf("%s imports %s, but may import the standard library only", p.ImportPath, i)
		}
	}
}

func (p pkg) neverDirectly(t *testing.T, forbidden ...string) {
	t.Helper()
	for _, i := range p.Imports {
		if slices.Contains(forbidden, i) {
			t.Errorf("%s imports %s: a decision has no context, files or network", p.ImportPath, i)
		}
	}
}

func (p pkg) neverAtAll(t *testing.T, pkgs map[string]pkg, forbidden ...string) {
	t.Helper()
	for _, d := range p.Deps {
		for _, f := range forbidden {
			if d == f || strings.HasPrefix(d, f+"/") {
				t.Errorf("%s depends on %s", p.ImportPath, d)
			}
		}
	}
}

// onlyImporter checks that a library is used behind one package, so that replacing it stays possible.
func onlyImporter(t *testing.T, pkgs map[string]pkg, library, owner string) {
	t.Helper()
	for path, p := range pkgs {
		local, ours := strings.CutPrefix(path, module)
		if !ours || local == owner || strings.HasPrefix(local, owner+"/") {
			continue
		}
		for _, i := range p.Imports {
			if i == library || strings.HasPrefix(i, library+"/") {
				t.Errorf("%s imports %s, which only %s may", local, i, owner)
			}
		}
	}
}

func belongs(local string, group []string) bool {
	return slices.ContainsFunc(group, func(g string) bool { return local == g || strings.HasPrefix(local, g+"/") })
}

func load(t *testing.T) map[string]pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Imports,Deps,Standard", "./...")
	cmd.Dir = "../../.."
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %v\n%s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	pkgs := map[string]pkg{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs[p.ImportPath] = p
	}
	if len(pkgs) == 0 {
		t.Fatal("go list found nothing")
	}
	return pkgs
}
