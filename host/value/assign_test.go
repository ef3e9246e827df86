package value

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// G12: what is inferred is documented, and everything has an explicit string form.
func TestG12TypesOfAssignedValues(t *testing.T) {
	for text, want := range map[string]any{
		"1":                    json.Number("1"),
		"-7":                   json.Number("-7"),
		"0":                    json.Number("0"),
		"9007199254740993":     json.Number("9007199254740993"),
		"98765432109876543210": json.Number("98765432109876543210"),
		"true":                 true,
		"false":                false,
		"True":                 "True",
		"01":                   "01",
		"0755":                 "0755",
		"-0":                   "-0",
		"+1":                   "+1",
		"1_000":                "1_000",
		"0x10":                 "0x10",
		"1e3":                  "1e3",
		"1.5":                  "1.5",
		" 1":                   " 1",
		"null":                 "null",
		"~":                    "~",
		"":                     "",
		`"1"`:                  `"1"`,
		"'1'":                  "1",
		"'true'":               "true",
		"''":                   "",
		"'":                    "'",
		"it's":                 "it's",
		"a=b":                  "a=b",
	} {
		got, err := ParseAssignments("a.b=" + text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if diff := cmp.Diff([]Assignment{{Path: []string{"a", "b"}, Value: want}}, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestParseAssignments(t *testing.T) {
	one := func(path string, value any) Assignment {
		return Assignment{Path: strings.Split(path, "."), Value: value}
	}
	for _, tc := range []struct {
		name, text string
		want       []Assignment
		wantErr    string
	}{
		{name: "two", text: "app.env=staging,app.replicas=5", want: []Assignment{one("app.env", "staging"), one("app.replicas", json.Number("5"))}},
		{name: "a leading dot", text: ".a=x", want: []Assignment{one("a", "x")}},
		{name: "space around a key", text: "a=1, b=2", want: []Assignment{one("a", json.Number("1")), one("b", json.Number("2"))}},
		{name: "a comma in the only one", text: "a=x,y", want: []Assignment{one("a", "x,y")}},
		{name: "a comma in quotes", text: "a='x,y=z',b=2", want: []Assignment{one("a", "x,y=z"), one("b", json.Number("2"))}},
		{name: "an apostrophe", text: "a=it's,b=o'clock", want: []Assignment{one("a", "it's"), one("b", "o'clock")}},
		{name: "the first quote before a comma or the end closes", text: "a='x,b='y',c=z", want: []Assignment{one("a", "x,b='y"), one("c", "z")}},
		{name: "a quote that nothing closes", text: "a='x,b=2", want: []Assignment{one("a", "'x"), one("b", json.Number("2"))}},
		{name: "no assignment", text: "secret", wantErr: "not KEY.PATH=VALUE"},
		{name: "empty", text: "", wantErr: "not KEY.PATH=VALUE"},
		{name: "a comma that splits a value", text: "a=hunter,secret,b=2", wantErr: "single quotes"},
		{name: "no key", text: "=secret", wantErr: "empty key"},
		{name: "an empty key", text: "a..b=secret", wantErr: "empty key"},
		{name: "the whole", text: ".=secret", wantErr: "names no key"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := ParseAssignments(tc.text)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) || strings.Contains(err.Error(), "secret") {
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

func TestAssignChangesOnlyItsResult(t *testing.T) {
	before := map[string]any{"web": map[string]any{"name": "a", "replicas": json.Number("1")}}
	made, err := ParseAssignments("web.replicas=2,web.name.first=x")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Assign(before, made)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"web": map[string]any{"name": map[string]any{"first": "x"}, "replicas": json.Number("2")}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if before["web"].(map[string]any)["name"] != "a" {
		t.Error("the values that were handed in changed")
	}
}

func FuzzParseAssignments(f *testing.F) {
	for _, seed := range []string{"a=1", "a.b='x,y',c=true", "a='x,b='y'", "=", ",", "a=it's,b='"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseAssignments(text)
		if err != nil {
			return
		}
		if n := strings.Count(text, "="); len(got) > n || len(got) == 0 {
			t.Fatalf("%d assignments of %d equals signs", len(got), n)
		}
		values, err := Assign(nil, got)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(values); err != nil {
			t.Fatalf("values that no record can hold: %v", err)
		}
		last := got[len(got)-1]
		if found, ok := Get(values, last.Path); !ok || !cmp.Equal(found, last.Value) {
			t.Fatalf("the last assignment is not there: %v", values)
		}
	})
}
