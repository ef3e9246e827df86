package wasm

import (
	"errors"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/wasm/internal/sandbox"
)

// TestWhatAChildSaysIsShownAndNotObeyed: a process that a plugin took over may say anything.
func TestWhatAChildSaysIsShownAndNotObeyed(t *testing.T) {
	p := &Plugin{meta: hook.Metadata{Name: "guest"}}
	err := p.fail(&sandbox.Failure{Kind: "victory", Limit: "\x1b[2J", Text: "a\nb\x1b]0;c\x07" + strings.Repeat("x", 1<<20)})
	var failure *Error
	if !errors.As(err, &failure) || failure.Kind != KindTrap {
		t.Fatalf("error is of kind %v", err)
	}
	text := err.Error()
	if len(text) > 2000 || strings.ContainsAny(text, "\x1b\x07\n") || !strings.Contains(text, `a b\x1b]0;c\x07xxx`) {
		t.Errorf("it is shown as %.100q, %d bytes", text, len(text))
	}
}
