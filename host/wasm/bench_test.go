package wasm_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/internal/guests"
	"github.com/zarf-host/zarf-host/host/wasm"
	"github.com/zarf-host/zarf-host/plugins/toolchain"
)

// guards are the guard in each language whose compiler is on this machine, with the fields that they name
// and, as LANGUAGE-whole, with none named, so that they are sent everything.
func guards(b *testing.B) map[string][]byte {
	b.Helper()
	projected, err := wasm.ReadMetadata(guard(b))
	if err != nil {
		b.Fatal(err)
	}
	whole := projected
	whole.Hooks = slices.Clone(projected.Hooks)
	for i := range whole.Hooks {
		whole.Hooks[i].Inputs = nil
	}
	out := map[string][]byte{}
	for language, folder := range map[string]string{"go": "plugins/guard", "c": "plugins/guard-c", "rust": "plugins/guard-rust"} {
		code, err := guests.Build(b.Context(), folder)
		if toolchain.IsMissing(err) {
			b.Logf("the guard in %s is left out: %v", language, err)
			continue
		}
		if err != nil {
			b.Fatal(err)
		}
		for name, meta := range map[string]hook.Metadata{language: projected, language + "-whole": whole} {
			if out[name], err = wasm.Annotate(code, meta); err != nil {
				b.Fatal(err)
			}
		}
	}
	return out
}

// pruneOf is a request in which that many objects would go, as they are: most of it is what the guard
// does not read.
func pruneOf(n int) hook.Request {
	req := prune()
	object := `{"apiVersion":"v1","kind":"ConfigMap","namespace":"web","name":"settings","uid":"0f8fad5b-d9cb-469f-a165-70867728950e",` +
		`"labels":{"app.kubernetes.io/name":"web"},"annotations":{"meta.helm.sh/release-name":"web","note":"` + strings.Repeat("x", 300) + `"},"holdsData":false}`
	req.Plan = json.RawMessage(`{"prune":{"objects":[` + strings.Repeat(object+",", n-1) + object + `]}}`)
	return req
}

// BenchmarkCall asks guards about prunes of three sizes, in process and in the child, with what they name
// and with the whole request.
func BenchmarkCall(b *testing.B) {
	for name, module := range guards(b) {
		for mode, sandbox := range sandboxes() {
			p, err := load(b, module, wasm.Options{CacheDir: guests.CompiledDir(), Sandbox: sandbox})
			if err != nil {
				b.Fatal(err)
			}
			for _, n := range []int{1, 100, 5000} {
				b.Run(fmt.Sprintf("guest=%s/%s/objects=%d", name, strings.ReplaceAll(mode, " ", "-"), n), func(b *testing.B) {
					req := pruneOf(n)
					var fuel uint64
					for b.Loop() {
						res, err := p.Call(b.Context(), req)
						if err != nil {
							b.Fatal(err)
						}
						fuel = res.Fuel
					}
					b.ReportMetric(float64(fuel), "fuel/op")
				})
			}
		}
	}
}

// BenchmarkLoad makes guards ready: compiled anew, and from the cache; in process and in the child, with
// its start.
func BenchmarkLoad(b *testing.B) {
	for name, module := range guards(b) {
		if strings.HasSuffix(name, "-whole") {
			continue // the same code
		}
		for mode, sandbox := range sandboxes() {
			for _, cold := range []bool{true, false} {
				b.Run(fmt.Sprintf("guest=%s/%s/cold=%t", name, strings.ReplaceAll(mode, " ", "-"), cold), func(b *testing.B) {
					opts := wasm.Options{Sandbox: sandbox, NoCache: cold}
					if !cold {
						opts.CacheDir = guests.CompiledDir()
					}
					for b.Loop() {
						p, err := wasm.Load(b.Context(), module, opts)
						if err != nil {
							b.Fatal(err)
						}
						if err := p.Close(b.Context()); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
