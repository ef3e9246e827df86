package render

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host/validate"
)

// Names and messages are anybody's: none can end an annotation or begin another one.
func TestAnnotations(t *testing.T) {
	var b strings.Builder
	if err := Annotations(&b, []validate.Diagnostic{
		{File: "a,b:c\n.yaml", Line: 3, Column: 5, Path: "components[0]", Severity: validate.Error, Rule: "type", Message: "100%\n::error::forged"},
		{File: "z.yaml", Severity: validate.Warning, Rule: "empty", Message: "nothing"},
	}); err != nil {
		t.Fatal(err)
	}
	want := "::error file=a%2Cb%3Ac%0A.yaml,line=3,col=5,title=type::components[0]: 100%25%0A::error::forged\n" +
		"::warning file=z.yaml,title=empty::nothing\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

func TestSARIF(t *testing.T) {
	text, err := json.Marshal(NewSARIF("1.2.3", []validate.Diagnostic{
		{File: "a b/zarf.yaml", Line: 3, Column: 5, Path: "x", Severity: validate.Error, Rule: "type", Message: "m"},
		{File: "/etc/zarf.yaml", Severity: validate.Warning, Rule: "empty", Message: "n"},
		{File: "c.yaml", Line: 1, Column: 1, Severity: validate.Error, Rule: "type", Message: "o"},
	}))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"$schema":"https://json.schemastore.org/sarif-2.1.0.json","version":"2.1.0","runs":[{"tool":{"driver":{"name":"zarf-host","version":"1.2.3","rules":[{"id":"type"},{"id":"empty"}]}},"columnKind":"unicodeCodePoints","results":[` +
		`{"ruleId":"type","ruleIndex":0,"level":"error","message":{"text":"m"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"a%20b/zarf.yaml"},"region":{"startLine":3,"startColumn":5}},"logicalLocations":[{"fullyQualifiedName":"x"}]}]},` +
		`{"ruleId":"empty","ruleIndex":1,"level":"warning","message":{"text":"n"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"file:///etc/zarf.yaml"}}}]},` +
		`{"ruleId":"type","ruleIndex":0,"level":"error","message":{"text":"o"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"c.yaml"},"region":{"startLine":1,"startColumn":1}}}]}]}]}`
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}
