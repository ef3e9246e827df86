package wasm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/sys"

	"github.com/zarf-host/zarf-host/host/wasm/internal/meter"
	"github.com/zarf-host/zarf-host/host/wasm/internal/module"
	"github.com/zarf-host/zarf-host/host/wasm/internal/sandbox"
)

// What one function may weigh, so that it is compiled within seconds. The engine looks at its time only
// between functions. Ten times what the largest functions of Go's own library weigh.
const (
	maxBranches = 10_000
	maxWork     = 1_000_000
)

// machine compiles and runs one module, in a child or here: what comes of it is the same. What it
// returns as errors are failures of the plugin.
type machine struct {
	setup sandbox.Setup
	engine
}

// engine is what must be released.
type engine struct {
	runtime wazero.Runtime
	cache   wazero.CompilationCache
	code    wazero.CompiledModule
}

func (e engine) close(ctx context.Context) error {
	err := e.runtime.Close(ctx)
	if e.cache != nil {
		err = errors.Join(err, e.cache.Close(ctx))
	}
	return err
}

// Load rewrites the module and makes it ready. What the disk cache holds may be cut off or foreign, and
// the disk may be full: then the module is compiled once more without it.
func (m *machine) Load(ctx context.Context, setup sandbox.Setup, data []byte) error {
	ctx, cancel := context.WithTimeoutCause(ctx, setup.Compile, errDeadline)
	defer cancel()
	m.setup = setup
	parsed, err := module.Parse(data)
	if err != nil {
		return failure(KindRefusedModule, "", err)
	}
	metered, err := meter.Rewrite(parsed, meter.Limits{Elements: setup.Elements, Body: setup.Body, Branches: maxBranches, Work: maxWork})
	if err != nil {
		return failure(KindRefusedModule, "", err)
	}
	m.engine, err = newEngine(ctx, metered, setup.Cache)
	if err != nil && setup.Cache != "" && ctx.Err() == nil {
		m.engine, err = newEngine(ctx, metered, "")
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(context.Cause(ctx), errDeadline):
		return compileDeadline(setup)
	default:
		return failure(KindRefusedModule, "", err)
	}
}

func compileDeadline(setup sandbox.Setup) *sandbox.Failure {
	return failure(KindDeadline, setup.Compile.String()+" to compile", errDeadline)
}

func failure(kind Kind, limit string, err error) *sandbox.Failure {
	return &sandbox.Failure{Kind: string(kind), Limit: limit, Text: err.Error()}
}

func newEngine(ctx context.Context, wasm []byte, dir string) (e engine, err error) {
	config := wazero.NewRuntimeConfig().
		WithCoreFeatures(api.CoreFeaturesV2).
		WithDebugInfoEnabled(false)
	if dir != "" {
		if e.cache, err = wazero.NewCompilationCacheWithDir(dir); err != nil {
			return engine{}, fmt.Errorf("opening the folder for compiled plugins: %w", err)
		}
		config = config.WithCompilationCache(e.cache)
	}
	e.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	defer func() {
		if err != nil {
			err = errors.Join(err, e.close(context.WithoutCancel(ctx)))
			e = engine{}
		}
	}()
	if err := errors.Join(linkWASI(ctx, e.runtime), linkMeter(ctx, e.runtime), linkHost(ctx, e.runtime)); err != nil {
		return e, err
	}
	ctx = experimental.WithCompilationWorkers(ctx, runtime.GOMAXPROCS(0))
	if e.code, err = e.runtime.CompileModule(ctx, wasm); err != nil {
		return e, fmt.Errorf("compiling it: %w", err)
	}
	return e, nil
}

// Run runs the module once, in a fresh instance. Where the context is done the outcome means nothing.
func (m *machine) Run(ctx context.Context, job sandbox.Job, input []byte, call sandbox.Call) sandbox.Outcome {
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	timer := time.AfterFunc(job.Run, func() { stop(errDeadline) })
	defer timer.Stop()

	g := &guest{
		args:   job.Args,
		stdin:  bytes.NewReader(input),
		stdout: &answerWriter{limit: job.Stdout, stop: stop},
		stderr: &logWriter{limit: job.Stderr},
		clock:  newClock(job.Time),
		random: randomness(m.setup.Digest, input),
		tank:   &tank{budget: job.Fuel},
		memory: &allocator{limit: job.Memory},
		call:   call,
	}
	inside := context.WithValue(experimental.WithMemoryAllocator(running, g.memory), guestKey{}, g)
	began := time.Now()
	// Without a name, so that instances do not meet.
	mod, err := m.runtime.InstantiateModule(inside, m.code, wazero.NewModuleConfig().WithName(""))
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
	return sandbox.Outcome{
		Output: g.stdout.buf, Log: g.stderr.String(), Fuel: g.tank.used, Memory: g.memory.peak, Took: time.Since(began),
		Failure: judge(job, err, cause, g),
	}
}

// judge says why a run is no answer, by the first of its faults; nil if it ended well.
func judge(job sandbox.Job, err, cause error, g *guest) *sandbox.Failure {
	switch {
	case g.tank.empty:
		return failure(KindFuel, fmt.Sprintf("%d of %s", g.tank.budget, meter.Version), errors.New("it used up its fuel"))
	case g.stdout.over:
		return failure(KindTooMuchOutput, size(g.stdout.limit)+" of stdout", errTooMuch)
	case errors.Is(cause, errDeadline):
		return runDeadline(job)
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
		return failure(KindMemory, size(g.memory.limit)+" of memory", fmt.Errorf("it was refused more memory and died: %s", text))
	}
	return failure(kind, "", errors.New(text))
}

func runDeadline(job sandbox.Job) *sandbox.Failure {
	return failure(KindDeadline, job.Run.String()+" to run", errDeadline)
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
