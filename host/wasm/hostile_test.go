package wasm_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/internal/guests"
	"github.com/zarf-host/zarf-host/host/wasm"
)

// annotated gives a module metadata with which it loads.
func annotated(t testing.TB, module []byte) []byte {
	t.Helper()
	out, err := wasm.Annotate(module, hook.Metadata{Name: "guest", Version: "1", ABI: []string{"v1"},
		Hooks: []hook.Use{{Name: hook.PreDeploy}, {Name: hook.PrePrune}}})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func load(t testing.TB, module []byte, opts wasm.Options) (*wasm.Plugin, error) {
	t.Helper()
	if opts.CacheDir == "" {
		opts.NoCache = true
	}
	p, err := wasm.Load(t.Context(), module, opts)
	if err == nil {
		t.Cleanup(func() {
			if err := p.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	return p, err
}

func request() hook.Request {
	return hook.Request{ID: "r1", Hook: hook.PreDeploy, Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)}
}

// TestHostile holds every way of not answering against the kind of error that it must be (FAULTS L3,
// L6, L8). Every one of them is done long before the limit of the next.
func TestHostile(t *testing.T) {
	allow := guests.Answer("r1", "allow")
	always := func(p *guests.Program, code ...[]byte) []byte { return guests.Forever(code...) }
	tests := map[string]struct {
		module []byte
		kind   wasm.Kind // empty: it answers
		want   string    // part of the error
	}{
		"L3 endless loop": {guests.Command(1, func(p *guests.Program) []byte { return always(p) }), wasm.KindDeadline, "300ms to run"},
		"L8 endless loop in the start function": {guests.Command(1, func(p *guests.Program) []byte {
			p.Start(p.Func(nil, nil, nil, guests.Forever()))
			return nil
		}), wasm.KindDeadline, "300ms to run"},
		"L9 recursion without a loop": {guests.Command(1, func(p *guests.Program) []byte {
			// fib calls itself: it is the first function after four imports.
			fib := p.Func([]byte{guests.I32}, []byte{guests.I32}, nil,
				guests.Get(0), guests.Const(2), guests.Op(guests.I32LtS), guests.If(guests.Get(0), guests.Op(guests.Return)),
				guests.Get(0), guests.Const(1), guests.Op(guests.I32Sub), guests.Call(4),
				guests.Get(0), guests.Const(2), guests.Op(guests.I32Sub), guests.Call(4), guests.Op(guests.I32Add))
			return append(append(guests.Const(60), guests.Call(fib)...), guests.Drop)
		}), wasm.KindDeadline, "300ms to run"},
		"fill storm": {guests.Command(64, func(p *guests.Program) []byte {
			return always(p, guests.Const(0), guests.Const(7), guests.Const(4<<20), guests.Fill())
		}), wasm.KindDeadline, "300ms to run"},
		"randomness storm": {guests.Command(64, func(p *guests.Program) []byte {
			return always(p, p.Random(0, 4<<20))
		}), wasm.KindDeadline, "300ms to run"},
		"writes of nothing":            {guests.Command(1, func(p *guests.Program) []byte { return always(p, p.Print(1, "")) }), wasm.KindDeadline, "300ms to run"},
		"endless loop within its fuel": {guests.Command(1, func(p *guests.Program) []byte { return always(p) }), wasm.KindFuel, "1000000 of fuel/v1"},
		"fill storm within its fuel": {guests.Command(64, func(p *guests.Program) []byte {
			return always(p, guests.Const(0), guests.Const(7), guests.Const(4<<20), guests.Fill())
		}), wasm.KindFuel, "1000000 of fuel/v1"},
		"randomness within its fuel": {guests.Command(64, func(p *guests.Program) []byte { return always(p, p.Random(0, 4<<20)) }), wasm.KindFuel, "1000000 of fuel/v1"},
		"log within its fuel":        {guests.Command(1, func(p *guests.Program) []byte { return always(p, p.Print(2, strings.Repeat("x", 1000))) }), wasm.KindFuel, "1000000 of fuel/v1"},
		"table growth is refused, not fatal": {guests.Command(1, func(p *guests.Program) []byte {
			p.Table(1, -1)
			return append(append(guests.TableGrow(100_000_000), guests.Const(-1)...), append([]byte{0x47}, append(guests.If(guests.Op(guests.Unreachable)), p.Print(1, allow)...)...)...)
		}), "", ""},
		"endless sleep": {guests.Command(1, func(p *guests.Program) []byte { return always(p, p.Sleep(3600e9)) }), wasm.KindDeadline, "to run"},
		"stack overflow": {guests.Command(1, func(p *guests.Program) []byte {
			return guests.Call(p.Func(nil, nil, nil, guests.Call(4)))
		}), wasm.KindTrap, "stack overflow"},
		"trap":               {guests.Command(1, func(p *guests.Program) []byte { return guests.Op(guests.Unreachable) }), wasm.KindTrap, "unreachable"},
		"trap after answer":  {guests.Command(1, func(p *guests.Program) []byte { return append(p.Print(1, allow), guests.Unreachable) }), wasm.KindTrap, "unreachable"},
		"trap tells its log": {guests.Command(1, func(p *guests.Program) []byte { return append(p.Print(2, "one\npanic: two\n"), guests.Unreachable) }), wasm.KindTrap, "unreachable: panic: two"},
		"grows until it dies": {guests.Command(1, func(p *guests.Program) []byte {
			return always(p, guests.Const(16), guests.Op(guests.MemoryGrow, 0), guests.Const(0), guests.Op(guests.I32LtS), guests.If(guests.Op(guests.Unreachable)))
		}), wasm.KindMemory, "8 MiB of memory"},
		"grows and exits": {guests.Command(1, func(p *guests.Program) []byte {
			return append(append(guests.Const(60000), guests.MemoryGrow, 0, guests.Drop), p.Exit(2)...)
		}), wasm.KindMemory, "exited with code 2"},
		"is refused memory and copes": {guests.Command(1, func(p *guests.Program) []byte {
			return append(append(guests.Const(60000), guests.MemoryGrow, 0, guests.Drop), p.Print(1, allow)...)
		}), "", ""},
		"stdout flood": {guests.Command(1, func(p *guests.Program) []byte { return always(p, p.Print(1, strings.Repeat("x", 1000))) }), wasm.KindTooMuchOutput, "64 KiB of stdout"},
		"stdout flood, then a clean exit": {guests.Command(1, func(p *guests.Program) []byte {
			return append(guests.Repeat(0, 200, p.Print(1, strings.Repeat("x", 1000))), p.Exit(0)...)
		}), wasm.KindTooMuchOutput, "64 KiB of stdout"},
		"stderr flood": {guests.Command(1, func(p *guests.Program) []byte { return always(p, p.Print(2, strings.Repeat("x", 1000))) }), wasm.KindDeadline, "to run"},
		"much log and an answer": {guests.Command(1, func(p *guests.Program) []byte {
			return append(guests.Repeat(0, 1000, p.Print(2, strings.Repeat("x", 1000))), p.Print(1, allow)...)
		}), "", ""},
		"silence":                  {guests.Command(1, func(p *guests.Program) []byte { return nil }), wasm.KindBadOutput, "empty answer"},
		"half an answer":           {guests.Command(1, func(p *guests.Program) []byte { return p.Print(1, allow[:50]) }), wasm.KindBadOutput, "middle"},
		"two answers":              {guests.Command(1, func(p *guests.Program) []byte { return guests.Repeat(0, 2, p.Print(1, allow)) }), wasm.KindBadOutput, "more than one document"},
		"chatter before an answer": {guests.Command(1, func(p *guests.Program) []byte { return append(p.Print(1, "hello\n"), p.Print(1, allow)...) }), wasm.KindBadOutput, "invalid character"},
		"wrong id":                 {guests.Command(1, func(p *guests.Program) []byte { return p.Print(1, guests.Answer("r2", "allow")) }), wasm.KindBadOutput, `id "r2"`},
		"wrong version":            {guests.Command(1, func(p *guests.Program) []byte { return p.Print(1, strings.Replace(allow, "/v1", "/v9", 1)) }), wasm.KindBadOutput, "v9"},
		"answer and exit 0":        {guests.Command(1, func(p *guests.Program) []byte { return append(p.Print(1, allow), p.Exit(0)...) }), "", ""},
		"answer and exit 1":        {guests.Command(1, func(p *guests.Program) []byte { return append(p.Print(1, allow), p.Exit(1)...) }), wasm.KindExitCode, "code 1"},
		"exit 42":                  {guests.Command(1, func(p *guests.Program) []byte { return p.Exit(42) }), wasm.KindExitCode, "code 42"},
		"forged deadline":          {guests.Command(1, func(p *guests.Program) []byte { return p.Exit(-0x10000001) }), wasm.KindExitCode, "code 4026531839"},
		"forged cancel":            {guests.Command(1, func(p *guests.Program) []byte { return p.Exit(-1) }), wasm.KindExitCode, "code 4294967295"},
		"exit in the start function": {guests.Command(1, func(p *guests.Program) []byte {
			p.Start(p.Func(nil, nil, nil, p.Exit(3)))
			return p.Print(1, allow)
		}), wasm.KindExitCode, "code 3"},
		"exit 0 in the start function": {guests.Command(1, func(p *guests.Program) []byte {
			p.Start(p.Func(nil, nil, nil, p.Exit(0)))
			return p.Print(1, allow)
		}), wasm.KindBadOutput, "empty answer"},
		"reads outside its memory": {guests.Command(1, func(p *guests.Program) []byte {
			return append(guests.Const(-8), 0x28, 2, 0, guests.Drop)
		}), wasm.KindTrap, "out of bounds memory"},
	}
	for mode, sandbox := range sandboxes() {
		t.Run(mode, func(t *testing.T) {
			before := held()
			for name, tt := range tests {
				t.Run(name, func(t *testing.T) { endsAs(t, annotated(t, tt.module), sandbox, tt.kind, tt.want) })
			}
			// What a guest takes its process takes, where it has one.
			if grown := int64(held()) - int64(before); sandbox == wasm.SandboxChild && grown > 64<<20 {
				t.Errorf("the host grew by %d MiB", grown>>20)
			}
		})
	}
}

func sandboxes() map[string]wasm.Sandbox {
	return map[string]wasm.Sandbox{"child": wasm.SandboxChild, "in process": wasm.SandboxInProcess}
}

// held is all memory that this process has from the system.
func held() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Sys - m.HeapReleased
}

// endsAs runs a module whose end must be of a kind; no kind is an answer.
func endsAs(t *testing.T, module []byte, sandbox wasm.Sandbox, kind wasm.Kind, want string) {
	limits := wasm.Limits{Run: 300 * time.Millisecond, Memory: 8 << 20, Stdout: 64 << 10, Stderr: 4 << 10}
	switch kind {
	case wasm.KindDeadline:
	case wasm.KindFuel:
		limits.Run, limits.Fuel = 10*time.Second, 1_000_000
	default:
		limits.Run = 10 * time.Second
	}
	p, err := load(t, module, wasm.Options{Limits: limits, Sandbox: sandbox})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	res, err := p.Call(t.Context(), request())
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	if kind == "" {
		if err != nil || res.Response.Verdict != hook.Allow {
			t.Fatalf("answered %+v, %v", res.Response, err)
		}
		if len(res.Log) > 5<<10 {
			t.Errorf("kept %d bytes of log", len(res.Log))
		}
		return
	}
	var failure *wasm.Error
	if !errors.As(err, &failure) {
		t.Fatalf("error is %v, wanted one of kind %s", err, kind)
	}
	if failure.Kind != kind || !strings.Contains(err.Error(), want) || failure.Plugin != "guest" {
		t.Errorf("error is %v, wanted kind %s with %q", err, kind, want)
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("error has several lines: %q", err)
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		t.Errorf("error passes for a done context: %v", err)
	}
	if res.Response.Verdict != "" {
		t.Errorf("a failure has the verdict %q", res.Response.Verdict)
	}
	if took := time.Since(began); kind == wasm.KindDeadline && took > 300*time.Millisecond+2*time.Second {
		t.Errorf("it ended after %v, by a later limit than its own", took)
	}
}

func TestRefusedModules(t *testing.T) {
	type b = guests.Builder
	build := func(f func(*b)) []byte {
		m := &b{}
		f(m)
		return m.Bytes()
	}
	command := func(m *b) {
		m.Memory(1, -1)
		m.Export("_start", 0, m.Func(nil, nil, nil))
		m.Export("memory", 2, 0)
	}
	good := annotated(t, build(command))
	tests := map[string]struct {
		module []byte
		limits wasm.Limits
		want   string
	}{
		"nothing":              {nil, wasm.Limits{}, "not a WebAssembly module"},
		"text":                 {[]byte("#!/bin/sh"), wasm.Limits{}, "not a WebAssembly module"},
		"no metadata":          {build(command), wasm.Limits{}, "no section"},
		"metadata twice":       {append(good, good[len(build(command)):]...), wasm.Limits{}, "two sections"},
		"cut off":              {good[:len(good)-3], wasm.Limits{}, "unexpected end"},
		"too large":            {good, wasm.Limits{Module: 64}, "64 bytes of module"},
		"reactor":              {annotated(t, build(func(m *b) { m.Memory(1, -1); m.Export("_initialize", 0, m.Func(nil, nil, nil)) })), wasm.Limits{}, "reactor"},
		"no start":             {annotated(t, build(func(m *b) { m.Memory(1, -1); m.Export("memory", 2, 0) })), wasm.Limits{}, "no _start"},
		"start with parameter": {annotated(t, build(func(m *b) { m.Memory(1, -1); m.Export("_start", 0, m.Func([]byte{guests.I32}, nil, nil)) })), wasm.Limits{}, "without parameters"},
		"start out of range":   {annotated(t, build(func(m *b) { m.Memory(1, -1); m.Export("_start", 0, 9) })), wasm.Limits{}, "without parameters"},
		"no exported memory":   {annotated(t, build(func(m *b) { m.Memory(1, -1); m.Export("_start", 0, m.Func(nil, nil, nil)) })), wasm.Limits{}, "no memory"},
		"no memory":            {annotated(t, build(func(m *b) { m.Export("_start", 0, m.Func(nil, nil, nil)); m.Export("memory", 2, 0) })), wasm.Limits{}, "0 memories"},
		"undeclared import":    {annotated(t, build(func(m *b) { m.Import("env", "system", nil, nil); command(m) })), wasm.Limits{}, "env.system"},
		"socket":               {annotated(t, build(func(m *b) { m.Import("wasi_snapshot_preview1", "sock_accept", nil, nil); command(m) })), wasm.Limits{}, "no sockets"},
		"signal":               {annotated(t, build(func(m *b) { m.Import("wasi_snapshot_preview1", "proc_raise", nil, nil); command(m) })), wasm.Limits{}, "proc_raise"},
		"older WASI":           {annotated(t, build(func(m *b) { m.Import("wasi_unstable", "fd_write", nil, nil); command(m) })), wasm.Limits{}, "wasi_unstable.fd_write"},
		"odd signature":        {annotated(t, build(func(m *b) { m.Import("wasi_snapshot_preview1", "fd_write", nil, nil); command(m) })), wasm.Limits{}, "another signature"},
		"host call": {annotated(t, build(func(m *b) {
			m.Import("zarf_host", "call", []byte{guests.I32, guests.I32}, []byte{guests.I64})
			command(m)
		})), wasm.Limits{}, "declares no capability"},
		"imported memory": {annotated(t, build(func(m *b) { m.ImportMemory("env", "memory"); command(m) })), wasm.Limits{}, "only functions"},
		"much memory":     {annotated(t, build(func(m *b) { m.Memory(4097, -1); m.Export("_start", 0, m.Func(nil, nil, nil)); m.Export("memory", 2, 0) })), wasm.Limits{}, "at most 256 MiB"},
		"large table":     {annotated(t, build(func(m *b) { m.Table(100_001, -1); command(m) })), wasm.Limits{}, "100001 elements"},
		"many tables": {annotated(t, build(func(m *b) {
			for range 17 {
				m.Table(1, -1)
			}
			command(m)
		})), wasm.Limits{}, "17 tables"},
		"large function":      {annotated(t, build(func(m *b) { m.Func(nil, nil, nil, []byte(strings.Repeat("\x01", 1<<20))); command(m) })), wasm.Limits{}, "of code"},
		"many branches":       {annotated(t, build(func(m *b) { m.Func(nil, nil, nil, []byte(strings.Repeat("\x02\x40\x0b", 20_000))); command(m) })), wasm.Limits{}, "too long to compile"},
		"many loops":          {annotated(t, build(func(m *b) { m.Func(nil, nil, nil, []byte(strings.Repeat("\x03\x40\x0b", 5_000))); command(m) })), wasm.Limits{}, "too long to compile"},
		"meter of its own":    {annotated(t, build(func(m *b) { m.Import("zarf_meter", "tick", []byte{guests.I64}, []byte{guests.I64}); command(m) })), wasm.Limits{}, "zarf_meter.tick"},
		"fuel of its own":     {annotated(t, build(func(m *b) { command(m); m.Export("zarf_fuel", 0, 0) })), wasm.Limits{}, "the meter's"},
		"threads":             {annotated(t, build(func(m *b) { m.Func(nil, nil, nil, guests.Op(0xfe, 3, 0)); command(m) })), wasm.Limits{}, "0xfe is no instruction"},
		"invalid code":        {annotated(t, build(func(m *b) { m.Func(nil, nil, nil, guests.Op(guests.I32Add)); command(m) })), wasm.Limits{}, "compiling"},
		"unknown instruction": {annotated(t, build(func(m *b) { m.Func(nil, nil, nil, guests.Op(0xff)); command(m) })), wasm.Limits{}, "0xff is no instruction"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, tt.module, wasm.Options{Name: "guest", Limits: tt.limits})
			var failure *wasm.Error
			if !errors.As(err, &failure) || failure.Kind != wasm.KindRefusedModule || failure.Plugin != "guest" {
				t.Fatalf("error is %v, wanted one of kind refused-module", err)
			}
			if full := err.Error(); !strings.Contains(full, tt.want) {
				t.Errorf("error is %v, wanted %q in it", full, tt.want)
			}
			if name == "no metadata" && !strings.Contains(failure.Hint(), "plugin annotate") {
				t.Errorf("hint is %q", failure.Hint())
			}
		})
	}
}

