package wasm_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/internal/guests"
	"github.com/zarf-host/zarf-host/host/wasm"
)

// guards are the guard in each language in which it was built: the Go one always, those of other
// languages where bin/plugins has them as guard-LANGUAGE.wasm.
func guards(b *testing.B) map[string][]byte {
	b.Helper()
	out := map[string][]byte{"go": guard(b)}
	root, err := guests.Root()
	if err != nil {
		b.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "bin", "plugins", "guard-*.wasm"))
	if err != nil {
		b.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		language := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "guard-"), ".wasm")
		out[language] = data
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

// whole is a guard that names no inputs, so that it is sent everything.
func whole(b *testing.B) []byte {
	b.Helper()
	meta, err := wasm.ReadMetadata(guard(b))
	if err != nil {
		b.Fatal(err)
	}
	for i := range meta.Hooks {
		meta.Hooks[i].Inputs = nil
	}
	module, err := wasm.Annotate(built(b, "plugins/guard"), meta)
	if err != nil {
		b.Fatal(err)
	}
	return module
}

// BenchmarkCall asks guards about prunes of three sizes, in process and in the child; the Go one with
// the whole request too.
func BenchmarkCall(b *testing.B) {
	modules := guards(b)
	modules["go-whole"] = whole(b)
	for name, module := range modules {
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
