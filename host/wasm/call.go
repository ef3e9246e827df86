package wasm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/sys"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/wasm/internal/meter"
)

var errDeadline = errors.New("it took too long")

// Result is what came of one call.
type Result struct {
	// Response is the answer, where there is no error.
	Response hook.Response
	// Output is what the plugin wrote to stdout.
	Output []byte
	// Log is what it wrote to stderr, its middle left out where it is long.
	Log string
	// Fuel is what it used, the same for the same module and request.
	Fuel uint64
	// Memory is the most that the guest held, in bytes.
	Memory uint64
	// Took is how long it ran.
	Took time.Duration
}

// Call asks the plugin with a fresh instance. An error is an *Error, but for a done context, which is
// the caller's own; the result then holds the log at most. The request's configuration is the
// plugin's, whatever the request had.
func (p *Plugin) Call(ctx context.Context, req hook.Request) (Result, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.closed {
		return Result{}, fmt.Errorf("asking plugin %q: it is closed", p.meta.Name)
	}
	input, err := p.input(req)
	if err != nil {
		return Result{}, &Error{Plugin: p.meta.Name, Kind: KindRequest, Err: err}
	}
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return Result{}, fmt.Errorf("asking plugin %q at %s: %w", p.meta.Name, req.Hook, context.Cause(ctx))
	}
	return p.run(ctx, req, input)
}

// input writes the request as this plugin may see it.
func (p *Plugin) input(req hook.Request) ([]byte, error) {
	use, ok := p.meta.Use(req.Hook)
	if !ok {
		return nil, fmt.Errorf("it does not answer %s", req.Hook)
	}
	req.Config = p.config
	doc, err := json.Marshal(req)
	if err != nil {
		return nil, err
	}
	if doc, err = hook.Project(doc, use.Inputs); err != nil {
		return nil, err
	}
	if len(doc) > p.limits.Request {
		return nil, fmt.Errorf("the request has %s, at most %s are allowed", size(len(doc)), size(p.limits.Request))
	}
	return doc, nil
}

func (p *Plugin) run(ctx context.Context, req hook.Request, input []byte) (Result, error) {
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	timer := time.AfterFunc(p.limits.Run, func() { stop(errDeadline) })
	defer timer.Stop()

	g := &guest{
		args:   []string{p.meta.Name, string(req.Hook)},
		stdin:  bytes.NewReader(input),
		stdout: &answerWriter{limit: p.limits.Stdout, stop: stop},
		stderr: &logWriter{limit: p.limits.Stderr},
		clock:  newClock(req.Time),
		random: randomness(p.digest, input),
		tank:   &tank{budget: p.limits.Fuel},
		memory: &allocator{limit: p.limits.Memory},
	}
	inside := context.WithValue(experimental.WithMemoryAllocator(running, g.memory), guestKey{}, g)
	began := time.Now()
	// Without a name, so that instances do not meet.
	mod, err := p.engine.runtime.InstantiateModule(inside, p.engine.code, wazero.NewModuleConfig().WithName(""))
	timer.Stop()
	// Whether it overran is our clock's to say: a guest may end with the exit code that the engine
	// gives to one that overran.
	cause := context.Cause(running)
	if mod != nil {
		if fuel := mod.ExportedGlobal(meter.FuelExport); fuel != nil {
			g.tank.settle(int64(fuel.Get()))
		}
		err = errors.Join(err, mod.Close(context.WithoutCancel(ctx)))
	}
	res := Result{Output: g.stdout.buf, Log: g.stderr.String(), Fuel: g.tank.used, Memory: g.memory.peak, Took: time.Since(began)}
	if ctx.Err() != nil {
		return res, fmt.Errorf("asking plugin %q at %s: %w", p.meta.Name, req.Hook, context.Cause(ctx))
	}
	if failure := p.judge(err, cause, g); failure != nil {
		return res, failure
	}
	if res.Response, err = hook.DecodeResponse(g.stdout.buf, req.Expect()); err != nil {
		return res, &Error{Plugin: p.meta.Name, Kind: KindBadOutput, Err: err}
	}
	return res, nil
}

// judge says why a run is no answer, by the first of its faults; nil if it ended well.
func (p *Plugin) judge(err, cause error, g *guest) error {
	fail := func(kind Kind, limit string, err error) error {
		return &Error{Plugin: p.meta.Name, Kind: kind, Limit: limit, Err: err}
	}
	switch {
	case g.tank.empty:
		return fail(KindFuel, fmt.Sprintf("%d of %s", g.tank.budget, meter.Version), errors.New("it used up its fuel"))
	case g.stdout.over:
		return fail(KindTooMuchOutput, size(g.stdout.limit)+" of stdout", errTooMuch)
	case errors.Is(cause, errDeadline):
		return fail(KindDeadline, p.limits.Run.String()+" to run", errDeadline)
	case err == nil:
		return nil
	}
	var exit *sys.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 0 {
		return nil // in the start function; the engine drops that of _start itself
	}
	// The engine's own errors are written anew: its exit codes pass for a done context, and its stack
	// traces differ from machine to machine.
	kind, text := KindTrap, firstLine(err)
	if exit != nil {
		kind, text = KindExitCode, fmt.Sprintf("it exited with code %d", exit.ExitCode())
	}
	if last := g.stderr.lastLine(); last != "" {
		text += ": " + last
	}
	if g.memory.refused {
		return fail(KindMemory, size(g.memory.limit)+" of memory", fmt.Errorf("it was refused more memory and died: %s", text))
	}
	return fail(kind, "", errors.New(text))
}

// firstLine returns what crashed a guest, without where.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	if i := strings.Index(line, "failed: "); i >= 0 {
		line = line[i+len("failed: "):]
	}
	return strings.TrimPrefix(strings.TrimSuffix(line, " (recovered by wazero)"), "wasm error: ")
}

// allocator gives a guest memory up to a limit and remembers whether it wanted more.
type allocator struct {
	limit   uint64
	buf     []byte
	peak    uint64
	refused bool
}

// Allocate is called once: a plugin has one memory.
func (a *allocator) Allocate(_, _ uint64) experimental.LinearMemory { return a }

// Reallocate grows the memory, or returns nil where it may not grow that far.
func (a *allocator) Reallocate(size uint64) []byte {
	if size > a.limit || size > math.MaxInt {
		a.refused = true
		return nil
	}
	if grow := int(size) - len(a.buf); grow > 0 {
		a.buf = append(a.buf, make([]byte, grow)...)
	}
	a.peak = max(a.peak, size)
	return a.buf
}

// Free drops the memory.
func (a *allocator) Free() { a.buf = nil }
