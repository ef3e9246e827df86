package wasm_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/internal/guests"
	"github.com/zarf-host/zarf-host/host/wasm"
)

// TestL3LoopStopsInTime: a loop ends at its limit, give or take what a tick takes. The best of some
// runs counts, since a busy machine is late for everybody.
func TestL3LoopStopsInTime(t *testing.T) {
	const limit = 300 * time.Millisecond
	for mode, sandbox := range sandboxes() {
		t.Run(mode, func(t *testing.T) {
			p, err := load(t, annotated(t, guests.Command(1, func(*guests.Program) []byte { return guests.Forever() })),
				wasm.Options{Sandbox: sandbox, Limits: wasm.Limits{Run: limit}})
			if err != nil {
				t.Fatal(err)
			}
			best := time.Hour
			for range 5 {
				began := time.Now()
				if _, err := p.Call(t.Context(), request()); err == nil {
					t.Fatal("a loop answered")
				}
				best = min(best, time.Since(began))
			}
			if best < limit || best > limit+50*time.Millisecond {
				t.Errorf("it stopped after %v at best, wanted between %v and 50ms more", best, limit)
			}
		})
	}
}

// TestL4CompilingHasItsOwnLimit: what takes long to compile may have little time to run.
func TestL4CompilingHasItsOwnLimit(t *testing.T) {
	module := guard(t)
	p, err := load(t, module, wasm.Options{Limits: wasm.Limits{Run: 900 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	if res, err := p.Call(t.Context(), prune()); err != nil || res.Response.Verdict != hook.Deny {
		t.Errorf("answered %+v, %v", res.Response, err)
	}
	_, err = load(t, module, wasm.Options{Limits: wasm.Limits{Compile: 50 * time.Millisecond}})
	var failure *wasm.Error
	if !errors.As(err, &failure) || failure.Kind != wasm.KindDeadline || !strings.Contains(err.Error(), "50ms to compile") {
		t.Errorf("error is %v", err)
	}
}

// TestL17TheOperatorsMemoryWins: a module that declares 4 GiB gets what it is allowed.
func TestL17TheOperatorsMemoryWins(t *testing.T) {
	for mode, sandbox := range sandboxes() {
		t.Run(mode, func(t *testing.T) {
			p, err := load(t, annotated(t, guests.Command(1, func(p *guests.Program) []byte {
				// 65,535 further pages would make 4 GiB; -1 says that they are refused.
				code := append(guests.Const(65_535), guests.MemoryGrow, 0)
				code = append(append(code, guests.Const(-1)...), 0x47) // i32.ne
				return append(append(code, guests.If(guests.Op(guests.Unreachable))...), p.Print(1, guests.Answer("r1", "allow"))...)
			})), wasm.Options{Sandbox: sandbox, Limits: wasm.Limits{Memory: 64 << 20}})
			if err != nil {
				t.Fatal(err)
			}
			if res, err := p.Call(t.Context(), request()); err != nil || res.Memory > 64<<20 {
				t.Errorf("it held %d bytes, %v", res.Memory, err)
			}
		})
	}
}

// TestL18LimitsFitInsideEachOther: a part that may take longer than the whole is refused.
func TestL18LimitsFitInsideEachOther(t *testing.T) {
	module := allower(t)
	for want, limits := range map[string]wasm.Limits{
		"one host call may take 2s, the whole run 1s": {Run: time.Second, Call: 2 * time.Second},
		"negative": {Run: -time.Second},
	} {
		_, err := load(t, module, wasm.Options{Limits: limits})
		var failure *wasm.Error
		if !errors.As(err, &failure) || failure.Kind != wasm.KindRequest || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, wanted %q", err, want)
		}
	}
}
