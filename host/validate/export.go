package validate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"strings"

	"cuelang.org/go/cue"

	"github.com/zarf-host/zarf-host/schema"
)

// Format is how a schema is written out.
type Format string

// The formats that Export writes.
const (
	FormatCUE        Format = "cue"        // as it was written, all files of its folder in one
	FormatJSONSchema Format = "jsonschema" // draft 2020-12
	FormatOpenAPI    Format = "openapi"    // 3.1, the definitions under components.schemas
)

// Formats returns all of them, the preferred one first.
func Formats() []Format { return []Format{FormatCUE, FormatJSONSchema, FormatOpenAPI} }

// Export writes a schema out for other programs. JSON schema and OpenAPI accept and refuse what File
// and FileOf do with SchemaOnly; what else a file has to be is not in them.
func (v *Validator) Export(s Schema, format Format) ([]byte, error) {
	switch format {
	case FormatCUE:
		return exportCUE(s.folder)
	case FormatJSONSchema, FormatOpenAPI:
		return v.exportJSON(s, format)
	}
	words := make([]string, 0, len(Formats()))
	for _, f := range Formats() {
		words = append(words, string(f))
	}
	return nil, fmt.Errorf("there is no schema format %q, want one of %s", format, quoteAll(words))
}

// exportCUE joins the files of a folder, whose package clause stands once.
func exportCUE(folder string) ([]byte, error) {
	names, err := fs.Glob(schema.FS, folder+"/*.cue")
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("writing schema %q: no such folder", folder)
	}
	var about, rest bytes.Buffer
	for _, name := range names {
		data, err := fs.ReadFile(schema.FS, name)
		if err != nil {
			return nil, fmt.Errorf("writing schema %q: %w", folder, err)
		}
		before, after, found := strings.Cut(string(data), "package "+folder+"\n")
		if !found {
			return nil, fmt.Errorf("writing schema %q: %s is of another package", folder, name)
		}
		about.WriteString(before)
		rest.WriteString(after)
	}
	return []byte(about.String() + "package " + folder + "\n" + rest.String()), nil
}

func (v *Validator) exportJSON(s Schema, format Format) ([]byte, error) {
	root, ok := v.named[s.Name]
	if !ok {
		return nil, fmt.Errorf("there is no schema %q", s.Name)
	}
	e := exporter{refs: "#/$defs/", definitions: map[string]any{}}
	if format == FormatOpenAPI {
		e.refs = "#/components/schemas/"
	}
	out := e.export(root)
	var document map[string]any
	if format == FormatOpenAPI {
		document = map[string]any{
			"openapi":    "3.1.0",
			"info":       map[string]any{"title": s.About, "version": "v1"},
			"paths":      map[string]any{},
			"components": map[string]any{"schemas": e.definitions},
		}
	} else {
		document = map[string]any{
			"$schema": "https://json-schema.org/draft/2020-12/schema",
			"title":   s.About,
			"$defs":   e.definitions,
		}
		for key, value := range out {
			document[key] = value
		}
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(document); err != nil {
		return nil, fmt.Errorf("writing schema %q: %w", s.Name, err)
	}
	return b.Bytes(), nil
}

// exporter turns shapes into JSON schemas; those with a name become definitions.
type exporter struct {
	refs        string // what a reference to a definition begins with
	definitions map[string]any
}

func (e *exporter) export(s *shape) map[string]any {
	if s.name == "" {
		return e.body(s)
	}
	if _, done := e.definitions[s.name]; !done {
		e.definitions[s.name] = true // a shape may contain itself
		e.definitions[s.name] = e.body(s)
	}
	return map[string]any{"$ref": e.refs + s.name}
}

func (e *exporter) body(s *shape) map[string]any {
	out := map[string]any{}
	if s.doc != "" {
		out["description"] = s.doc
	}
	switch s.kind {
	case cue.StringKind:
		out["type"] = "string"
		if len(s.enum) > 0 {
			out["enum"] = s.enum
		}
		if s.pattern != nil {
			out["pattern"] = s.pattern.String()
			if s.doc == "" {
				out["description"] = s.want
			}
		}
	case cue.BoolKind:
		out["type"] = "boolean"
	case cue.IntKind:
		out["type"] = "integer"
		if s.minimum > math.MinInt64 {
			out["minimum"] = s.minimum
		}
	case cue.ListKind:
		out["type"], out["items"] = "array", e.export(s.items)
		if s.minItems > 0 {
			out["minItems"] = s.minItems
		}
	case cue.StructKind:
		e.object(s, out)
	}
	return out
}

func (e *exporter) object(s *shape, out map[string]any) {
	out["type"] = "object"
	properties := map[string]any{}
	required := []string{}
	for _, key := range s.order {
		f := s.fields[key]
		property := e.export(f.shape)
		if f.doc != "" {
			property["description"] = f.doc
		}
		if f.deprecated != "" {
			property["deprecated"] = true
			property["description"] = strings.TrimSpace(f.doc + " Deprecated: " + f.deprecated)
		}
		properties[key] = property
		if f.required {
			required = append(required, key)
		}
	}
	if len(properties) > 0 {
		out["properties"] = properties
	}
	if len(required) > 0 {
		out["required"] = required
	}
	if s.rest != nil {
		out["additionalProperties"] = e.export(s.rest)
	} else {
		out["additionalProperties"] = false
	}
	if s.extensible {
		out["patternProperties"] = map[string]any{"^x-": map[string]any{}}
	}
	if len(s.oneOf) > 0 {
		var each []any
		for _, key := range s.oneOf {
			each = append(each, map[string]any{"required": []string{key}})
		}
		out["oneOf"] = each
	}
}
