package wasm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/internal/guests"
	"github.com/zarf-host/zarf-host/host/wasm"
)

// asking gives a module that asks the host metadata with which it loads.
func asking(t testing.TB, module []byte) []byte {
	t.Helper()
	out, err := wasm.Annotate(module, hook.Metadata{Name: "guest", Version: "1", ABI: []string{"v1"},
		Hooks: []hook.Use{{Name: hook.PreDeploy}}, Capabilities: []hook.Capability{hook.K8sGet, hook.K8sList, hook.PackageFile},
		ConfigSchema: json.RawMessage(`{"type":"object"}`)})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

type hostFunc func(ctx context.Context, request []byte) ([]byte, error)

func (f hostFunc) Answer(ctx context.Context, request []byte) ([]byte, error) { return f(ctx, request) }

// script is a host that answers from a recording.
type script struct{ *hook.Script }

func (s script) Answer(_ context.Context, request []byte) ([]byte, error) { return s.Reply(request) }

// TestHostCalls asks from a real guest, records, and replays: the same bytes and the same fuel, in
// process and in the child.
func TestHostCalls(t *testing.T) {
	module := asking(t, built(t, "host/internal/guests/asker"))
	config := map[string]any{
		"get":   []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "namespace": "web", "name": "settings"}},
		"list":  []any{map[string]any{"Kind": "Pod", "APIVersion": "v1"}},
		"files": []any{"zarf.yaml", "gone"},
	}
	world := hostFunc(func(_ context.Context, request []byte) ([]byte, error) {
		call, err := hook.ParseCall(request)
		switch {
		case err != nil:
			return nil, err
		case call.Op == hook.OpGet:
			return json.Marshal(hook.Reply{Object: map[string]any{"kind": call.Kind, "data": map[string]any{"big": strings.Repeat("x", 10_000)}}})
		case call.Op == hook.OpList:
			return hook.Refuse(hook.CodeForbidden, "not here"), nil
		case call.Path == "zarf.yaml":
			return json.Marshal(hook.Reply{Data: []byte("kind: ZarfPackageConfig")})
		default:
			return nil, errors.New("the disk is on fire")
		}
	})
	var first wasm.Result
	for _, sandbox := range []wasm.Sandbox{wasm.SandboxChild, wasm.SandboxInProcess} {
		p, err := load(t, module, wasm.Options{CacheDir: guests.CompiledDir(), Config: config, Sandbox: sandbox})
		if err != nil {
			t.Fatal(err)
		}
		live, err := p.CallWith(t.Context(), request(), world)
		if err != nil {
			t.Fatalf("%v\n%s", err, live.Log)
		}
		if first.Output == nil {
			first = live
		}
		var said []string
		for _, f := range live.Response.Findings {
			said = append(said, f.Message[:min(len(f.Message), 70)])
		}
		want := []string{
			`get ConfigMap settings: {"data":{"big":"` + strings.Repeat("x", 30),
			`list Pod: listing Pod: forbidden: not here`,
			`file zarf.yaml: "kind: ZarfPackageConfig"`,
			`file gone: reading "gone" from the package: failed: the disk is on fir`,
		}
		if strings.Join(said, "\n") != strings.Join(want, "\n") {
			t.Errorf("it was told\n%s, wanted\n%s", strings.Join(said, "\n"), strings.Join(want, "\n"))
		}
		if len(live.Calls) != 4 {
			t.Fatalf("%d calls are recorded, wanted 4", len(live.Calls))
		}
		// A recording survives being written and read.
		doc, err := json.Marshal(live.Calls)
		if err != nil {
			t.Fatal(err)
		}
		var calls []hook.Exchange
		if err := json.Unmarshal(doc, &calls); err != nil {
			t.Fatal(err)
		}
		replay := hook.NewScript(calls)
		again, err := p.CallWith(t.Context(), request(), script{replay})
		if err != nil || replay.Left() != 0 {
			t.Fatalf("replay: %v, %d answers left", err, replay.Left())
		}
		for _, res := range []wasm.Result{live, again} {
			if !bytes.Equal(res.Output, first.Output) || res.Fuel != first.Fuel {
				t.Errorf("%d bytes and fuel %d, the first run gave %d and %d", len(res.Output), res.Fuel, len(first.Output), first.Fuel)
			}
		}
	}
}

