package validate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/errors"

	"github.com/zarf-host/zarf-host/host/definition"
)

// A shape is our reading of a CUE definition. Here CUE itself judges every sound document of the
// corpus, and must say what the shape says: the schema's meaning and the diagnostics cannot drift
// apart.
func TestShapesAgreeWithCUE(t *testing.T) {
	v := newValidator(t)
	ctx := newContext()
	definitions := map[*shape]cue.Value{}
	for s, at := range map[*shape][2]string{
		v.alphaPackage:  {"v1alpha1", "#Package"},
		v.betaPackage:   {"v1beta1", "#Package"},
		v.betaComponent: {"v1beta1", "#ComponentConfig"},
	} {
		value, err := compile(ctx, at[0])
		if err != nil {
			t.Fatal(err)
		}
		definitions[s] = value.LookupPath(cue.ParsePath(at[1]))
	}
	judged := 0
	for i, s := range samples(t) {
		if testing.Short() && i%10 != 0 {
			continue
		}
		data, err := os.ReadFile(filepath.Join(corpusFolder(t), s.path))
		if err != nil {
			t.Fatal(err)
		}
		docs, err := definition.ReadYAML(data)
		if err != nil {
			continue
		}
		for _, doc := range docs {
			root, err := newDocument(doc, strings.Split(string(data), "\n"))
			if err != nil {
				continue
			}
			r := &report{file: s.path}
			chosen, ok := v.choose(r, root)
			if !ok {
				continue
			}
			walk := structure{report: r}
			walk.check(root, chosen, nil)
			unified := definitions[chosen].Unify(ctx.Encode(plain(root)))
			cueErr := unified.Validate(cue.Concrete(true))
			judged++
			if (len(r.list) == 0) != (cueErr == nil) {
				t.Errorf("%s: the shape says\n%sCUE says\n%s", s.path, lines(r.result()), errors.Details(cueErr, nil))
			}
		}
	}
	if judged < 100 {
		t.Errorf("only %d documents were judged", judged)
	}
}

// plain is a node as a Go value. A number without a fraction is an integer, as in JSON schema.
func plain(n *node) any {
	switch n.kind {
	case boolKind:
		return n.text == "true"
	case intKind, floatKind:
		if n.whole {
			return 1
		}
		return 1.5
	case stringKind:
		return n.text
	case listKind:
		out := []any{}
		for _, item := range n.items {
			out = append(out, plain(item))
		}
		return out
	case mapKind:
		out := map[string]any{}
		for _, e := range n.keys {
			out[e.key] = plain(e.value)
		}
		return out
	}
	return nil
}
