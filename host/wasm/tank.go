package wasm

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/zarf-host/zarf-host/host/wasm/internal/meter"
)

// grant is how much fuel a guest is given at a time: about as much as it uses in a millisecond or two,
// after which it is asked whether its time is over.
const grant = 1_000_000

// tank is the fuel of one call.
type tank struct {
	budget  uint64
	used    uint64 // without what is left of the last grant
	granted int64
	empty   bool
}

// pay takes fuel for something that the host did; the next tick notices if that was too much.
func (t *tank) pay(n uint64) { t.used += n }

// tick settles what the guest used of its last grant and gives the next.
func (t *tank) tick(counter int64) int64 {
	t.settle(counter)
	if t.used >= t.budget {
		t.empty = true
		panic(errStopped)
	}
	t.granted = int64(min(t.budget-t.used, grant))
	return t.granted
}

// settle counts what the guest used since the last tick. What it is found to owe beyond the budget is
// not counted, so that running dry always costs exactly the budget.
func (t *tank) settle(counter int64) {
	if counter < t.granted {
		t.used += uint64(t.granted - counter)
	}
	t.granted = 0
	t.used = min(t.used, t.budget)
}

// linkMeter gives the runtime the function that rewritten modules call.
func linkMeter(ctx context.Context, rt wazero.Runtime) error {
	tick := api.GoModuleFunc(func(ctx context.Context, _ api.Module, stack []uint64) {
		g := guestOf(ctx)
		g.stopIfDone(ctx)
		stack[0] = uint64(g.tank.tick(int64(stack[0])))
	})
	i64 := []api.ValueType{api.ValueTypeI64}
	builder := rt.NewHostModuleBuilder(meter.TickModule)
	builder.NewFunctionBuilder().WithGoModuleFunction(tick, i64, i64).Export(meter.TickName)
	if _, err := builder.Instantiate(ctx); err != nil {
		return fmt.Errorf("linking the meter: %w", err)
	}
	return nil
}
