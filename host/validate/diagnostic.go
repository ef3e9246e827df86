package validate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity says what a diagnostic means for the file.
type Severity string

// The severities: an Error is refused by Zarf or by zarf-host, a Warning goes wrong later or is
// on its way out.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// maxDiagnostics bounds what one file can make a reader look at, and hostile bytes make us hold.
const maxDiagnostics = 1000

// Diagnostic is one fault, where it is and what is allowed there.
type Diagnostic struct {
	File string `json:"file"`
	// Line and Column count from 1; 0 where a fault concerns no single place.
	Line   int `json:"line"`
	Column int `json:"column"`
	// Path names the value, as in components[0].charts[1].name; "" is the whole document.
	Path string `json:"path"`
	// Pointer is Path as a JSON pointer, for programs.
	Pointer  string   `json:"pointer"`
	Severity Severity `json:"severity"`
	// Rule names the check that found it, for programs that filter.
	Rule    string `json:"rule"`
	Message string `json:"message"`
	// Suggestion is what could stand there instead: the nearest right key or value.
	Suggestion string `json:"suggestion,omitempty"`
}

// String is the diagnostic on one line, whatever its severity: file:line:col: path: message.
func (d Diagnostic) String() string {
	var b strings.Builder
	b.WriteString(d.File)
	if d.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", d.Line, d.Column)
	}
	b.WriteString(": ")
	if d.Path != "" {
		b.WriteString(d.Path)
		b.WriteString(": ")
	}
	b.WriteString(d.Message)
	return b.String()
}

// Result is everything found in one file, in the order of the file.
type Result struct {
	Diagnostics []Diagnostic `json:"diagnostics"`
}

// Valid reports whether no diagnostic is an error.
func (r Result) Valid() bool { return len(r.Errors()) == 0 }

// Errors returns the diagnostics that make the file invalid.
func (r Result) Errors() []Diagnostic { return r.of(Error) }

// Warnings returns the diagnostics that do not.
func (r Result) Warnings() []Diagnostic { return r.of(Warning) }

func (r Result) of(severity Severity) []Diagnostic {
	var out []Diagnostic
	for _, d := range r.Diagnostics {
		if d.Severity == severity {
			out = append(out, d)
		}
	}
	return out
}

// Err returns nil for a valid file and an *InvalidError otherwise.
func (r Result) Err() error {
	if errs := r.Errors(); len(errs) > 0 {
		return &InvalidError{Diagnostics: errs}
	}
	return nil
}

// InvalidError is a file that is refused, with every reason.
type InvalidError struct {
	Diagnostics []Diagnostic
}

func (e *InvalidError) Error() string {
	lines := make([]string, len(e.Diagnostics))
	for i, d := range e.Diagnostics {
		lines[i] = d.String()
	}
	if len(lines) == 1 {
		return lines[0]
	}
	return fmt.Sprintf("%d faults:\n  %s", len(lines), strings.Join(lines, "\n  "))
}

// report collects the diagnostics of one file.
type report struct {
	file string
	list []Diagnostic
	full bool
}

func (r *report) add(p position, where path, severity Severity, rule, message, suggestion string) {
	if len(r.list) >= maxDiagnostics {
		r.full = true
		return
	}
	r.list = append(r.list, Diagnostic{
		File: r.file, Line: p.line, Column: p.column,
		Path: where.String(), Pointer: where.pointer(),
		Severity: severity, Rule: rule, Message: message, Suggestion: suggestion,
	})
}

func (r *report) result() Result {
	slices.SortStableFunc(r.list, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if r.full {
		r.list = append(r.list, Diagnostic{
			File: r.file, Severity: Error, Rule: "too-many",
			Message: fmt.Sprintf("only the first %d faults are shown", maxDiagnostics),
		})
	}
	return Result{Diagnostics: r.list}
}
