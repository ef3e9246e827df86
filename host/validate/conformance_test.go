package validate

import (
	"encoding/csv"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var corpus = flag.String("corpus", "", "folder with REAL.tsv, MUTANTS.tsv and EDGE.tsv; the shared corpus where left out")

// sample is one labelled file of the corpus.
type sample struct {
	path, class, schema, verdict string
	// errors are "at '/pointer': what" for an invalid file, as a JSON-Schema validator said them.
	errors []string
}

func corpusFolder(t testing.TB) string {
	t.Helper()
	if *corpus != "" {
		return *corpus
	}
	return shared(t, "corpus")
}

func samples(t testing.TB) []sample {
	t.Helper()
	folder := corpusFolder(t)
	var all []sample
	for _, table := range []string{"REAL", "MUTANTS", "EDGE"} {
		f, err := os.Open(filepath.Join(folder, table+".tsv"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		r := csv.NewReader(f)
		r.Comma, r.LazyQuotes, r.FieldsPerRecord = '\t', true, -1
		rows, err := r.ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		column := map[string]int{}
		for i, name := range rows[0] {
			column[name] = i
		}
		at := func(row []string, name string) string {
			if i, ok := column[name]; ok && i < len(row) {
				return row[i]
			}
			return ""
		}
		for _, row := range rows[1:] {
			s := sample{path: at(row, "path"), class: at(row, "class"), schema: at(row, "schema"), verdict: at(row, "verdict")}
			if s.class == "" {
				s.class = strings.ToLower(table)
			}
			if text := at(row, "errors"); text != "" {
				s.errors = strings.Split(text, "; at ")
			}
			all = append(all, s)
		}
	}
	return all
}

// TestConformance measures agreement with the labels of the corpus, class by class: the verdict of
// every file, and for an invalid one a diagnostic at a path that is wrong.
func TestConformance(t *testing.T) {
	v := newValidator(t)
	type score struct{ verdicts, paths, files, invalid int }
	scores := map[string]*score{}
	for _, s := range samples(t) {
		data, err := os.ReadFile(filepath.Join(corpusFolder(t), s.path))
		if err != nil {
			t.Error(err)
			continue
		}
		if scores[s.class] == nil {
			scores[s.class] = &score{}
		}
		got := scores[s.class]
		got.files++
		result := v.File(s.path, data, Options{SchemaOnly: true})
		if result.Valid() != (s.verdict == "valid") {
			t.Errorf("%s is %s, got %v\nlabelled: %s\n%s", s.path, s.verdict, result.Valid(), strings.Join(s.errors, "; "), lines(result))
			continue
		}
		got.verdicts++
		if s.verdict == "valid" || len(s.errors) == 0 {
			continue
		}
		got.invalid++
		if !slices.ContainsFunc(s.errors, func(e string) bool { return mentions(result, e) }) {
			t.Errorf("%s: no diagnostic at a path that is wrong\nlabelled: %s\n%s", s.path, strings.Join(s.errors, "; "), lines(result))
			continue
		}
		got.paths++
	}
	if len(scores) == 0 {
		t.Fatal("the corpus is empty")
	}
	classes := make([]string, 0, len(scores))
	for class := range scores {
		classes = append(classes, class)
	}
	slices.Sort(classes)
	var table strings.Builder
	fmt.Fprintf(&table, "%-18s %14s %22s\n", "class", "verdicts", "paths of invalid files")
	for _, class := range classes {
		s := scores[class]
		fmt.Fprintf(&table, "%-18s %7d/%-6d %15d/%-6d\n", class, s.verdicts, s.files, s.paths, s.invalid)
	}
	t.Logf("agreement with %s\n%s", corpusFolder(t), table.String())
}

// mentions reports whether a diagnostic is at the pointer of a labelled error. An unknown key is
// labelled at the map that holds it, and reported at the key.
func mentions(result Result, labelled string) bool {
	_, rest, ok := strings.Cut(labelled, "'")
	if !ok {
		return false
	}
	pointer, _, _ := strings.Cut(rest, "'")
	return slices.ContainsFunc(result.Errors(), func(d Diagnostic) bool {
		if d.Rule == "unknown-key" {
			return d.Pointer[:strings.LastIndexByte(d.Pointer, '/')] == pointer
		}
		return d.Pointer == pointer
	})
}

func lines(r Result) string {
	var b strings.Builder
	for _, d := range r.Diagnostics {
		fmt.Fprint(&b, d)
		if d.Severity == Warning {
			b.WriteString(" (warning)")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func newValidator(t testing.TB) *Validator {
	t.Helper()
	v, err := New()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// shared returns a path in the folder of shared material, which lies beside the repository.
func shared(t testing.TB, parts ...string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	path := filepath.Join(append([]string{dir, "..", "shared"}, parts...)...)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("the shared material is missing: %v", err)
	}
	return path
}

// TestPositions holds the places against the source: at the line and column of an unknown key
// stands that key, at those of a wrong string that string, and at those of a missing key the
// first key of a map.
func TestPositions(t *testing.T) {
	v := newValidator(t)
	checked := map[string]int{}
	for _, s := range samples(t) {
		data, err := os.ReadFile(filepath.Join(corpusFolder(t), s.path))
		if err != nil {
			t.Fatal(err)
		}
		source := strings.Split(string(data), "\n")
		for _, d := range v.File(s.path, data, Options{SchemaOnly: true}).Diagnostics {
			if d.Line == 0 {
				continue
			}
			line := []rune(source[d.Line-1])
			if d.Column > len(line) {
				t.Errorf("%s: the line has %d columns", d, len(line))
				continue
			}
			there := string(line[d.Column-1:])
			var want string
			switch d.Rule {
			case "unknown-key":
				want = d.Pointer[strings.LastIndexByte(d.Pointer, '/')+1:]
			case "not-allowed", "pattern":
				_, quoted, _ := strings.Cut(d.Message, `"`)
				want, _, _ = strings.Cut(quoted, `"`)
				want, _, _ = strings.Cut(want, " ")
			case "missing-key":
				if !strings.Contains(there, ":") && !strings.HasPrefix(there, "{") {
					t.Errorf("%s: there stands %q, want a map", d, there)
				}
				checked[d.Rule]++
				continue
			default:
				continue
			}
			checked[d.Rule]++
			if strings.ContainsAny(want, "\\\ufeff…") {
				continue // written otherwise in the file
			}
			if unquoted := strings.TrimLeft(there, `"'`); !strings.HasPrefix(unquoted, want) && there[0] != '|' && there[0] != '>' {
				t.Errorf("%s: there stands %q, want %q", d, there, want)
			}
		}
	}
	for _, rule := range []string{"unknown-key", "not-allowed", "pattern", "missing-key"} {
		if checked[rule] < 50 {
			t.Errorf("only %d diagnostics of rule %s were checked", checked[rule], rule)
		}
	}
}
