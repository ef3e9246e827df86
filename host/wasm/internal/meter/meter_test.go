package meter_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/zarf-host/zarf-host/host/internal/guests"
	"github.com/zarf-host/zarf-host/host/wasm/internal/meter"
	"github.com/zarf-host/zarf-host/host/wasm/internal/module"
)

// program exports f, of one i32 parameter and one more local, that runs code.
func program(code ...[]byte) []byte {
	b := &guests.Builder{}
	b.Import("host", "nothing", nil, nil)
	b.Memory(2, 4)
	b.Table(4, -1)
	b.Export("f", 0, b.Func([]byte{guests.I32}, nil, []byte{guests.I32}, code...))
	return b.Bytes()
}

// burn runs the metered f and returns the fuel that it used.
func burn(t *testing.T, wasm []byte, param uint64) (int64, error) {
	t.Helper()
	ctx := context.Background()
	m, err := module.Parse(wasm)
	if err != nil {
		t.Fatal(err)
	}
	metered, err := meter.Rewrite(m, limits())
	if err != nil {
		t.Fatal(err)
	}
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer rt.Close(ctx)
	var used, granted int64
	tick := api.GoModuleFunc(func(_ context.Context, _ api.Module, stack []uint64) {
		used += granted - int64(stack[0])
		granted = 100
		stack[0] = 100
	})
	i64 := []api.ValueType{api.ValueTypeI64}
	if _, err := rt.NewHostModuleBuilder(meter.TickModule).NewFunctionBuilder().WithGoModuleFunction(tick, i64, i64).Export(meter.TickName).Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := rt.NewHostModuleBuilder("host").NewFunctionBuilder().WithFunc(func() {}).Export("nothing").Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	mod, err := rt.Instantiate(ctx, metered)
	if err != nil {
		t.Fatal(err)
	}
	_, err = mod.ExportedFunction("f").Call(ctx, param)
	return used + granted - int64(mod.ExportedGlobal(meter.FuelExport).Get()), err
}

// TestFuelV1 fixes what fuel/v1 counts. A change here is another version.
func TestFuelV1(t *testing.T) {
	nop := guests.Op(0x01)
	nops := func(n int) []byte { return bytes.Repeat(nop, n) }
	block := func(code ...[]byte) []byte { return join([]byte{0x02, 0x40}, join(code...), []byte{0x0b}) }
	branchIf := func(label byte) []byte { return []byte{0x0d, label} }
	tests := map[string]struct {
		code  []byte
		param uint64
		want  int64
	}{
		"nothing":                        {nil, 0, 1}, // its end
		"straight":                       {nops(9), 0, 10},
		"a block":                        {block(nops(5)), 0, 8},
		"an arm taken":                   {join(guests.Get(0), guests.If(nops(5)), nops(2)), 1, 11},
		"an arm not taken":               {join(guests.Get(0), guests.If(nops(5)), nops(2)), 0, 5},
		"behind a branch not taken":      {join(block(guests.Get(0), branchIf(0), nops(5)), nops(2)), 0, 12},
		"behind a branch is paid before": {join(block(guests.Get(0), branchIf(0), nops(5)), nops(2)), 1, 12},
		"passed over by an outer branch": {join(block(block(guests.Get(0), branchIf(1), nops(5)), nops(20)), nops(2)), 1, 13},
		"not passed over":                {join(block(block(guests.Get(0), branchIf(1), nops(5)), nops(20)), nops(2)), 0, 34},
		"a return":                       {join(guests.Get(0), guests.If(guests.Op(guests.Return)), nops(20)), 1, 4},
		"ten times round":                {guests.Repeat(1, 10, nops(3)), 0, 4 + 10*9},
		"a call":                         {join(nops(2), guests.Get(0), guests.If(guests.Const(0), guests.Call(1))), 1, 5 + 3 + 5},
		"a call of the host":             {guests.Call(0), 0, 102},
		"fill":                           {join(guests.Const(0), guests.Const(0), guests.Const(8000), guests.Fill()), 0, 5 + 1000},
		"fill nothing":                   {join(guests.Const(0), guests.Const(0), guests.Const(0), guests.Fill()), 0, 5},
		"copy":                           {join(guests.Const(0), guests.Const(0), guests.Const(80), []byte{0xfc, 10, 0, 0}), 0, 5 + 10},
		"fill a table":                   {join(guests.Const(0), []byte{0xd0, 0x70}, guests.Const(3), []byte{0xfc, 17, 0}), 0, 5 + 3},
		"grow":                           {join(guests.Const(1), []byte{0x40, 0}, guests.Op(guests.Drop)), 0, 4 + 1000},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := burn(t, program(tt.code), tt.param)
			if err != nil {
				t.Fatal(err)
			}
			if got != tt.want {
				t.Errorf("used %d, wanted %d", got, tt.want)
			}
		})
	}
}

