package wasm

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"

	"github.com/zarf-host/zarf-host/host/wasm/internal/sandbox"
)

// errno is WASI's.
type errno uint32

const (
	errnoSuccess    errno = 0
	errnoBadf       errno = 8
	errnoFault      errno = 21
	errnoInval      errno = 28
	errnoSpipe      errno = 70
	errnoNotCapable errno = 76
)

// What one call of the host may be about, so that none takes long by itself.
const (
	maxVectors       = 1024
	maxSubscriptions = 1024
	randomChunk      = 64 << 10
)

// errStopped ends a guest from inside a host function. Why it was stopped is known elsewhere.
var errStopped = errors.New("stopped")

// guest is all that one running instance can see and leave behind.
type guest struct {
	args   []string
	stdin  *bytes.Reader
	stdout *answerWriter
	stderr *logWriter
	clock  *clock
	random io.Reader
	tank   *tank
	memory *allocator

	call   sandbox.Call
	answer []byte // what is left to read of the host's last answer
}

type guestKey struct{}

func guestOf(ctx context.Context) *guest { return ctx.Value(guestKey{}).(*guest) }

// stopIfDone ends the guest once its time is over or it wrote too much.
func (g *guest) stopIfDone(ctx context.Context) {
	if ctx.Err() != nil {
		panic(errStopped)
	}
}

// moved pays for bytes that the host moved.
func (g *guest) moved(n int) { g.tank.pay(uint64(n) / 8) }

func procExit(ctx context.Context, mod api.Module, stack []uint64) {
	code := uint32(stack[0])
	_ = mod.CloseWithExitCode(ctx, code) // the engine's way; it cannot fail for a module without files
	panic(sys.NewExitError(code))
}

func (g *guest) notCapable(api.Memory, []uint64) errno { return errnoNotCapable }

func (g *guest) noFile(api.Memory, []uint64) errno { return errnoBadf }

func (g *guest) schedYield(api.Memory, []uint64) errno { return errnoSuccess }

func (g *guest) argsSizesGet(mem api.Memory, p []uint64) errno {
	size := 0
	for _, a := range g.args {
		size += len(a) + 1
	}
	return sizes(mem, p, uint32(len(g.args)), uint32(size))
}

func (g *guest) argsGet(mem api.Memory, p []uint64) errno {
	at, to := uint32(p[0]), uint32(p[1])
	for _, a := range g.args {
		if !mem.WriteUint32Le(at, to) || !mem.Write(to, append([]byte(a), 0)) {
			return errnoFault
		}
		at, to = at+4, to+uint32(len(a))+1
	}
	return errnoSuccess
}

func (g *guest) environSizesGet(mem api.Memory, p []uint64) errno { return sizes(mem, p, 0, 0) }

func (g *guest) environGet(api.Memory, []uint64) errno { return errnoSuccess }

func sizes(mem api.Memory, p []uint64, count, size uint32) errno {
	if !mem.WriteUint32Le(uint32(p[0]), count) || !mem.WriteUint32Le(uint32(p[1]), size) {
		return errnoFault
	}
	return errnoSuccess
}

func (g *guest) now(id uint32) (uint64, bool) {
	switch id {
	case 0:
		return uint64(g.clock.wall()), true
	case 1:
		return uint64(g.clock.monotonic()), true
	default: // processor time would tell machines apart
		return 0, false
	}
}

func (g *guest) clockResGet(mem api.Memory, p []uint64) errno {
	if _, ok := g.now(uint32(p[0])); !ok {
		return errnoInval
	}
	return write64(mem, p[1], 1)
}

func (g *guest) clockTimeGet(mem api.Memory, p []uint64) errno {
	t, ok := g.now(uint32(p[0]))
	if !ok {
		return errnoInval
	}
	return write64(mem, p[2], t)
}

func write64(mem api.Memory, at, value uint64) errno {
	if !mem.WriteUint64Le(uint32(at), value) {
		return errnoFault
	}
	return errnoSuccess
}

func standard(fd uint64) bool { return uint32(fd) <= 2 }

func (g *guest) fdClose(_ api.Memory, p []uint64) errno {
	if !standard(p[0]) {
		return errnoBadf
	}
	return errnoSuccess
}

func (g *guest) fdFdstatSetFlags(_ api.Memory, p []uint64) errno {
	if !standard(p[0]) {
		return errnoBadf
	}
	return errnoSuccess // nothing ever blocks
}

func (g *guest) fdFdstatGet(mem api.Memory, p []uint64) errno {
	const mayRead, mayWrite = 1 << 1, 1 << 6
	if !standard(p[0]) {
		return errnoBadf
	}
	// A file of unknown type: a terminal would make C libraries write line by line.
	stat := make([]byte, 24)
	rights := uint64(mayWrite)
	if p[0] == 0 {
		rights = mayRead
	}
	binary.LittleEndian.PutUint64(stat[8:], rights)
	if !mem.Write(uint32(p[1]), stat) {
		return errnoFault
	}
	return errnoSuccess
}

