package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/zarf-host/zarf-host/host"
)

func TestAsk(t *testing.T) {
	for _, test := range []struct {
		typed string
		yes   bool // offered
		want  bool
	}{
		{"y\n", false, true}, {"YES\n", false, true}, {"yes", false, true},
		{"\n", false, false}, {"\n", true, true}, {"n\n", true, false}, {"sure\n", true, false},
	} {
		p := &prompter{in: strings.NewReader(test.typed), out: io.Discard}
		if got, err := p.ask(t.Context(), "go on?", test.yes); err != nil || got != test.want {
			t.Errorf("%q, offered %v: %v, %v", test.typed, test.yes, got, err)
		}
	}
}

func TestAskNobody_H6(t *testing.T) {
	p := &prompter{in: strings.NewReader(""), out: io.Discard}
	if yes, err := p.ask(t.Context(), "go on?", true); yes || !errors.Is(err, host.ErrDeclined) {
		t.Errorf("a closed input: %v, %v", yes, err)
	}
}

func TestSeveralAnswersInOneInput(t *testing.T) {
	p := &prompter{in: strings.NewReader("y\nhello\nn\n"), out: io.Discard}
	first, _ := p.ask(t.Context(), "one?", false)
	line, _ := p.line(t.Context(), "two?", "offered", false)
	last, _ := p.ask(t.Context(), "three?", true)
	if !first || line != "hello" || last {
		t.Errorf("%v, %q, %v", first, line, last)
	}
}

func TestSecretDefaultsAreNotShown(t *testing.T) {
	var out bytes.Buffer
	p := &prompter{in: strings.NewReader("\n"), out: &out}
	got, err := p.line(t.Context(), "value of PW?", "canary", true)
	if err != nil || got != "canary" || strings.Contains(out.String(), "canary") {
		t.Errorf("%q, %v, shown %q", got, err, out.String())
	}
}

func TestInterruptEndsAPrompt(t *testing.T) {
	in, _ := io.Pipe() // nobody types
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	p := &prompter{in: in, out: io.Discard}
	if _, err := p.ask(ctx, "go on?", false); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	_ = in.Close()
}
