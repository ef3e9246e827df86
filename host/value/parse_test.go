package value

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	n := func(s string) json.Number { return json.Number(s) }
	for _, tc := range []struct {
		name, text string
		want       map[string]any
		wantErr    string
	}{
		{name: "nothing", want: map[string]any{}},
		{name: "comments only", text: "# nothing\n---\n", want: map[string]any{}},
		{name: "json", text: `{"a": {"b": 1}}`, want: map[string]any{"a": map[string]any{"b": n("1")}}},
		{name: "integers keep their digits", text: "a: 9007199254740993\nb: 98765432109876543210\nc: -1\nd: 0x1f\ne: 1_000",
			want: map[string]any{"a": n("9007199254740993"), "b": n("98765432109876543210"), "c": n("-1"), "d": n("31"), "e": n("1000")}},
		{name: "other numbers in JSON's form", text: "a: 1.50\nb: 1e3\nc: 1.0", want: map[string]any{"a": n("1.5"), "b": n("1000"), "c": n("1")}},
		{name: "words stay words", text: "a: yes\nb: on\nc: 2001-01-01\nd: \"1\"\ne: true\nf: ~\ng:",
			want: map[string]any{"a": "yes", "b": "on", "c": "2001-01-01", "d": "1", "e": true, "f": nil, "g": nil}},
		{name: "keys are words", text: "1: a\ntrue: b", want: map[string]any{"1": "a", "true": "b"}},
		{name: "aliases and merge keys", text: "base: &b {x: 1, y: 2}\nown:\n  <<: *b\n  y: 3\nlist: [*b]",
			want: map[string]any{
				"base": map[string]any{"x": n("1"), "y": n("2")}, "own": map[string]any{"x": n("1"), "y": n("3")},
				"list": []any{map[string]any{"x": n("1"), "y": n("2")}},
			}},
		{name: "a list", text: "- hunter2", wantErr: "must be a map"},
		{name: "a word", text: "hunter2", wantErr: "must be a map"},
		{name: "two documents", text: "a: 1\n---\nb: hunter2", wantErr: "second document"},
		{name: "no YAML", text: "a: 1\n  b: hunter2: x", wantErr: "line 2: it is not YAML"},
		{name: "unknown alias", text: "password: *hunter2", wantErr: "it is not YAML"},
		{name: "a key twice", text: "a: 1\na: hunter2", wantErr: `line 2: the key "a" is there twice`},
		{name: "a map as a key", text: "? {a: hunter2}\n: 1", wantErr: "a key must be a word"},
		{name: "infinity", text: "a: .inf", wantErr: "cannot hold this number"},
		{name: "an alias of itself", text: "a: &a [*a]", wantErr: ""},
		{name: "an alias bomb", text: bomb(), wantErr: "more than"},
		{name: "too large", text: strings.Repeat("#", maxBytes+1), wantErr: "more than"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Parse([]byte(tc.text))
			if tc.want == nil {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) || strings.Contains(err.Error(), "hunter2") {
					t.Fatalf("error %v, want %q in it and no value", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func bomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 9 {
		prev, next := string(rune('0'+i)), string(rune('1'+i))
		b.WriteString("a" + next + ": &a" + next + " [" + strings.TrimSuffix(strings.Repeat("*a"+prev+", ", 10), ", ") + "]\n")
	}
	return b.String()
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"a: 1\nb: [x, {y: ~}]", "a: &a {b: 1}\nc: {<<: *a}", "a: &a [*a]", "{", "1e400: 1e400", "a: 0o17\nb: 07"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		values, err := Parse(data)
		if err != nil {
			return
		}
		text, err := json.Marshal(values)
		if err != nil {
			t.Fatalf("values that no record can hold: %v", err)
		}
		again, err := Parse(text)
		if err != nil {
			t.Fatalf("its JSON %s cannot be read: %v", text, err)
		}
		if diff := cmp.Diff(values, again); diff != "" {
			t.Errorf("read again from its JSON (-first +again):\n%s", diff)
		}
	})
}