func (g *guest) fdFilestatGet(mem api.Memory, p []uint64) errno {
	if !standard(p[0]) {
		return errnoBadf
	}
	if !mem.Write(uint32(p[1]), make([]byte, 64)) {
		return errnoFault
	}
	return errnoSuccess
}

func (g *guest) fdSeek(_ api.Memory, p []uint64) errno {
	if !standard(p[0]) {
		return errnoBadf
	}
	return errnoSpipe
}

func (g *guest) fdRead(mem api.Memory, p []uint64) errno {
	if uint32(p[0]) != 0 {
		return errnoBadf
	}
	return g.vectors(mem, p, func(buf []byte) (int, error) {
		n, err := g.stdin.Read(buf)
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return n, err
	})
}

func (g *guest) fdWrite(mem api.Memory, p []uint64) errno {
	switch uint32(p[0]) {
	case 1:
		return g.vectors(mem, p, g.stdout.Write)
	case 2:
		return g.vectors(mem, p, g.stderr.Write)
	default:
		return errnoBadf
	}
}

// vectors moves bytes for each of a list of buffers, until one is not used up.
func (g *guest) vectors(mem api.Memory, p []uint64, move func([]byte) (int, error)) errno {
	at, count := uint32(p[1]), uint32(p[2])
	if count > maxVectors {
		return errnoInval
	}
	list, ok := mem.Read(at, count*8)
	if !ok {
		return errnoFault
	}
	total := 0
	for ; len(list) > 0; list = list[8:] {
		buf, ok := mem.Read(binary.LittleEndian.Uint32(list), binary.LittleEndian.Uint32(list[4:]))
		if !ok {
			return errnoFault
		}
		n, err := move(buf)
		g.moved(n)
		total += n
		if err != nil {
			panic(errStopped) // only stdout fails, and that ends the guest
		}
		if n < len(buf) {
			break
		}
	}
	if !mem.WriteUint32Le(uint32(p[3]), uint32(total)) {
		return errnoFault
	}
	return errnoSuccess
}

func (g *guest) randomGet(mem api.Memory, p []uint64) errno {
	buf, ok := mem.Read(uint32(p[0]), uint32(p[1]))
	if !ok {
		return errnoFault
	}
	for len(buf) > 0 {
		chunk := buf[:min(len(buf), randomChunk)]
		if _, err := io.ReadFull(g.random, chunk); err != nil {
			return errnoInval
		}
		g.moved(len(chunk))
		buf = buf[len(chunk):]
	}
	return errnoSuccess
}

// pollOneoff answers that every file is ready, or, where only clocks are asked for, moves the guest's
// clock to the first of them.
func (g *guest) pollOneoff(mem api.Memory, p []uint64) errno {
	const inSize, outSize = 48, 32
	count := uint32(p[2])
	if count == 0 || count > maxSubscriptions {
		return errnoInval
	}
	in, ok := mem.Read(uint32(p[0]), count*inSize)
	if !ok {
		return errnoFault
	}
	var events []byte
	event := func(sub []byte, e errno) {
		var out [outSize]byte
		copy(out[:8], sub)
		binary.LittleEndian.PutUint16(out[8:], uint16(e))
		out[10] = sub[8]
		events = append(events, out[:]...)
	}
	first := int64(math.MaxInt64)
	for sub := in; len(sub) > 0; sub = sub[inSize:] {
		switch sub[8] {
		case 0:
			first = min(first, g.wait(sub))
		case 1, 2:
			e := errnoSuccess
			if binary.LittleEndian.Uint32(sub[16:]) > 2 {
				e = errnoBadf
			}
			event(sub, e)
		default:
			return errnoInval
		}
	}
	if len(events) == 0 {
		for sub := in; len(sub) > 0; sub = sub[inSize:] {
			if g.wait(sub) == first {
				event(sub, errnoSuccess)
			}
		}
		g.clock.sleep(first)
	}
	if !mem.Write(uint32(p[1]), events) || !mem.WriteUint32Le(uint32(p[3]), uint32(len(events)/outSize)) {
		return errnoFault
	}
	return errnoSuccess
}

// wait is how many nanoseconds a clock subscription has still to go.
func (g *guest) wait(sub []byte) int64 {
	timeout := int64(min(binary.LittleEndian.Uint64(sub[24:]), math.MaxInt64))
	if absolute := binary.LittleEndian.Uint16(sub[40:])&1 != 0; !absolute {
		return timeout
	}
	now, _ := g.now(binary.LittleEndian.Uint32(sub[16:]))
	return max(timeout-int64(now), 0)
}
