package wasm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/zarf-host/zarf-host/host/internal/guests"
	"github.com/zarf-host/zarf-host/host/wasm/internal/meter"
	"github.com/zarf-host/zarf-host/host/wasm/internal/module"
)

// BenchmarkMeter compares what the meter costs with no limit at all, and with the engine's own way of
// ending a guest, which is none for recursion and bulk operations.
func BenchmarkMeter(b *testing.B) {
	root, err := guests.Root()
	if err != nil {
		b.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "bin", "plugins", "guard*.wasm"))
	if err != nil || len(files) == 0 {
		b.Fatalf("bin/plugins has no guard, which `make plugins` builds: %v", err)
	}
	for _, file := range files {
		original, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		parsed, err := module.Parse(original)
		if err != nil {
			b.Fatal(err)
		}
		d := DefaultLimits()
		metered, err := meter.Rewrite(parsed, meter.Limits{Elements: d.Elements, Body: d.Body, Branches: maxBranches, Work: maxWork})
		if err != nil {
			b.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".wasm")
		for _, n := range []int{1, 100, 5000} {
			for _, way := range []struct {
				name   string
				module []byte
				close  bool
			}{{"unmetered", original, false}, {"metered", metered, false}, {"close-on-context-done", original, true}} {
				b.Run(fmt.Sprintf("guest=%s/objects=%d/%s", name, n, way.name), func(b *testing.B) {
					benchEngine(b, way.module, way.close, n)
				})
			}
			b.Run(fmt.Sprintf("guest=%s/objects=%d/ratio", name, n), func(b *testing.B) { benchRatio(b, original, metered, n) })
		}
	}
}

// benchEngine measures one way.
func benchEngine(b *testing.B, wasm []byte, closing bool, objects int) {
	call := readied(b, wasm, closing, objects)
	for b.Loop() {
		call()
	}
}

// benchRatio compares the fastest calls of two ways, taken in turns, so that whatever else the machine
// does counts least.
func benchRatio(b *testing.B, original, metered []byte, objects int) {
	without, with := readied(b, original, false, objects), readied(b, metered, false, objects)
	fastest := func(before time.Duration, call func()) time.Duration {
		start := time.Now()
		call()
		if took := time.Since(start); before == 0 || took < before {
			return took
		}
		return before
	}
	var plain, paid time.Duration
	for b.Loop() {
		plain, paid = fastest(plain, without), fastest(paid, with)
	}
	b.ReportMetric(float64(paid)/float64(plain), "times-unmetered")
}

// readied makes a guard ready and returns what asks it about that many objects.
func readied(b *testing.B, wasm []byte, closing bool, objects int) func() {
	ctx, cancel := context.WithCancel(b.Context())
	b.Cleanup(cancel)
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCloseOnContextDone(closing))
	b.Cleanup(func() { _ = rt.Close(context.Background()) })
	for _, link := range []func(context.Context, wazero.Runtime) error{linkWASI, linkMeter, linkHost} {
		if err := link(ctx, rt); err != nil {
			b.Fatal(err)
		}
	}
	code, err := rt.CompileModule(ctx, wasm)
	if err != nil {
		b.Fatal(err)
	}
	object := `{"apiVersion":"v1","kind":"ConfigMap","namespace":"web","name":"settings","labels":{"app.kubernetes.io/name":"web"},"holdsData":false}`
	input, err := json.Marshal(map[string]any{"apiVersion": "hooks.zarf-host.dev/v1", "kind": "HookRequest", "id": "r1", "hook": "pre-prune",
		"time": "2026-01-02T03:04:05Z", "plan": json.RawMessage(`{"prune":{"objects":[` + strings.Repeat(object+",", objects-1) + object + `]}}`)})
	if err != nil {
		b.Fatal(err)
	}
	return func() {
		g := &guest{
			args: []string{"guard", "pre-prune"}, stdin: bytes.NewReader(input), clock: newClock(time.Unix(1, 0)), random: randomness("", input),
			stdout: &answerWriter{limit: 1 << 20, stop: func(error) {}}, stderr: &logWriter{limit: 1 << 10},
			tank: &tank{budget: 1 << 60}, memory: &allocator{limit: 1 << 30},
		}
		inside := context.WithValue(experimental.WithMemoryAllocator(ctx, g.memory), guestKey{}, g)
		mod, err := rt.InstantiateModule(inside, code, wazero.NewModuleConfig().WithName(""))
		if mod != nil {
			_ = mod.Close(ctx)
		}
		if !bytes.Contains(g.stdout.buf, []byte(`"verdict":"allow"`)) {
			b.Fatalf("it answered %q, %v", g.stdout.buf, err)
		}
	}
}
