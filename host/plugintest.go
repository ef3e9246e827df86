package host

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/recording"
)

// Tested is a call that a plugin was tested with.
type Tested struct {
	Call    string `json:"call"` // its folder
	Verdict string `json:"verdict"`
	Fuel    uint64 `json:"fuel"`
	MaxFuel uint64 `json:"maxFuel,omitempty"`
	// Problems are what is not as wanted; empty where it passes.
	Problems []string `json:"problems,omitempty"`
	// Updated is whether what is wanted was written anew.
	Updated bool `json:"updated,omitempty"`
}

// TestPluginOptions say how a plugin is tested.
type TestPluginOptions struct {
	PluginOptions
	// Update writes what the plugin says as what is wanted, and a ceiling for its fuel a quarter above
	// what it takes.
	Update bool
}

// TestPlugin asks a module the calls in folders, and holds what it says against what is wanted there: the
// response, however it is written, or the kind of failure, and a ceiling for its fuel.
func TestPlugin(ctx context.Context, module PluginModule, dirs []string, o TestPluginOptions) ([]Tested, error) {
	p := newPlayer(module, o.PluginOptions)
	defer p.close(ctx)
	var out []Tested
	for _, dir := range dirs {
		folders, err := recording.Find(dir)
		if err != nil {
			return out, err
		}
		for _, folder := range folders {
			tested, err := p.test(ctx, folder, o.Update)
			if err != nil {
				return out, fmt.Errorf("testing with %q: %w", folder, err)
			}
			out = append(out, tested)
		}
	}
	return out, nil
}

func (p *player) test(ctx context.Context, folder string, update bool) (Tested, error) {
	call, err := recording.Read(folder)
	if err != nil {
		return Tested{}, err
	}
	now, err := p.play(ctx, call, false)
	if err != nil {
		return Tested{}, err
	}
	t := Tested{Call: folder, Verdict: now.verdict(), Fuel: now.result.Fuel, MaxFuel: call.MaxFuel}
	t.Problems = mismatches(call, now)
	if !update || now.strayed != nil {
		return t, nil
	}
	want := call
	want.Error, want.Fuel, want.Plugin, want.Response = now.kind, 0, nil, nil
	if now.failed == nil {
		if want.Response, err = json.MarshalIndent(json.RawMessage(now.result.Output), "", "  "); err != nil {
			return t, fmt.Errorf("writing what is wanted: %w", err)
		}
		want.Response = append(want.Response, '\n')
	}
	want.MaxFuel = ceiling(call.MaxFuel, now.result.Fuel)
	t.Problems, t.Updated, t.MaxFuel = nil, true, want.MaxFuel
	return t, want.Write(folder)
}

// ceiling keeps a ceiling that still fits, so that updating what is said does not change it each time.
func ceiling(before, fuel uint64) uint64 {
	if fuel <= before && before <= 2*fuel {
		return before
	}
	return fuel + fuel/4
}

func mismatches(want recording.Call, now said) []string {
	var out []string
	wrong := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if now.strayed != nil {
		wrong("%v", now.strayed)
	}
	switch {
	case want.Error != "" && now.kind == "":
		wrong("it answers %s, wanted is a failure of kind %s", now.verdict(), want.Error)
	case want.Error != "" && now.kind != want.Error:
		wrong("it fails with kind %s, wanted is %s: %v", now.kind, want.Error, now.failed)
	case want.Error != "":
	case now.failed != nil:
		wrong("it fails: %v", now.failed)
	case want.Response == nil:
		wrong("there is no response.json that says what is wanted: --update writes it")
	case !recording.Equal(want.Response, now.result.Output):
		wrong("%s", unlike(want.Response, now.result.Response))
	}
	if want.MaxFuel > 0 && now.result.Fuel > want.MaxFuel {
		wrong("it takes %d fuel, at most %d are wanted", now.result.Fuel, want.MaxFuel)
	}
	return out
}

// unlike says which part of a response is another than wanted.
func unlike(want []byte, got hook.Response) string {
	var w hook.Response
	if err := json.Unmarshal(want, &w); err != nil {
		return fmt.Sprintf("the wanted response cannot be read: %v", err)
	}
	for _, part := range []struct {
		name      string
		want, got any
	}{
		{"verdict", w.Verdict, got.Verdict}, {"findings", w.Findings, got.Findings}, {"keep", w.Keep, got.Keep},
		{"collisions", w.Collisions, got.Collisions}, {"id", w.ID, got.ID},
	} {
		a, _ := json.Marshal(part.want) // plain fields always marshal
		b, _ := json.Marshal(part.got)
		if string(a) != string(b) {
			return fmt.Sprintf("its %s: %s, wanted is %s", part.name, b, a)
		}
	}
	return "its response is written otherwise than wanted"
}
