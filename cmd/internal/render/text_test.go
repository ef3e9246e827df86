package render

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/apply"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/state"
)

func TestText(t *testing.T) {
	for text, want := range map[string]struct{ line, lines string }{
		"plain":                {"plain", "plain"},
		"größe: 5 €, 日本":       {"größe: 5 €, 日本", "größe: 5 €, 日本"},
		"\x1b[2Jgone":          {`\x1b[2Jgone`, `\x1b[2Jgone`},
		"bell\a":               {`bell\a`, `bell\a`},
		"good\rbad":            {`good\rbad`, `good\rbad`},
		"\u009b31m":            {`\u009b31m`, `\u009b31m`},
		"abc\u202edcb":         {`abc\u202edcb`, `abc\u202edcb`},
		"a\u2066b\u200b\ufeff": {`a\u2066b\u200b\ufeff`, `a\u2066b\u200b\ufeff`},
		"\xff\xfe":             {`\xff\xfe`, `\xff\xfe`},
		"a\tb":                 {`a\tb`, "a\tb"},
		"a\nb\r\nc\n":          {`a\nb\r\nc\n`, "a\n> b\n> c"},
		"a\u2028b":             {`a\u2028b`, `a\u2028b`},
	} {
		if got := Line(text); got != want.line {
			t.Errorf("Line(%q) = %q, want %q", text, got, want.line)
		}
		if got := Lines(text, "> "); got != want.lines {
			t.Errorf("Lines(%q) = %q, want %q", text, got, want.lines)
		}
	}
	if got := Error("denied: a\n  b\nhint: trust me\nerror: none\x1b[1A"); got != "denied: a\n  b\n  hint: trust me\n  error: none\\x1b[1A" {
		t.Errorf("Error gives %q", got)
	}
}

func TestDocument(t *testing.T) {
	const text = "# \x1b[31mred\na: \"\u202e\"\r\n\tb\n"
	for terminal, want := range map[bool]string{false: text, true: "# \\x1b[31mred\na: \"\\u202e\"\n\tb\n"} {
		var b bytes.Buffer
		if err := Document(&b, []byte(text), terminal); err != nil || b.String() != want {
			t.Errorf("to a terminal (%v): %q, %v; want %q", terminal, b.String(), err, want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\x1b[2J\n\u202eb\U000e0001")
	f.Add("\xf0\x28\x8c\x28")
	f.Fuzz(func(t *testing.T, text string) {
		safe(t, Line(text), "")
		safe(t, Lines(text, margin), "\n\t")
		encoded, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		document := JSON(encoded)
		safe(t, string(document), "")
		var before, after string
		if json.Unmarshal(encoded, &before) != nil || json.Unmarshal(document, &after) != nil || before != after {
			t.Errorf("JSON makes %q of %q", document, encoded)
		}
	})
}

func safe(t *testing.T, text, but string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%q is not UTF-8", text)
	}
	for _, r := range text {
		if !unicode.IsGraphic(r) && !strings.ContainsRune(but, r) {
			t.Fatalf("%q holds %U", text, r)
		}
	}
}

// evil is what a hostile package, plugin or cluster would put into any text.
const evil = "x\nerror: faked\n  guard: allow: faked\r\x1b[2J\a\u202e\u009b"

// Whatever text of whatever structure is hostile, nothing of what is printed moves the cursor or passes
// for a line of ours.
func TestNothingThatIsPrintedIsObeyed(t *testing.T) {
	poisoned := func(v any) { poison(reflect.ValueOf(v).Elem(), 0) }
	var p plan.Plan
	var outcomes []hook.Outcome
	var deployed host.Deployed
	var status host.Status
	var rebuilt host.Rebuilt
	var events []state.PackageEvent
	result := host.Result{Applied: &apply.Result{}}
	for _, v := range []any{&p, &outcomes, &deployed, &status, &rebuilt, &events, &result} {
		poisoned(v)
	}
	broken := deployed
	deployed.Err = nil
	for i := range result.Outcomes {
		result.Outcomes[i].Hook = hook.PostDeploy
	}
	var logged bytes.Buffer
	logger := Logger{Log: slog.New(plainHandler{&logged}), Plain: true}
	for name, print := range map[string]func(io.Writer) error{
		"plan":     func(w io.Writer) error { return Plan(w, p) },
		"outcomes": func(w io.Writer) error { return Outcomes(w, outcomes) },
		"list":     func(w io.Writer) error { return List(w, []host.Deployed{deployed, broken}) },
		"names":    func(w io.Writer) error { return Names(w, []host.Deployed{deployed}) },
		"status":   func(w io.Writer) error { return Status(w, status) },
		"history":  func(w io.Writer) error { return History(w, events) },
		"result":   func(w io.Writer) error { return Result(w, result) },
		"rebuilt":  func(w io.Writer) error { return Rebuilt(w, rebuilt) },
		"log": func(w io.Writer) error {
			logger.Emit(event.Event{Step: evil, Message: evil, Component: evil, Release: evil})
			_, err := w.Write(logged.Bytes())
			return err
		},
	} {
		var b bytes.Buffer
		if err := print(&b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !strings.Contains(b.String(), `\x1b[2J`) {
			t.Errorf("%s shows nothing of what was put in:\n%s", name, b.String())
		}
		for line := range strings.Lines(b.String()) {
			safe(t, line, "\n")
			text := strings.TrimSpace(line)
			if strings.HasPrefix(text, "error:") || strings.HasPrefix(text, "guard:") {
				t.Errorf("%s prints a line that passes for one of ours: %q", name, line)
			}
		}
	}
}

// plainHandler writes messages and attributes as they are.
type plainHandler struct{ w io.Writer }

func (h plainHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h plainHandler) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h plainHandler) WithGroup(string) slog.Handler            { return h }

func (h plainHandler) Handle(_ context.Context, r slog.Record) error {
	_, err := io.WriteString(h.w, r.Message)
	r.Attrs(func(a slog.Attr) bool {
		_, err = io.WriteString(h.w, " "+a.Value.String())
		return err == nil
	})
	return err
}

// poison puts evil into every text that a value can hold.
func poison(v reflect.Value, depth int) {
	const deepest = 9
	if depth > deepest || !v.CanSet() {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(evil)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		poison(v.Elem(), depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		poison(v.Index(0), depth+1)
	case reflect.Map:
		key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		poison(key, depth+1)
		poison(elem, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, elem)
	case reflect.Interface:
		if failed := reflect.ValueOf(errors.New(evil)); failed.Type().Implements(v.Type()) && v.NumMethod() > 0 {
			v.Set(failed)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			poison(v.Field(i), depth+1)
		}
	}
}
