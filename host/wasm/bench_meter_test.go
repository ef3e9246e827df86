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
		}
	}
}

func benchEngine(b *testing.B, wasm []byte, closing bool, objects int) {
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCloseOnContextDone(closing))
	defer func() { _ = rt.Close(context.Background()) }()
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
	for b.Loop() {
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
