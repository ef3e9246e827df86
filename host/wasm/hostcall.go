package wasm

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/wasm/internal/module"
	"github.com/zarf-host/zarf-host/host/wasm/internal/sandbox"
)

// Host answers what a plugin asks of the world during one call. Who may ask for what is its to know:
// here calls are counted, bounded and recorded only.
type Host interface {
	// Answer returns the answer to one request, both JSON as package hook describes them. The request
	// is whatever the guest wrote. An error is told to the guest, as a value.
	Answer(ctx context.Context, request []byte) ([]byte, error)
}

// Errors that a guest gets as a negative number, since they are no answers. All others are values in
// an answer.
const (
	errnoTooBig errno = 1
)

// hostCalls are the functions of module zarf_host: their signatures.
func hostCalls() map[string]module.FuncType {
	i32, i64 := module.I32, module.I64
	return map[string]module.FuncType{
		"call": {Params: []module.ValueType{i32, i32}, Results: []module.ValueType{i64}},
		"read": {Params: []module.ValueType{i32, i32}, Results: []module.ValueType{i32}},
	}
}

// linkHost gives the runtime the functions by which a guest asks.
func linkHost(ctx context.Context, rt wazero.Runtime) error {
	builder := rt.NewHostModuleBuilder(hostModule)
	for name, do := range map[string]func(*guest, context.Context, api.Memory, []uint64) uint64{
		"call": (*guest).hostCall, "read": (*guest).hostRead,
	} {
		fn := api.GoModuleFunc(func(ctx context.Context, mod api.Module, stack []uint64) {
			g := guestOf(ctx)
			g.stopIfDone(ctx)
			stack[0] = do(g, ctx, mod.Memory(), stack)
		})
		t := hostCalls()[name]
		builder.NewFunctionBuilder().WithGoModuleFunction(fn, valueTypes(t.Params), valueTypes(t.Results)).Export(name)
	}
	if _, err := builder.Instantiate(ctx); err != nil {
		return fmt.Errorf("linking host calls: %w", err)
	}
	return nil
}

// hostCall is call(ptr, len) i64: the length of the answer, or a negative error number.
func (g *guest) hostCall(ctx context.Context, mem api.Memory, p []uint64) uint64 {
	g.answer = nil
	length := uint32(p[1])
	if length > sandbox.MaxCall {
		return negative(errnoTooBig)
	}
	request, ok := mem.Read(uint32(p[0]), length)
	if !ok {
		return negative(errnoFault)
	}
	answer, code, err := g.call(ctx, append([]byte(nil), request...))
	if err != nil {
		panic(errStopped) // why is known elsewhere
	}
	g.stopIfDone(ctx)
	g.moved(len(request) + len(answer))
	if code != 0 {
		return negative(errno(code))
	}
	g.answer = answer
	return uint64(len(answer))
}

// hostRead is read(ptr, len) i32: how many of the answer's next bytes were written to ptr, or a
// negative error number.
func (g *guest) hostRead(_ context.Context, mem api.Memory, p []uint64) uint64 {
	n := min(uint32(p[1]), uint32(len(g.answer)))
	if !mem.Write(uint32(p[0]), g.answer[:n]) {
		return uint64(uint32(negative(errnoFault)))
	}
	g.moved(int(n))
	g.answer = g.answer[n:]
	return uint64(n)
}

func negative(e errno) uint64 { return uint64(-int64(e)) }

// conversation is what one run asks its host. It lives on this side of the second wall.
type conversation struct {
	host      Host
	limits    Limits
	bytes     int
	exchanges []hook.Exchange
	broke     *sandbox.Failure // the quota that ended the run
}

var errQuota = errors.New("it asked the host for more")

// answer is a sandbox.Call. A quota ends the run: a guest that could go on after it would end by some
// other limit. Everything else is a value that the guest can act on.
func (c *conversation) answer(ctx context.Context, request []byte) ([]byte, int32, error) {
	if len(c.exchanges) >= c.limits.Calls {
		c.broke = failure(KindHostCall, fmt.Sprintf("%d host calls", c.limits.Calls), errQuota)
		return nil, 0, errQuota
	}
	answer := c.ask(ctx, request)
	if len(answer) > c.limits.Answers-c.bytes {
		c.broke = failure(KindHostCall, size(c.limits.Answers)+" of answers", errQuota)
		return nil, 0, errQuota
	}
	c.bytes += len(answer)
	c.exchanges = append(c.exchanges, hook.NewExchange(request, answer))
	return answer, 0, nil
}

// ask gives the host its time and no more, whether it looks at its context or not.
func (c *conversation) ask(ctx context.Context, request []byte) []byte {
	if c.host == nil {
		return hook.Refuse(hook.CodeUnavailable, "this run has no host that could answer")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.limits.Call, errDeadline)
	defer cancel()
	type result struct {
		answer []byte
		err    error
	}
	done := make(chan result, 1)
	go func() {
		answer, err := c.host.Answer(ctx, request)
		done <- result{answer, err}
	}()
	var got result
	select {
	case got = <-done:
	case <-ctx.Done():
		got.err = ctx.Err()
	}
	switch {
	case got.err == nil:
		return got.answer
	case ctx.Err() != nil:
		return hook.Refuse(hook.CodeTimeout, fmt.Sprintf("the host did not answer within %v", c.limits.Call))
	default:
		return hook.Refuse(hook.CodeFailed, got.err.Error())
	}
}
