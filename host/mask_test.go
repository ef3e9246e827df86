package host

import (
	"errors"
	"fmt"
	"testing"

	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/state"
)

func TestMask(t *testing.T) {
	var m mask
	m.add(state.DeployConfig{
		SetVariables:       map[string]string{"A": "hunter2", "B": "true", "N": "7", "LINES": "first line\nsecond line\n", "NS": "production"},
		Values:             state.Values{"a": map[string]any{"b": []any{"deep-secret", 12345678}}},
		ValuesOverridesMap: state.ValuesOverrides{"c": {"d": {"e": "over-ride"}}},
	})
	m.allow("production")
	for text, want := range map[string]string{
		"it is hunter2.":                    "it is **sanitized**.",
		"it is hunter22 or xhunter2":        "it is hunter22 or xhunter2",
		"hunter2hunter2 hunter2":            "hunter2hunter2 **sanitized**",
		"true is not masked":                "true is not masked",
		"got second line, deep-secret":      "got **sanitized**, **sanitized**",
		"namespace production is gone":      "namespace production is gone",
		`spec.x: Invalid value: "true": no`: "spec.x: Invalid value: **sanitized**: no",
		`Unsupported value: "not given": c`: `Unsupported value: "not given": c`,
		`Invalid value: 7: must be 3`:       "Invalid value: **sanitized**: must be 3",
		"over-ride":                         "**sanitized**",
		"":                                  "",
	} {
		if got := m.text(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	cause := errors.New("hunter2 is wrong")
	err := m.error(fmt.Errorf("deploying: %w", cause))
	if err.Error() != "deploying: **sanitized** is wrong" || !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
	if plain := errors.New("nothing to hide"); m.error(plain) != plain || m.error(nil) != nil {
		t.Error("an error without secrets is another one")
	}
	var said string
	m.sink(event.Func(func(e event.Event) { said = e.Message })).Emit(event.Event{Message: "hunter2"})
	if said != "**sanitized**" {
		t.Errorf("said %q", said)
	}
}
