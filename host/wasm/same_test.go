package wasm_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/internal/guests"
	"github.com/zarf-host/zarf-host/host/wasm"
)

// TestL15SameInProcessAndInTheChild: the same module and request give the same bytes, fuel, memory and
// failures on every run, wherever it runs.
func TestL15SameInProcessAndInTheChild(t *testing.T) {
	probe, err := wasm.Annotate(built(t, "host/internal/guests/probe"), hook.Metadata{Name: "probe", Version: "1", ABI: []string{"v1"},
		Hooks: []hook.Use{{Name: hook.PreDeploy}}})
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		module  []byte
		request hook.Request
		fails   bool
	}{
		"guard": {guard(t), prune(), false},
		"probe": {probe, request(), false},
		"trap": {annotated(t, guests.Command(1, func(p *guests.Program) []byte {
			return append(p.Print(2, "lost"), guests.Unreachable)
		})), request(), true},
		"fuel":  {annotated(t, guests.Command(1, func(*guests.Program) []byte { return guests.Forever() })), request(), true},
		"flood": {annotated(t, guests.Command(1, func(p *guests.Program) []byte { return guests.Forever(p.Print(1, "0123456789")) })), request(), true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			limits := wasm.Limits{Fuel: 1_000_000_000, Stdout: 1 << 20, Compile: 5 * time.Minute}
			var results []wasm.Result
			var texts []string
			for _, sandbox := range []wasm.Sandbox{wasm.SandboxChild, wasm.SandboxInProcess} {
				p, err := load(t, tt.module, wasm.Options{CacheDir: guests.CompiledDir(), Sandbox: sandbox, Limits: limits})
				if err != nil {
					t.Fatal(err)
				}
				for range 2 {
					res, err := p.Call(t.Context(), tt.request)
					if (err != nil) != tt.fails {
						t.Fatalf("error is %v", err)
					}
					if err != nil {
						texts = append(texts, err.Error())
					}
					results = append(results, res)
				}
			}
			first := results[0]
			for _, res := range results[1:] {
				if !bytes.Equal(res.Output, first.Output) || res.Log != first.Log || res.Fuel != first.Fuel || res.Memory != first.Memory {
					t.Errorf("one run gave %d bytes, log %q, fuel %d, memory %d; another %d bytes, log %q, fuel %d, memory %d",
						len(first.Output), first.Log, first.Fuel, first.Memory, len(res.Output), res.Log, res.Fuel, res.Memory)
				}
			}
			if len(slices.Compact(texts)) > 1 {
				t.Errorf("errors are %q", texts)
			}
		})
	}
}
