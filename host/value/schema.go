package value

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Schema is a package's values.schema.json.
type Schema struct{ compiled *jsonschema.Schema }

// schemaURL is the name that a schema is compiled under; nothing is ever read from it.
const schemaURL = "package:///values.schema.json"

// noLoader refuses references to other documents: a package's schema must not read this machine's
// files or the network.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("it refers to %q, and a schema may refer only to itself", url)
}

// ParseSchema reads a JSON schema. Without $schema it is taken for draft 7, Helm's and Zarf's.
func ParseSchema(data []byte) (*Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("reading the schema of the values: %w", err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	compiler.DefaultDraft(jsonschema.Draft7)
	if err := compiler.AddResource(schemaURL, doc); err != nil {
		return nil, fmt.Errorf("reading the schema of the values: %w", err)
	}
	compiled, err := compiler.Compile(schemaURL)
	if err != nil {
		return nil, fmt.Errorf("reading the schema of the values: %w", err)
	}
	return &Schema{compiled: compiled}, nil
}

// Check returns what is wrong with values, each fault with its path and what is expected there,
// sorted. The values themselves are in none of them.
func (s *Schema) Check(values map[string]any) ([]string, error) {
	err := s.compiled.Validate(anyMap(values))
	var invalid *jsonschema.ValidationError
	switch {
	case err == nil:
		return nil, nil
	case !errors.As(err, &invalid):
		return nil, errors.New("checking the values against their schema: they hold something that JSON cannot express")
	}
	var faults []string
	collect(invalid, &faults)
	slices.Sort(faults)
	return slices.Compact(faults), nil
}

// anyMap makes an empty map of nil, since a nil map would be a null to the schema.
func anyMap(values map[string]any) any {
	if values == nil {
		return map[string]any{}
	}
	return values
}

func collect(e *jsonschema.ValidationError, faults *[]string) {
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		// Which branch was meant is anybody's guess: name them all.
		var branches []string
		for _, cause := range e.Causes {
			var below []string
			collect(cause, &below)
			branches = append(branches, strings.Join(below, " and "))
		}
		text := fmt.Sprintf("%s: must match exactly one of several schemas, and matches more", shown(e.InstanceLocation))
		if len(branches) > 0 {
			text = fmt.Sprintf("%s: must match one of several schemas: %s", shown(e.InstanceLocation), strings.Join(branches, "; or "))
		}
		*faults = append(*faults, text)
		return
	}
	if len(e.Causes) == 0 {
		*faults = append(*faults, shown(e.InstanceLocation)+": "+expectation(e.ErrorKind))
		return
	}
	for _, cause := range e.Causes {
		collect(cause, faults)
	}
}

// expectation says what the schema wants, from the schema's own words only.
func expectation(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return "must be " + strings.Join(k.Want, " or ") + ", not " + k.Got
	case *kind.Required:
		return "lacks " + quoted(k.Missing)
	case *kind.AdditionalProperties:
		return "has " + quoted(k.Properties) + ", which the schema does not know"
	case *kind.Enum:
		return fmt.Sprintf("must be one of %s", listed(k.Want))
	case *kind.Const:
		return fmt.Sprintf("must be %s", listed([]any{k.Want}))
	case *kind.Pattern:
		return fmt.Sprintf("must match the pattern %q", k.Want)
	case *kind.Format:
		return fmt.Sprintf("must be a valid %s", k.Want)
	case *kind.Minimum:
		return "must be at least " + number10(k.Want)
	case *kind.Maximum:
		return "must be at most " + number10(k.Want)
	case *kind.ExclusiveMinimum:
		return "must be more than " + number10(k.Want)
	case *kind.ExclusiveMaximum:
		return "must be less than " + number10(k.Want)
	case *kind.MultipleOf:
		return "must be a multiple of " + number10(k.Want)
	case *kind.MinLength:
		return fmt.Sprintf("must have at least %d characters", k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("must have at most %d characters", k.Want)
	case *kind.MinItems:
		return fmt.Sprintf("must have at least %d items", k.Want)
	case *kind.MaxItems:
		return fmt.Sprintf("must have at most %d items", k.Want)
	case *kind.MinProperties:
		return fmt.Sprintf("must have at least %d keys", k.Want)
	case *kind.MaxProperties:
		return fmt.Sprintf("must have at most %d keys", k.Want)
	case *kind.UniqueItems:
		return "must not have the same item twice"
	case *kind.PropertyNames:
		return fmt.Sprintf("has the key %q, whose name the schema does not allow", k.Property)
	case *kind.DependentRequired:
		return fmt.Sprintf("has %q and so must have %s", k.Prop, quoted(k.Missing))
	case *kind.Dependency:
		return fmt.Sprintf("has %q and so must have %s", k.Prop, quoted(k.Missing))
	case *kind.FalseSchema:
		return "must not be there"
	default:
		return fmt.Sprintf("does not satisfy %q of the schema", strings.Join(k.KeywordPath(), "/"))
	}
}
