package template

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/spec"
)

// The beginnings of the names of markers and environment variables.
const (
	prefix         = "ZARF_"
	variablePrefix = prefix + "VAR_"
	constantPrefix = prefix + "CONST_"
)

// Entry is what one marker stands for.
type Entry struct {
	Value      string
	Sensitive  bool
	AutoIndent bool
	Type       spec.VariableType
}

// Variables holds everything that text templates of one operation may name: variables, constants,
// and the built-in templates of a loaded state. Actions add to it while it is in use; it is not
// safe for concurrent changes.
type Variables struct {
	entries map[string]Entry // by marker name, such as ZARF_VAR_DOMAIN
}

// New returns Variables without any entry, as onRemove actions get them.
func New() *Variables {
	return &Variables{entries: map[string]Entry{}}
}

// Resolve gives each variable of the package its value: the one that was set, else its default,
// else none. Names are upper-cased. Set variables that the package does not declare are taken
// over, since actions and charts may still use them. Patterns of variables and constants are
// checked.
func Resolve(pkg spec.Package, set map[string]string) (*Variables, error) {
	v := New()
	supplied, err := upperKeys(set)
	if err != nil {
		return nil, err
	}
	for name, value := range supplied {
		v.entries[variablePrefix+name] = Entry{Value: value}
	}
	for _, declared := range pkg.Variables {
		value, ok := supplied[strings.ToUpper(declared.Name)]
		if !ok {
			value = declared.Default
		}
		if err := v.Set(declared.Variable, value); err != nil {
			return nil, err
		}
	}
	for _, c := range pkg.Constants {
		if err := checkPattern("constant", c.Name, c.Pattern, c.Value); err != nil {
			return nil, err
		}
		v.entries[constantPrefix+strings.ToUpper(c.Name)] = Entry{Value: c.Value, AutoIndent: c.AutoIndent}
	}
	return v, nil
}

// upperKeys upper-cases the names of set variables. Two spellings of one name with different
// values are refused, as the order of a map would decide between them.
func upperKeys(set map[string]string) (map[string]string, error) {
	out := make(map[string]string, len(set))
	for _, name := range slices.Sorted(maps.Keys(set)) {
		upper := strings.ToUpper(name)
		if earlier, ok := out[upper]; ok && earlier != set[name] {
			return nil, fmt.Errorf("resolving variables: %q is set twice, in different spellings and to different values", upper)
		}
		out[upper] = set[name]
	}
	return out, nil
}

// Prompts returns the variables that want to be asked for and that nobody set, in the package's
// order. Whoever cannot ask uses their defaults.
func Prompts(pkg spec.Package, set map[string]string) []spec.InteractiveVariable {
	supplied := map[string]bool{}
	for name := range set {
		supplied[strings.ToUpper(name)] = true
	}
	var out []spec.InteractiveVariable
	for _, declared := range pkg.Variables {
		if declared.Prompt && !supplied[strings.ToUpper(declared.Name)] {
			out = append(out, declared)
		}
	}
	return out
}

// Set gives a variable a value, as an action does with its output, after checking its pattern. A
// variable that was sensitive stays so: an action that sets it again without the mark must not
// make it readable.
func (v *Variables) Set(variable spec.Variable, value string) error {
	if err := checkPattern("variable", variable.Name, variable.Pattern, value); err != nil {
		return err
	}
	key := variablePrefix + strings.ToUpper(variable.Name)
	v.entries[key] = Entry{
		Value:      value,
		Sensitive:  variable.Sensitive || v.entries[key].Sensitive,
		AutoIndent: variable.AutoIndent,
		Type:       variable.Type,
	}
	return nil
}

// SetBuiltins adds the templates that come from a loaded state, by name without the leading ZARF_,
// such as REGISTRY.
func (v *Variables) SetBuiltins(builtins map[string]Entry) {
	for name, entry := range builtins {
		v.entries[prefix+name] = entry
	}
}

// Clone returns a copy that can be changed on its own.
func (v *Variables) Clone() *Variables {
	return &Variables{entries: maps.Clone(v.entries)}
}

// Value returns the value of a variable by its name, without any prefix.
func (v *Variables) Value(name string) (string, bool) {
	e, ok := v.entries[variablePrefix+strings.ToUpper(name)]
	return e.Value, ok
}

// Constant returns the value of a constant by its name, without any prefix.
func (v *Variables) Constant(name string) (string, bool) {
	e, ok := v.entries[constantPrefix+strings.ToUpper(name)]
	return e.Value, ok
}

// Environ returns what an action finds in its environment, sorted: every entry under its marker
// name, and variables also as TF_VAR_<name in lower case> for Terraform.
func (v *Variables) Environ() []string {
	var out []string
	for key, e := range v.entries {
		out = append(out, key+"="+e.Value)
		if name, ok := strings.CutPrefix(key, variablePrefix); ok {
			out = append(out, "TF_VAR_"+strings.ToLower(name)+"="+e.Value)
		}
	}
	slices.Sort(out)
	return out
}

// Expand replaces ${NAME} and $NAME in the field of a wait by the entries of those names. Other
// dollar signs stay as they are, since no shell ever sees the field.
func (v *Variables) Expand(field string) string {
	return reference().ReplaceAllStringFunc(field, func(ref string) string {
		if e, ok := v.entries[strings.Trim(ref, "${}")]; ok {
			return e.Value
		}
		return ref
	})
}

func reference() *regexp.Regexp {
	return regexp.MustCompile(`\$\{ZARF_[A-Z0-9_]+\}|\$ZARF_[A-Z0-9_]+`)
}

// checkPattern returns an error if the value does not match. The value is not named: it may be a
// secret.
func checkPattern(what, name, pattern, value string) error {
	if pattern == "" {
		return nil
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return fmt.Errorf("checking %s %q: its pattern is not a regular expression: %w", what, name, err)
	}
	if !re.MatchString(value) {
		return &PatternError{What: what, Name: name, Pattern: pattern}
	}
	return nil
}

// PatternError says that a value does not match the pattern that the package demands of it.
type PatternError struct {
	What    string // variable or constant
	Name    string
	Pattern string
}

// Error names the variable and the pattern, never the value.
func (e *PatternError) Error() string {
	return fmt.Sprintf("checking %s %q: its value does not match the pattern %q", e.What, e.Name, e.Pattern)
}

// Hint says how to give another value.
func (e *PatternError) Hint() string {
	if e.What != "variable" {
		return ""
	}
	return fmt.Sprintf("set it with --set-variables %s=VALUE", strings.ToUpper(e.Name))
}