// TestIndexTricks holds every index that a guest may write against what the rewriter adds: the counter
// is global 1, tick function 1, its type the last one, and bulk instructions have local 2.
func TestIndexTricks(t *testing.T) {
	type b = guests.Builder
	custom := func(id byte, body ...byte) func([]byte) []byte {
		return func(data []byte) []byte { return insert(data, id, body) }
	}
	tests := map[string]struct {
		code []byte
		edit func([]byte) []byte
		want string
	}{
		"sets the counter":      {join(guests.Const64(1<<40), []byte{0x24, 1}), nil, "global 1 of 1"},
		"reads the counter":     {[]byte{0x23, 1, guests.Drop}, nil, "global 1 of 1"},
		"far global":            {[]byte{0x23, 0xff, 0xff, 0xff, 0xff, 0x0f, guests.Drop}, nil, "global 4294967295"},
		"calls beyond its own":  {guests.Call(2), nil, "function 2 of 2"},
		"refers beyond its own": {[]byte{0xd2, 2, guests.Drop}, nil, "function 2 of 2"},
		"calls by tick's type":  {join(guests.Const64(0), guests.Const(0), []byte{0x11, 2, 0, guests.Drop}), nil, "type 2 of 2"},
		"block of tick's type":  {[]byte{0x02, 2, 0x0b}, nil, "block of type 2"},
		"the bulk local":        {[]byte{0x20, 2, guests.Drop}, nil, "local 2 of 2"},
		"sets the bulk local":   {join(guests.Const(1), guests.Set(2)), nil, "local 2 of 2"},
		"tees the bulk local":   {join(guests.Const(1), []byte{0x22, 2, guests.Drop}), nil, "local 2 of 2"},
		"exports the counter":   {nil, func(d []byte) []byte { return bytes.Replace(d, []byte("\x01f\x00\x01"), []byte("\x01f\x03\x01"), 1) }, "global 1 of 1"},
		"exports tick":          {nil, func(d []byte) []byte { return bytes.Replace(d, []byte("\x01f\x00\x01"), []byte("\x01f\x00\x02"), 1) }, "function 2 of 2"},
		"starts with tick":      {nil, custom(8, 2), "function 2 of 2"},
		"tick in its table":     {nil, custom(9, 1, 0, 0x41, 0, 0x0b, 1, 2), "function 2 of 2"},
		"tick in an expression": {nil, custom(9, 1, 4, 0x41, 0, 0x0b, 1, 0xd2, 2, 0x0b), "function 2 of 2"},
		"counter as offset":     {nil, custom(9, 1, 0, 0x23, 1, 0x0b, 1, 0), "global 1 of 1"},
		"else without if":       {[]byte{0x02, 0x40, 0x05, 0x0b}, nil, "else outside an if"},
		"two elses":             {join(guests.Const(0), []byte{0x04, 0x40, 0x05, 0x05, 0x0b}), nil, "else outside an if"},
		"an end too many":       {[]byte{0x0b}, nil, "code after the end"},
		"an end too few":        {[]byte{0x02, 0x40}, nil, "ends inside a block"},
		"atomics":               {[]byte{0xfe, 0x03, 0}, nil, "0xfe is no instruction"},
		"tail call":             {[]byte{0x12, 1}, nil, "0x12 is no instruction"},
		"exceptions":            {[]byte{0x06, 0x40, 0x0b}, nil, "0x6 is no instruction"},
		"relaxed vectors":       {[]byte{0xfd, 0x80, 0x02}, nil, "no instruction"},
		"four billion locals": {nil, func(d []byte) []byte {
			return bytes.Replace(d, []byte{4, 1, 1, 0x7f, 0x0b}, []byte{8, 1, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x7f, 0x0b}, 1)
		}, "more than 50000 locals"},
		"imports its own meter": {nil, func(d []byte) []byte {
			return bytes.Replace(d, []byte("\x04host\x07nothing"), []byte("\x0azarf_meter\x01t"), 1)
		}, "the meter's"},
		"exports its own fuel": {nil, func(d []byte) []byte {
			return bytes.Replace(d, []byte("\x07\x05\x01\x01f"), []byte("\x07\x0d\x01\x09zarf_fuel"), 1)
		}, "the meter's"},
		"many branches":          {bytes.Repeat([]byte{0x02, 0x40, 0x0b}, 5000), nil, "too long to compile"},
		"many loops":             {bytes.Repeat([]byte{0x03, 0x40, 0x0b}, 1500), nil, "too long to compile"},
		"a large table":          {join([]byte{0x02, 0x40}, guests.Const(0), []byte{0x0e, 0xc0, 0xb8, 0x02}, make([]byte, 40001), []byte{0x0b}), nil, ""},
		"several large tables":   {bytes.Repeat(join([]byte{0x02, 0x40}, guests.Const(0), []byte{0x0e, 0xc0, 0xb8, 0x02}, make([]byte, 40001), []byte{0x0b}), 3), nil, "too long to compile"},
		"a label out of range":   {[]byte{0x0c, 9}, nil, ""}, // the engine's to refuse
		"nothing wrong with it ": {nil, nil, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := &b{}
			m.Import("host", "nothing", nil, nil)
			m.Memory(1, -1)
			m.Table(4, -1)
			m.Global(7)
			m.Export("f", 0, m.Func([]byte{guests.I32}, nil, []byte{guests.I32}, tt.code))
			data := m.Bytes()
			if tt.edit != nil {
				edited := tt.edit(bytes.Clone(data))
				if bytes.Equal(edited, data) {
					t.Fatal("the edit changed nothing")
				}
				data = resize(edited)
			}
			_, err := rewrite(data)
			if tt.want == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
			} else if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, wanted %q", err, tt.want)
			}
		})
	}
}

