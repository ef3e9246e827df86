package value

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const shopSchema = `{
  "$schema": "http://json-schema.org/draft-07/schema#",
  "type": "object",
  "required": ["web"],
  "additionalProperties": false,
  "properties": {
    "web": {
      "type": "object",
      "required": ["replicas"],
      "properties": {
        "replicas": {"type": "integer", "minimum": 1, "maximum": 10},
        "id": {"type": "integer", "maximum": 9007199254740993},
        "level": {"enum": ["low", "high"]},
        "token": {"type": "string", "pattern": "^t-", "minLength": 5},
        "mail": {"type": "string", "format": "email"},
        "either": {"oneOf": [{"type": "string", "maxLength": 3}, {"type": "object", "required": ["ref"]}]},
        "tags": {"type": "array", "uniqueItems": true, "maxItems": 2}
      }
    }
  }
}`

func TestSchemaNamesPathAndExpectation(t *testing.T) {
	schema, err := ParseSchema([]byte(shopSchema))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, values string
		want         []string
	}{
		{name: "valid", values: "web: {replicas: 3, level: low, token: t-hunter2, either: abc}"},
		{name: "a large integer is compared exactly", values: "web: {replicas: 1, id: 9007199254740993}"},
		{name: "one more is too many", values: "web: {replicas: 1, id: 9007199254740994}", want: []string{".web.id: must be at most 9007199254740993"}},
		{name: "nothing", values: "", want: []string{`.: lacks "web"`}},
		{name: "a key is missing", values: "web: {}", want: []string{`.web: lacks "replicas"`}},
		{name: "type", values: "web: {replicas: hunter2}", want: []string{".web.replicas: must be integer, not string"}},
		{name: "several", values: "web: {replicas: 42, level: hunter2, token: hunter2}\nhunter: hunter2", want: []string{
			`.: has "hunter", which the schema does not know`,
			".web.level: must be one of \"low\", \"high\"",
			".web.replicas: must be at most 10",
			`.web.token: must match the pattern "^t-"`,
		}},
		{name: "length, format, list", values: "web: {replicas: 1, token: t-1, mail: hunter2, tags: [hunter2, hunter2]}", want: []string{
			".web.mail: must be a valid email",
			".web.tags: must not have the same item twice",
			".web.token: must have at least 5 characters",
		}},
		{name: "branches", values: "web: {replicas: 1, either: hunter2}", want: []string{
			".web.either: must match one of several schemas: .web.either: must have at most 3 characters; or .web.either: must be object, not string",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := schema.Check(parse(t, tc.values))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "hunter2") }) {
				t.Errorf("a value got into %q", got)
			}
		})
	}
}

// G3: a new version that requires a key refuses a configuration that lacks it; a nil map is empty.
func TestG3ARequiredKeyThatNobodyGives(t *testing.T) {
	schema, err := ParseSchema([]byte(`{"required": ["new"]}`))
	if err != nil {
		t.Fatal(err)
	}
	supplied := parse(t, "old: 1")
	for _, values := range []map[string]any{nil, supplied} {
		if got, err := schema.Check(values); err != nil || !slices.Equal(got, []string{`.: lacks "new"`}) {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if got, err := schema.Check(Merge(parse(t, "new: default"), supplied)); err != nil || len(got) > 0 {
		t.Errorf("the package's default does not count: %q, %v", got, err)
	}
}

// A schema comes with a package: it must not read what lies on this machine or behind its network.
func TestSchemaRefersOnlyToItself(t *testing.T) {
	for _, ref := range []string{"file:///etc/passwd", "http://127.0.0.1/x", "other.json", "../values.yaml"} {
		if _, err := ParseSchema([]byte(`{"$ref": "` + ref + `"}`)); err == nil || !strings.Contains(err.Error(), "only to itself") {
			t.Errorf("%s: error %v", ref, err)
		}
	}
	if _, err := ParseSchema([]byte(`{"$ref": "#/definitions/a", "definitions": {"a": {"type": "object"}}}`)); err != nil {
		t.Error(err)
	}
}

func FuzzParseSchema(f *testing.F) {
	f.Add([]byte(shopSchema), []byte("web: {replicas: 3}"))
	f.Add([]byte(`{"$ref": "#"}`), []byte("a: 1"))
	f.Add([]byte(`{"patternProperties": {"(": {}}}`), []byte("a: 1"))
	f.Fuzz(func(t *testing.T, schema, values []byte) {
		s, err := ParseSchema(schema)
		if err != nil {
			return
		}
		parsed, err := Parse(values)
		if err != nil {
			return
		}
		_, _ = s.Check(parsed) // it only must come back
	})
}