func TestCapabilitiesMustMatchImports(t *testing.T) {
	m := &guests.Builder{}
	m.Memory(1, -1)
	m.Export("_start", 0, m.Func(nil, nil, nil))
	m.Export("memory", 2, 0)
	module, err := wasm.Annotate(m.Bytes(), hook.Metadata{Name: "guest", Version: "1", ABI: []string{"v1"},
		Hooks: []hook.Use{{Name: hook.PreDeploy}}, Capabilities: []hook.Capability{hook.K8sGet}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := load(t, module, wasm.Options{}); err == nil || !strings.Contains(err.Error(), "declares k8s:get, but it does not import") {
		t.Errorf("error is %v", err)
	}
}

// TestCompileBomb is many functions that each may just be compiled: the time to compile ends it.
func TestCompileBomb(t *testing.T) {
	m := &guests.Builder{}
	for range 200 {
		m.Func(nil, nil, nil, []byte(strings.Repeat("\x03\x40\x0b", 2_000)))
	}
	m.Memory(1, -1)
	m.Export("_start", 0, m.Func(nil, nil, nil))
	m.Export("memory", 2, 0)
	began := time.Now()
	_, err := load(t, annotated(t, m.Bytes()), wasm.Options{Limits: wasm.Limits{Compile: 500 * time.Millisecond}})
	var failure *wasm.Error
	if !errors.As(err, &failure) || failure.Kind != wasm.KindDeadline || !strings.Contains(err.Error(), "500ms to compile") {
		t.Errorf("error is %v", err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}

// TestFuelHintLowersTheLimit: an author may promise to use less, never ask for more.
func TestFuelHintLowersTheLimit(t *testing.T) {
	loop := guests.Command(1, func(p *guests.Program) []byte { return guests.Forever() })
	for hint, want := range map[uint64]string{5000: "5000 of fuel/v1", 1 << 40: "1000000 of fuel/v1"} {
		module, err := wasm.Annotate(loop, hook.Metadata{Name: "guest", Version: "1", ABI: []string{"v1"},
			Hooks: []hook.Use{{Name: hook.PreDeploy}}, Fuel: hint})
		if err != nil {
			t.Fatal(err)
		}
		p, err := load(t, module, wasm.Options{Limits: wasm.Limits{Fuel: 1_000_000}})
		if err != nil {
			t.Fatal(err)
		}
		res, err := p.Call(t.Context(), request())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("hint %d: error is %v, wanted %q", hint, err, want)
		}
		if res.Fuel != min(hint, 1_000_000) {
			t.Errorf("hint %d: used %d", hint, res.Fuel)
		}
	}
}

// A done context is the caller's doing and no failure of the plugin.
func TestCancel(t *testing.T) {
	p, err := load(t, annotated(t, guests.Command(1, func(p *guests.Program) []byte { return guests.Forever() })), wasm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	began := time.Now()
	_, err = p.Call(ctx, request())
	var failure *wasm.Error
	if !errors.Is(err, context.Canceled) || errors.As(err, &failure) {
		t.Errorf("error is %v", err)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("it took %v to stop", took)
	}
}