// TestHostileCalls holds what guests do with host calls against how they end.
func TestHostileCalls(t *testing.T) {
	allow := guests.Answer("r1", "allow")
	small := hostFunc(func(context.Context, []byte) ([]byte, error) { return []byte(`{}`), nil })
	large := []byte(`"` + strings.Repeat("x", 1<<20) + `"`)
	// i64Is traps unless the number on the stack is the wanted one.
	i64Is := func(n int64) []byte {
		return append(append(guests.Const64(n), 0x52), guests.If(guests.Op(guests.Unreachable))...)
	}
	i32Is := func(n int32) []byte {
		return append(append(guests.Const(n), 0x47), guests.If(guests.Op(guests.Unreachable))...)
	}
	cat := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	tests := map[string]struct {
		code   func(p *guests.Program) []byte
		host   wasm.Host
		limits wasm.Limits
		kind   wasm.Kind // empty: it answers
		want   string
	}{
		"flood": {func(p *guests.Program) []byte { return guests.Forever(p.Ask(`{}`), guests.Op(guests.Drop)) },
			small, wasm.Limits{}, wasm.KindHostCall, "1000 host calls"},
		"flood of answers": {func(p *guests.Program) []byte { return guests.Forever(p.Ask(`{}`), guests.Op(guests.Drop)) },
			hostFunc(func(context.Context, []byte) ([]byte, error) { return large, nil }), wasm.Limits{}, wasm.KindHostCall, "16 MiB of answers"},
		"one answer too large": {func(p *guests.Program) []byte { return cat(p.Ask(`{}`), guests.Op(guests.Drop), p.Print(1, allow)) },
			hostFunc(func(context.Context, []byte) ([]byte, error) { return make([]byte, 17<<20), nil }), wasm.Limits{}, wasm.KindHostCall, "16 MiB of answers"},
		"a host that blocks and ignores its context": {func(p *guests.Program) []byte { return cat(p.Ask(`{}`), guests.Op(guests.Drop), p.Print(1, allow)) },
			hostFunc(func(context.Context, []byte) ([]byte, error) { time.Sleep(2 * time.Second); return nil, nil }),
			wasm.Limits{Call: 200 * time.Millisecond}, "", `"code":"timeout"`},
		"blocking calls end by the deadline": {func(p *guests.Program) []byte { return guests.Forever(p.Ask(`{}`), guests.Op(guests.Drop)) },
			hostFunc(func(ctx context.Context, _ []byte) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() }),
			wasm.Limits{Call: 100 * time.Millisecond, Run: 500 * time.Millisecond}, wasm.KindDeadline, "500ms to run"},
		"no host":                {func(p *guests.Program) []byte { return cat(p.Ask(`{}`), guests.Op(guests.Drop), p.Print(1, allow)) }, nil, wasm.Limits{}, "", `"code":"unavailable"`},
		"request outside memory": {func(p *guests.Program) []byte { return cat(p.AskAt(-8, 100), i64Is(-21), p.Print(1, allow)) }, small, wasm.Limits{}, "", ""},
		"request too large":      {func(p *guests.Program) []byte { return cat(p.AskAt(0, 65<<10), i64Is(-1), p.Print(1, allow)) }, small, wasm.Limits{}, "", ""},
		"read outside memory": {func(p *guests.Program) []byte {
			return cat(p.Ask(`{}`), i64Is(2), p.ReadAnswer(-1, 2), i32Is(-21), p.Print(1, allow))
		}, small, wasm.Limits{}, "", ""},
		"read in pieces and beyond the end": {func(p *guests.Program) []byte {
			return cat(p.Ask(`{}`), i64Is(2), p.ReadAnswer(512, 1), i32Is(1), p.ReadAnswer(513, 100), i32Is(1), p.ReadAnswer(513, 100), i32Is(0), p.Print(1, allow))
		}, small, wasm.Limits{}, "", ""},
		"read before any answer": {func(p *guests.Program) []byte { return cat(p.ReadAnswer(0, 100), i32Is(0), p.Print(1, allow)) }, small, wasm.Limits{}, "", ""},
	}
	for mode, sandbox := range sandboxes() {
		for name, tt := range tests {
			t.Run(mode+"/"+name, func(t *testing.T) {
				p, err := load(t, asking(t, guests.Asking(1, tt.code)), wasm.Options{Limits: tt.limits, Sandbox: sandbox})
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				res, err := p.CallWith(t.Context(), request(), tt.host)
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("it took %v", took)
				}
				if tt.kind == "" {
					if err != nil {
						t.Fatal(err)
					}
					if tt.want != "" && (len(res.Calls) != 1 || !strings.Contains(string(res.Calls[0].Answer), tt.want)) {
						t.Errorf("recorded is %s, wanted %q", res.Calls, tt.want)
					}
					return
				}
				var failure *wasm.Error
				if !errors.As(err, &failure) || failure.Kind != tt.kind || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("error is %v, wanted kind %s with %q", err, tt.kind, tt.want)
				}
			})
		}
	}
	time.Sleep(2 * time.Second) // the host that ignores its context returns before leaks are looked for
}
