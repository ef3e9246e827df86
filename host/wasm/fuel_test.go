package wasm_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host/internal/guests"
	"github.com/zarf-host/zarf-host/host/wasm"
)

var update = flag.Bool("update", false, "rewrite the fuel that modules are known to take")

// fuelled are modules of which each uses another part of the meter.
func fuelled(t *testing.T) map[string][]byte {
	allow := guests.Answer("r1", "allow")
	then := func(p *guests.Program, code ...[]byte) []byte {
		return append(slices.Concat(code...), p.Print(1, allow)...)
	}
	return map[string][]byte{
		"answers": annotated(t, guests.Command(1, func(p *guests.Program) []byte { return then(p) })),
		"exits":   annotated(t, guests.Command(1, func(p *guests.Program) []byte { return append(then(p), p.Exit(0)...) })),
		"loops": annotated(t, guests.Command(1, func(p *guests.Program) []byte {
			return then(p, guests.Repeat(0, 3_000_000, guests.Const(1), guests.Op(guests.Drop)))
		})),
		"recurses": annotated(t, guests.Command(1, func(p *guests.Program) []byte {
			fib := p.Func([]byte{guests.I32}, []byte{guests.I32}, nil,
				guests.Get(0), guests.Const(2), guests.Op(guests.I32LtS), guests.If(guests.Get(0), guests.Op(guests.Return)),
				guests.Get(0), guests.Const(1), guests.Op(guests.I32Sub), guests.Call(4),
				guests.Get(0), guests.Const(2), guests.Op(guests.I32Sub), guests.Call(4), guests.Op(guests.I32Add))
			return then(p, guests.Const(20), guests.Call(fib), guests.Op(guests.Drop))
		})),
		"fills": annotated(t, guests.Command(64, func(p *guests.Program) []byte {
			// Above what it prints.
			return then(p, guests.Repeat(0, 10, guests.Const(1<<20), guests.Const(7), guests.Const(2<<20), guests.Fill()))
		})),
		"grows": annotated(t, guests.Command(1, func(p *guests.Program) []byte {
			return then(p, guests.Const(16), guests.Op(guests.MemoryGrow, 0, guests.Drop))
		})),
		"randomness": annotated(t, guests.Command(64, func(p *guests.Program) []byte { return then(p, p.Random(1<<20, 1<<20)) })),
		"asks": asking(t, guests.Asking(1, func(p *guests.Program) []byte {
			return then(p, p.Ask(`{"op":"none"}`), guests.Op(guests.Drop), p.ReadAnswer(8<<10, 100), guests.Op(guests.Drop))
		})),
		"runs dry": annotated(t, guests.Command(1, func(*guests.Program) []byte { return guests.Forever() })),
	}
}

// TestFuelByDigest holds what each module takes against what the same module, by its digest, has always
// taken: budgets and recordings depend on it. The same in process and in the child.
func TestFuelByDigest(t *testing.T) {
	file := filepath.Join("testdata", "fuel-v1.golden")
	want := map[string]string{}
	data, err := os.ReadFile(file)
	if err != nil && !*update {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), ": ")
		want[name] = rest
	}
	got := map[string]string{}
	for name, module := range fuelled(t) {
		for mode, sandbox := range sandboxes() {
			p, err := load(t, module, wasm.Options{Sandbox: sandbox, Limits: wasm.Limits{Fuel: 100_000_000}})
			if err != nil {
				t.Fatal(err)
			}
			res, err := p.Call(t.Context(), request())
			if (err != nil) != (name == "runs dry") {
				t.Fatalf("%s: %v", name, err)
			}
			line := fmt.Sprintf("%s %d", p.Digest(), res.Fuel)
			if before, ok := got[name]; ok && before != line {
				t.Errorf("%s takes %s %s, and elsewhere %s", name, line, mode, before)
			}
			got[name] = line
		}
	}
	if *update {
		var b strings.Builder
		for _, name := range slices.Sorted(maps.Keys(got)) {
			fmt.Fprintf(&b, "%s: %s\n", name, got[name])
		}
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !maps.Equal(got, want) {
		t.Errorf("modules take\n%v, wanted\n%v", got, want)
	}
}
