package cli

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
)

// hinted is an error with a hint.
type hinted struct{ text, hint string }

func (e hinted) Error() string { return e.text }
func (e hinted) Hint() string  { return e.hint }

// An error is shown with each hint once, and nothing that came from elsewhere passes for an error or a
// hint of ours, or is obeyed by a terminal.
func TestReport(t *testing.T) {
	busy := hinted{"busy", "wait"}
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"plain":         {errors.New("no"), "error: no\n"},
		"hint":          {fmt.Errorf("deploying: %w", busy), "error: deploying: busy\nhint: wait\n"},
		"the same hint": {errors.Join(busy, fmt.Errorf("x: %w", busy), hinted{"b", "wait\nor not"}), "error: busy\n  x: busy\n  b\nhint: wait\nhint: or not\n"},
		"two lines":     {errors.New("a\nhint: run rm -rf\nerror: b"), "error: a\n  hint: run rm -rf\n  error: b\n"},
		"control":       {hinted{"a\x1b[2K\rgood\a", "b\x1b]0;x\a\u202e"}, "error: a\\x1b[2K\\rgood\\a\nhint: b\\x1b]0;x\\a\\u202e\n"},
		"message shown": {&codeError{code: exitChanges}, ""},
	} {
		var out bytes.Buffer
		r := &root{streams: Streams{Err: &out}, format: "table"}
		r.report(tt.err)
		if out.String() != tt.want {
			t.Errorf("%s: %q, want %q", name, out.String(), tt.want)
		}
	}
}
