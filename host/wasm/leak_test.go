package wasm_test

import (
	"runtime"
	"testing"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/wasm"
)

// TestL13LoadAndClose loads, asks and closes a plugin over and over: nothing of it may stay.
func TestL13LoadAndClose(t *testing.T) {
	module := allower(t)
	cycle := func(n int) {
		for range n {
			p, err := wasm.Load(t.Context(), module, wasm.Options{NoCache: true, Sandbox: wasm.SandboxInProcess})
			if err != nil {
				t.Fatal(err)
			}
			if res, err := p.Call(t.Context(), request()); err != nil || res.Response.Verdict != hook.Allow {
				t.Fatalf("answered %+v, %v", res.Response, err)
			}
			if err := p.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	heap := func() uint64 {
		for range 3 { // finalizers of one round release what the next collects
			runtime.GC()
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	cycle(50)
	before := heap()
	cycle(1000)
	if after := heap(); after > before+8<<20 {
		t.Errorf("the heap grew from %d to %d bytes", before, after)
	}
}
