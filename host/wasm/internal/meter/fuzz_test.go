package meter_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/zarf-host/zarf-host/host/internal/guests"
	"github.com/zarf-host/zarf-host/host/wasm/internal/meter"
	"github.com/zarf-host/zarf-host/host/wasm/internal/module"
)

// FuzzMeteredIsUnmetered writes a valid program of the input's bytes and runs it as it is and metered:
// both return the same, trap alike, and leave the same memory and globals.
func FuzzMeteredIsUnmetered(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("a program that nobody wrote"))
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		seed := make([]byte, 20+random.IntN(400))
		for i := range seed {
			seed[i] = byte(random.Uint32())
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4<<10 {
			return // the programs would only take longer
		}
		original := (&author{data: data}).program()
		m, err := module.Parse(original)
		if err != nil {
			t.Fatalf("the program cannot be parsed: %v", err)
		}
		metered, err := meter.Rewrite(m, limits())
		if err != nil {
			t.Fatalf("the program is refused: %v", err)
		}
		want, _ := runs(t, original)
		got, fuel := runs(t, metered)
		if got != want {
			t.Errorf("metered it comes to\n%s, unmetered to\n%s", got, want)
		}
		if again, used := runs(t, metered); again != got || used != fuel {
			t.Errorf("run twice it takes %d and %d", fuel, used)
		}
		if fuel <= 0 {
			t.Errorf("it takes %d fuel", fuel)
		}
	})
}

// runs instantiates a program, calls it twice, and says all that can be seen of it, and its fuel.
func runs(t *testing.T, program []byte) (string, int64) {
	t.Helper()
	ctx := t.Context()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithMemoryLimitPages(4))
	defer rt.Close(context.Background())
	var used int64
	const grant = 1000
	first := true
	tick := api.GoModuleFunc(func(_ context.Context, _ api.Module, stack []uint64) {
		if !first {
			used += grant
		}
		first = false
		used -= int64(stack[0])
		stack[0] = grant
	})
	i64 := []api.ValueType{api.ValueTypeI64}
	b := rt.NewHostModuleBuilder(meter.TickModule)
	b.NewFunctionBuilder().WithGoModuleFunction(tick, i64, i64).Export(meter.TickName)
	if _, err := b.Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	mod, err := rt.Instantiate(ctx, program)
	if err != nil {
		t.Fatalf("the program is invalid: %v", err)
	}
	var out strings.Builder
	for range 2 {
		values, err := mod.ExportedFunction("run").Call(ctx)
		if err != nil {
			line, _, _ := strings.Cut(err.Error(), "\n")
			fmt.Fprintf(&out, "%s; ", line)
		} else {
			fmt.Fprintf(&out, "%d; ", values)
		}
	}
	memory := mod.ExportedMemory("memory")
	bytes, _ := memory.Read(0, memory.Size())
	fmt.Fprintf(&out, "%d bytes of %x; global %d", memory.Size(), sum(bytes), mod.ExportedGlobal("global").Get())
	if left := mod.ExportedGlobal(meter.FuelExport); left != nil {
		used += grant - int64(left.Get())
	}
	return out.String(), used
}

