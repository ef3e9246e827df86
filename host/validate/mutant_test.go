package validate

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlacesOf200Mutants misspells one key of a valid file, at random but the same in each run, and
// wants the fault at the very line and column of that key, with the right key beside it.
func TestPlacesOf200Mutants(t *testing.T) {
	const mutants = 200
	v := newValidator(t)
	type file struct {
		path  string
		lines []string
		keys  []entry // those that a schema names
		where []path
	}
	var files []file
	for _, s := range samples(t) {
		if s.verdict != "valid" || !strings.HasPrefix(s.path, "real/") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(corpusFolder(t), s.path))
		if err != nil {
			t.Fatal(err)
		}
		places, err := NewPlaces(s.path, data)
		if err != nil || strings.Contains(string(data), "&") || strings.Contains(string(data), "\n---") {
			continue // one key that is used in several places has several faults
		}
		f := file{path: s.path, lines: strings.Split(string(data), "\n")}
		var walk func(n *node, where path)
		walk = func(n *node, where path) {
			for _, e := range n.keys {
				if len(where) > 0 && len(e.key) > 3 && plainKey(e.key) && !inFreeMap(where) && !strings.HasPrefix(e.key, "x-") {
					f.keys, f.where = append(f.keys, e), append(f.where, where.with(e.key))
				}
				walk(e.value, where.with(e.key))
			}
			for i, item := range n.items {
				walk(item, where.with(i))
			}
		}
		walk(places.root, nil)
		if len(f.keys) > 0 {
			files = append(files, f)
		}
	}
	if len(files) < 20 {
		t.Fatalf("only %d files to change", len(files))
	}
	random := rand.New(rand.NewPCG(7, 7))
	for range mutants {
		f := files[random.IntN(len(files))]
		i := random.IntN(len(f.keys))
		key := f.keys[i]
		line := []rune(f.lines[key.at.line-1])
		at := key.at.column - 1
		if written := string(line[at:min(len(line), at+len(key.key))]); written != key.key {
			t.Fatalf("%s: %s stands at %v, and there is %q", f.path, f.where[i], key.at, written)
		}
		wrong := key.key + "z"
		changed := append([]string{}, f.lines...)
		changed[key.at.line-1] = string(line[:at]) + wrong + string(line[at+len(key.key):])
		result := v.File("zarf.yaml", []byte(strings.Join(changed, "\n")), Options{SchemaOnly: true})
		want := fmt.Sprintf("zarf.yaml:%d:%d: %s: unknown key %q; did you mean %q?", key.at.line, key.at.column, f.where[i][:len(f.where[i])-1].with(wrong), wrong, key.key)
		if got := strings.TrimSpace(lines(result)); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", f.path, got, want)
		}
	}
}

// inFreeMap reports whether the keys of a map are its author's own.
func inFreeMap(where path) bool {
	for _, step := range where {
		switch step {
		case "annotations", "documentation", "registryOverrides":
			return true
		}
		if key, ok := step.(string); ok && strings.HasPrefix(key, "x-") {
			return true
		}
	}
	return false
}
