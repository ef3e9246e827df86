package template

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"text/template"

	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/value"
)

// maxRendered bounds what one Go template may render to: it comes with a package and is run before
// anybody confirmed anything.
const maxRendered = 64 << 20

// parseName is the name that templates are parsed under; it is cut out of errors again.
const parseName = "t"

// Objects are what the Go templates (template: true, templatedValuesFiles) of one component see.
type Objects struct {
	// Values are .Values.
	Values map[string]any
	// Variables give .Variables and .Constants, and fill text templates.
	Variables *Variables
	// Package is .Pkg; actions have none.
	Package *spec.Package
	// State is .State; without one, templates that name it fail.
	State *State
	// Access is what the component's stateAccess names.
	Access []spec.StateAccessKey
}

// Package is .Pkg of Go templates.
type Package struct{ spec.Package }

// GetComponent returns a component by its name.
func (p Package) GetComponent(name string) (spec.Component, error) {
	for _, c := range p.Components {
		if c.Name == name {
			return c, nil
		}
	}
	return spec.Component{}, fmt.Errorf("the package has no component %q", name)
}

// Render fills the text templates of content and executes it as a Go template after that, Zarf's
// order. Errors name the place in the template and what is missing, never a value.
func (o Objects) Render(content []byte, load Loader) ([]byte, error) {
	filled, err := o.Variables.Fill(content, load)
	if err != nil {
		return nil, err
	}
	parsed, err := parseFilled(content, filled)
	if err != nil {
		return nil, err
	}
	return o.execute(parsed)
}

// Execute executes content as a Go template and fills nothing: the commands of actions find
// variables in their environment.
func (o Objects) Execute(content []byte) ([]byte, error) {
	parsed, err := parseGo(content)
	if err != nil {
		return nil, err
	}
	return o.execute(parsed)
}

func (o Objects) execute(parsed *template.Template) ([]byte, error) {
	out := limited{left: maxRendered}
	if err := parsed.Execute(&out, o.data()); err != nil {
		return nil, o.explain(err)
	}
	return out.Bytes(), nil
}

func (o Objects) data() map[string]any {
	out := map[string]any{
		"Values":    value.Native(o.Values),
		"Variables": o.Variables.named(variablePrefix),
		"Constants": o.Variables.named(constantPrefix),
	}
	if o.Package != nil {
		out["Pkg"] = Package{*o.Package}
	}
	if o.State != nil {
		out["State"] = o.State.object(o.Access)
	}
	return out
}

// named returns the values of the entries with a prefix, by their names without it.
func (v *Variables) named(prefix string) map[string]any {
	out := map[string]any{}
	for key, entry := range v.entries {
		if name, ok := strings.CutPrefix(key, prefix); ok {
			out[name] = entry.Value
		}
	}
	return out
}

func parseGo(content []byte) (*template.Template, error) {
	parsed, err := template.New(parseName).Option("missingkey=error").Funcs(functions()).Parse(string(content))
	if err != nil {
		return nil, fmt.Errorf("reading its Go template: %s", strings.TrimPrefix(err.Error(), "template: "+parseName+":"))
	}
	return parsed, nil
}

// parseFilled parses what was filled. Its own syntax errors may quote what was filled in; those of
// the author's text cannot.
func parseFilled(content, filled []byte) (*template.Template, error) {
	parsed, err := parseGo(filled)
	if err == nil {
		return parsed, nil
	}
	if _, own := parseGo(content); own != nil {
		return nil, own
	}
	return nil, errors.New("reading its Go template: what a variable filled in makes it none")
}

// executionError takes apart what text/template says. What follows the place may hold values.
func executionError() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^template: ` + parseName + `:(\d+):\d+: executing (?:"[^"]*") at <(.*?)>: (.*)$`)
}

// explain says where a template failed and why, as far as that holds no value.
func (o Objects) explain(err error) error {
	if errors.Is(err, errTooMuch) {
		return fmt.Errorf("executing its Go template: it renders to more than %d MiB", maxRendered>>20)
	}
	parts := executionError().FindStringSubmatch(err.Error())
	if parts == nil {
		return errors.New("executing its Go template fails")
	}
	line, at, reason := parts[1], parts[2], parts[3]
	if regexp.MustCompile(`^[.$]?[A-Za-z_][\w.]*$`).MatchString(at) {
		at = ", at " + at
	} else {
		at = "" // it may be a text that a variable was filled into
	}
	return fmt.Errorf("executing its Go template: line %s%s: %s", line, at, o.reason(reason))
}

// reason passes on what text/template makes of types and names, and of what functions say only the
// message that an author wrote for fail.
func (o Objects) reason(text string) string {
	if key, ok := strings.CutPrefix(text, "map has no entry for key "); ok {
		if isCredential(strings.Trim(key, `"`)) {
			key += ", or the component's stateAccess does not ask for it"
		}
		return "there is no " + key
	}
	for _, safe := range []string{"nil pointer evaluating", "can't evaluate field", "wrong type for value", "wrong number of args", "invalid value; expected"} {
		if strings.HasPrefix(text, safe) {
			return text
		}
	}
	for _, compare := range []string{"eq", "ne", "lt", "le", "gt", "ge"} {
		if message, ok := strings.CutPrefix(text, "error calling "+compare+": "); ok {
			return message
		}
	}
	if message, ok := strings.CutPrefix(text, "error calling fail: "); ok {
		return o.Variables.Mask(message)
	}
	if name, _, ok := strings.Cut(text, ": "); ok && strings.HasPrefix(name, "error calling ") {
		return strings.TrimPrefix(name, "error ") + " fails; what it says may hold values and is not shown"
	}
	if strings.HasPrefix(text, "range can't iterate") {
		return "range can't iterate over it"
	}
	return "it cannot be evaluated"
}

// limited is a buffer that takes only so much.
type limited struct {
	bytes.Buffer
	left int
}

var errTooMuch = errors.New("too much output") //nolint:gochecknoglobals // an error to compare with

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, errTooMuch
	}
	return l.Buffer.Write(p)
}
