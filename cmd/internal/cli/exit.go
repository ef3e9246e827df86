package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/zarf-host/zarf-host/cmd/internal/render"
	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/apply"
	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/wasm"
)

// The exit codes of SPEC 13.
const (
	exitDone       = 0
	exitFailed     = 1
	exitChanges    = 2 // plan: there is something to do; validate: unreadable input
	exitDenied     = 3
	exitLocked     = 4
	exitPreflight  = 5
	exitBySignal   = 130
	exitUnreadable = exitChanges
)

// codeError ends the program with a code of its own. Its message was printed already when err is nil.
type codeError struct {
	code int
	err  error
}

func (e *codeError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *codeError) Unwrap() error { return e.err }

func exitCode(err error) int {
	var (
		code      *codeError
		denied    *host.DeniedError
		plugins   *hook.DeniedError
		locked    *cluster.LockedError
		preflight *host.PreflightError
		bound     *host.BoundPluginError
		policy    *host.PolicyError
	)
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &code):
		return code.code
	case errors.Is(err, apply.ErrLeaseLost), errors.As(err, &locked):
		return exitLocked
	case errors.Is(err, context.Canceled):
		return exitBySignal
	case errors.As(err, &denied), errors.As(err, &plugins), errors.As(err, &bound), errors.As(err, &policy):
		return exitDenied
	case errors.As(err, &preflight):
		return exitPreflight
	default:
		return exitFailed
	}
}

// reading is the error of a command that only reads: what may not be read is found out before anything
// changes.
func reading(err error) error {
	if err != nil && exitCode(err) == exitFailed && cluster.IsForbidden(err) {
		return &codeError{exitPreflight, &hintedError{err, "somebody with that right can give it to you: examples/02-roles has what each task needs"}}
	}
	return err
}

// hintedError adds what to do to an error.
type hintedError struct {
	err  error
	hint string
}

func (e *hintedError) Error() string { return e.err.Error() }
func (e *hintedError) Unwrap() error { return e.err }

// Hint says what to do about it.
func (e *hintedError) Hint() string { return e.hint }

// flagError is the error about a flag's argument. That of a flag which takes variables may be a secret
// whose name was forgotten, so it is not repeated.
func flagError(_ *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) && invalid.GetFlag().Value.Type() == "stringToString" {
		return fmt.Errorf("an argument of --%s is not of the form KEY=value", invalid.GetFlag().Name)
	}
	return err
}

// report prints an error and what to do next: as text, or as an object for programs.
func (r *root) report(err error) {
	var code *codeError
	if errors.As(err, &code) && code.err == nil {
		return
	}
	hint := hintOf(err)
	if r.format == "json" {
		document := map[string]any{"message": err.Error(), "hint": hint, "exitCode": exitCode(err)}
		if denied := (*hook.DeniedError)(nil); errors.As(err, &denied) {
			document["hook"], document["findings"] = denied.Outcome.Hook, denied.Outcome.Findings
		}
		if failure := (*wasm.Error)(nil); errors.As(err, &failure) {
			document["kind"] = failure.Kind
		}
		if access := (*host.AccessError)(nil); errors.As(err, &access) && len(access.Missing) > 0 {
			document["permissions"] = access.Missing
		}
		_ = writeJSON(r.streams.Err, map[string]any{"error": document})
		return
	}
	_, _ = fmt.Fprintf(r.streams.Err, "error: %s\n", render.Error(err.Error()))
	for line := range strings.Lines(hint) {
		_, _ = fmt.Fprintf(r.streams.Err, "hint: %s\n", render.Line(strings.TrimSuffix(line, "\n")))
	}
}

// hintOf returns the hints of the error and of everything it wraps, outermost first, each line once.
func hintOf(err error) string {
	var hints []string
	var walk func(error)
	walk = func(err error) {
		if h, ok := err.(interface{ Hint() string }); ok && h.Hint() != "" {
			hints = append(hints, h.Hint())
		}
		switch w := err.(type) { //nolint:errorlint // this is what unwraps, step by step
		case interface{ Unwrap() error }:
			if inner := w.Unwrap(); inner != nil {
				walk(inner)
			}
		case interface{ Unwrap() []error }:
			for _, inner := range w.Unwrap() {
				walk(inner)
			}
		}
	}
	walk(err)
	var lines []string
	for line := range strings.Lines(strings.Join(hints, "\n")) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

func writeJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(render.JSON(b.Bytes()))
	return err
}

// isTerminal reports whether a stream is a person's terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