func rewrite(data []byte) ([]byte, error) {
	m, err := module.Parse(data)
	if err != nil {
		return nil, err
	}
	return meter.Rewrite(m, meter.Limits{Elements: 10, Body: 1 << 20, Branches: 4900, Work: 1 << 20})
}

func TestTablesAreBounded(t *testing.T) {
	b := &guests.Builder{}
	b.Table(2, -1)
	b.Table(2, 1<<30)
	b.Table(2, 5)
	out, err := rewrite(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	m, err := module.Parse(out)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, table := range m.Tables {
		got = append(got, fmt.Sprint(table.Limits))
	}
	if want := "{2 10 true} {2 10 true} {2 5 true}"; strings.Join(got, " ") != want {
		t.Errorf("tables are %v, wanted %s", got, want)
	}
}

// FuzzRewrite holds metered modules against what they came from: both load or neither does, and what
// the metered one ends by itself, the plain one ends alike.
func FuzzRewrite(f *testing.F) {
	f.Add(program(guests.Repeat(1, 10, guests.Const(1), guests.Op(guests.Drop))))
	f.Add(program(guests.Get(0), guests.If(guests.Op(guests.Unreachable))))
	f.Add(program(guests.Const(0), guests.Const(7), guests.Const(9), guests.Fill(), guests.Call(0)))
	f.Add(program(guests.Call(1)))
	f.Fuzz(func(t *testing.T, data []byte) {
		metered, err := rewrite(data)
		if err != nil {
			return
		}
		a, stopped, errA := outcome(t, metered)
		if stopped {
			return
		}
		b, _, errB := outcome(t, data)
		// The engine looks into sections of names, which the rewriter drops.
		if errB != nil && strings.Contains(errB.Error(), "custom") {
			return
		}
		if (errA == nil) != (errB == nil) || a != b {
			t.Fatalf("metered: %s %v, plain: %s %v", a, errA, b, errB)
		}
	})
}

// outcome loads a module and calls its f: what it returned and left in memory, whether it was stopped
// for want of fuel, and why it did not load.
func outcome(t *testing.T, wasm []byte) (result string, stopped bool, err error) {
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithMemoryLimitPages(16))
	defer rt.Close(ctx)
	left := 20
	tick := api.GoModuleFunc(func(_ context.Context, _ api.Module, stack []uint64) {
		if left--; left < 0 {
			stopped = true
			panic("stopped")
		}
		stack[0] = 1000
	})
	i64 := []api.ValueType{api.ValueTypeI64}
	if _, err := rt.NewHostModuleBuilder(meter.TickModule).NewFunctionBuilder().WithGoModuleFunction(tick, i64, i64).Export(meter.TickName).Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := rt.NewHostModuleBuilder("host").NewFunctionBuilder().WithFunc(func() {}).Export("nothing").Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	code, err := rt.CompileModule(ctx, wasm)
	if err != nil {
		return "", false, err
	}
	mod, err := rt.InstantiateModule(ctx, code, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return "not instantiated", stopped, nil
	}
	fn := mod.ExportedFunction("f")
	if fn == nil {
		return "no f", false, nil
	}
	results, err := fn.Call(ctx, make([]uint64, len(fn.Definition().ParamTypes()))...)
	for i, r := range fn.Definition().ResultTypes() {
		if byte(r) == byte(module.FuncRef) && i < len(results) {
			results[i] = 0 // an address in the engine
		}
	}
	result = fmt.Sprint(results)
	if err != nil {
		line, _, _ := strings.Cut(err.Error(), "\n")
		result = line
	}
	if mem := mod.Memory(); mem != nil {
		bytes, _ := mem.Read(0, mem.Size())
		result += fmt.Sprintf(" %x", sha256.Sum256(bytes))
	}
	return result, stopped, nil
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// insert puts a section where its number belongs.
func insert(data []byte, id byte, body []byte) []byte {
	section := append([]byte{id, byte(len(body))}, body...)
	at := 8
	for at < len(data) && data[at] < id {
		at += 2 + int(data[at+1])
	}
	return join(data[:at], section, data[at:])
}

// resize mends the size of the section inside which an edit was made; sizes are one byte here.
func resize(data []byte) []byte {
	if _, err := module.Parse(data); err == nil {
		return data
	}
	for at := 8; at+1 < len(data); at += 2 + int(data[at+1]) {
		for delta := -16; delta <= 16; delta++ {
			fixed := bytes.Clone(data)
			fixed[at+1] = byte(int(fixed[at+1]) + delta)
			if _, err := module.Parse(fixed); err == nil {
				return fixed
			}
		}
	}
	return data
}