func sum(data []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range data {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}

// author writes programs that are valid and end, whatever the bytes say.
type author struct {
	data  []byte
	funcs []uint32
	left  int // statements that may still be written
	calls int // and calls
}

// The locals of each function: those that statements set, then the counters of loops by depth.
const (
	variables = 4
	depths    = 4
)

func (a *author) program() []byte {
	m := &guests.Builder{}
	m.Memory(1, 3)
	global := m.Global(7)
	locals := slices.Repeat([]byte{guests.I32}, variables+depths)
	for range 1 + a.pick(3) {
		a.left, a.calls = 60, 4
		body := a.statements(0)
		a.funcs = append(a.funcs, m.Func(nil, []byte{guests.I32}, locals, body, a.expression(0)))
	}
	m.Export("run", 0, a.funcs[len(a.funcs)-1])
	m.Export("memory", 2, 0)
	m.Export("global", 3, global)
	return m.Bytes()
}

// pick takes a byte as a choice out of n; without bytes the first.
func (a *author) pick(n int) int {
	if len(a.data) == 0 {
		return 0
	}
	b := a.data[0]
	a.data = a.data[1:]
	return int(b) % n
}

func (a *author) statements(depth int) []byte {
	var out []byte
	for n := 1 + a.pick(6); n > 0 && a.left > 0; n-- {
		a.left--
		out = append(out, a.statement(depth)...)
	}
	return out
}

func (a *author) variable() uint32 { return uint32(a.pick(variables)) }

func (a *author) statement(depth int) []byte {
	deeper := depth < depths-1
	block := func(op byte, parts ...[]byte) []byte {
		return bytes.Join([][]byte{{op, 0x40}, bytes.Join(parts, nil), {guests.End}}, nil)
	}
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	switch a.pick(14) {
	case 0:
		return join(a.expression(0), guests.Set(a.variable()))
	case 1: // i32.store8, inside memory most of the time
		return join(a.address(), a.expression(0), []byte{0x3a, 0, 0})
	case 2: // global.set
		return join(a.expression(0), []byte{0x24, 0})
	case 3:
		if !deeper {
			return nil
		}
		return join(a.expression(0), []byte{0x04, 0x40}, a.statements(depth+1), []byte{0x05}, a.statements(depth+1), []byte{guests.End})
	case 4:
		if !deeper {
			return nil
		}
		n := int32(1 + a.pick(5))
		return guests.Repeat(uint32(variables+depth), n, a.statements(depth+1))
	case 5: // a block that is left early, perhaps
		if !deeper {
			return nil
		}
		return block(0x02, a.statements(depth+1), a.expression(0), []byte{0x0d, 0}, a.statements(depth+1))
	case 6: // br_table out of two blocks
		if !deeper {
			return nil
		}
		return block(0x02, block(0x02, a.expression(0), []byte{0x0e, 1, 0, 1}), a.statements(depth+1))
	case 7: // memory.fill of up to 255 bytes
		return join(a.address(), a.expression(0), guests.Const(int32(a.pick(256))), guests.Fill())
	case 8: // memory.copy
		return join(a.address(), a.address(), guests.Const(int32(a.pick(256))), []byte{0xfc, 10, 0, 0})
	case 9:
		return join(guests.Const(int32(a.pick(3))), guests.Op(guests.MemoryGrow, 0), guests.Set(a.variable()))
	case 10:
		if len(a.funcs) == 0 || depth > 0 || a.calls == 0 {
			return nil // loops around calls around loops would take too long
		}
		a.calls--
		return join(guests.Call(a.funcs[a.pick(len(a.funcs))]), guests.Set(a.variable()))
	case 11:
		return join(a.expression(0), guests.If(a.expression(0), guests.Op(guests.Return)))
	case 12:
		return join(a.expression(0), guests.If(guests.Op(guests.Unreachable)))
	default: // code behind a return is dead, and must stay valid
		if !deeper {
			return nil
		}
		return block(0x02, a.expression(0), guests.If(a.expression(0), guests.Op(guests.Return), a.statements(depth+1)), a.statements(depth+1))
	}
}

// address is a place in the first page, or, seldom, any.
func (a *author) address() []byte {
	e := a.expression(0)
	if a.pick(8) == 0 {
		return e
	}
	return bytes.Join([][]byte{e, guests.Const(0x7fff), {0x71}}, nil) // i32.and
}

func (a *author) expression(depth int) []byte {
	if depth > 3 {
		return guests.Const(int32(a.pick(256)))
	}
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	switch a.pick(8) {
	case 0:
		return guests.Const(int32(a.pick(256)) - 128)
	case 1, 2:
		return guests.Get(a.variable())
	case 3: // global.get
		return []byte{0x23, 0}
	case 4: // add, sub, mul, div_s, rem_u, and, or, xor, shl, comparisons
		ops := []byte{0x6a, 0x6b, 0x6c, 0x6d, 0x70, 0x71, 0x72, 0x73, 0x74, 0x46, 0x48, 0x4b}
		return join(a.expression(depth+1), a.expression(depth+1), []byte{ops[a.pick(len(ops))]})
	case 5: // i32.load
		return join(a.expression(depth+1), guests.Const(0x7fff), []byte{0x71, 0x28, 0, 0})
	case 6: // select
		return join(a.expression(depth+1), a.expression(depth+1), a.expression(depth+1), []byte{0x1b})
	default: // memory.size
		return []byte{0x3f, 0}
	}
}
