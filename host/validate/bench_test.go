package validate

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cuelang.org/go/cue"
	cuejson "cuelang.org/go/encoding/json"

	"github.com/zarf-host/zarf-host/host/definition"
)

// BenchmarkValidate checks one file and a thousand: by ours with the checks that a schema cannot
// express, by CUE itself with the same schema (what cue vet does once it has read file and schema),
// and by a JSON schema validator with the exported one. The two others are given the decoded file,
// and say of a fault neither line nor column.
func BenchmarkValidate(b *testing.B) {
	v := newValidator(b)
	data, err := os.ReadFile(shared(b, "samples", "demo-0.1.0.zarf.yaml"))
	if err != nil {
		b.Fatal(err)
	}
	thousand := corpusFiles(b, 1000)
	for _, size := range []struct {
		name  string
		files [][]byte
	}{{"one", [][]byte{data}}, {"thousand", thousand}} {
		b.Run("ours/"+size.name, func(b *testing.B) {
			for b.Loop() {
				for _, file := range size.files {
					v.File("zarf.yaml", file, Options{})
				}
			}
		})
		trees := make([][]byte, len(size.files))
		values := make([]any, len(size.files))
		for i, file := range size.files {
			values[i] = tree(b, file)
			if trees[i], err = json.Marshal(values[i]); err != nil {
				b.Fatal(err)
			}
		}
		b.Run("cue/"+size.name, func(b *testing.B) {
			ctx := newContext()
			folder, err := compile(ctx, "v1alpha1")
			if err != nil {
				b.Fatal(err)
			}
			definition := folder.LookupPath(cue.ParsePath("#Package"))
			for b.Loop() {
				for _, file := range trees {
					expr, err := cuejson.Extract("zarf.json", file)
					if err != nil {
						b.Fatal(err)
					}
					_ = definition.Unify(ctx.BuildExpr(expr)).Validate(cue.Concrete(true)) // the time is wanted, not the verdict
				}
			}
		})
		b.Run("jsonschema/"+size.name, func(b *testing.B) {
			compiled := compileJSON(b, v, "package")
			for b.Loop() {
				for _, value := range values {
					_ = compiled.Validate(value) // the time is wanted, not the verdict
				}
			}
		})
	}
}

// tree is a file as a JSON decoder would give it.
func tree(t testing.TB, data []byte) any {
	t.Helper()
	docs, err := definition.ReadYAML(data)
	if err != nil || len(docs) == 0 {
		t.Fatalf("reading a file: %v", err)
	}
	root, err := newDocument(docs[0], strings.Split(string(data), "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return toJSON(root)
}

// corpusFiles returns n real definitions, over again where the corpus has fewer.
func corpusFiles(t testing.TB, n int) [][]byte {
	t.Helper()
	var all [][]byte
	for _, s := range samples(t) {
		if !strings.HasPrefix(s.path, "real/") || s.verdict != "valid" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(corpusFolder(t), s.path))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, data)
	}
	if len(all) == 0 {
		t.Fatal("the corpus has no valid real file")
	}
	out := make([][]byte, n)
	for i := range out {
		out[i] = all[i%len(all)]
	}
	return out
}
