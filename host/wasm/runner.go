package wasm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"

	"github.com/zarf-host/zarf-host/host/wasm/internal/sandbox"
)

// Sandbox says in which process a plugin is compiled and runs.
type Sandbox string

// The sandboxes.
const (
	// SandboxChild is a process for each plugin, from which as much is taken as the kernel lets: the
	// default. The program must call ChildMain first thing in main.
	SandboxChild Sandbox = ""
	// SandboxInProcess leaves the second wall out: a plugin that breaks out of the engine has all
	// that this program has.
	SandboxInProcess Sandbox = "in-process"
)

// ParseSandbox reads the name of a sandbox: "child" or "in-process".
func ParseSandbox(name string) (Sandbox, error) {
	switch name {
	case "child":
		return SandboxChild, nil
	case string(SandboxInProcess):
		return SandboxInProcess, nil
	default:
		return "", fmt.Errorf("%q is none of child and %s", name, SandboxInProcess)
	}
}

// hasChildMain is whether ChildMain was called, a fact about the whole process: without it, starting
// this program as a plugin would start whatever else it does.
var hasChildMain atomic.Bool

// ChildMain is the main function of a plugin's process. A program that runs plugins calls it first
// thing in main, and TestMain likewise; where the process is no plugin's it returns at once, else it
// never does.
func ChildMain() {
	if !sandbox.IsChild() {
		hasChildMain.Store(true)
		return
	}
	if err := sandbox.Serve(&machine{}); err != nil {
		fmt.Fprintln(os.Stderr, err) // the parent reads it
		os.Exit(1)
	}
	os.Exit(0)
}

var errNoChildMain = errors.New("this program cannot be started as a plugin's process: it must call host.PluginChildMain() first thing in main, " +
	"or choose the sandbox \"in-process\"")

// runner runs a loaded module.
type runner interface {
	run(ctx context.Context, job sandbox.Job, input []byte, call sandbox.Call) (sandbox.Outcome, error)
	// parallel is how many runs may be under way at once.
	parallel() int
	walls() []Wall
	close(ctx context.Context) error
}

// newRunner loads a module where the options say. Errors are *sandbox.Failure, but for a done context
// and for processes that cannot be had.
func newRunner(ctx context.Context, opts Options, setup sandbox.Setup, module []byte) (runner, error) {
	switch opts.Sandbox {
	case SandboxInProcess:
		m := &machine{}
		if err := m.Load(ctx, setup, module); err != nil {
			return nil, err
		}
		return here{m}, nil
	case SandboxChild:
		if opts.Program == "" && !hasChildMain.Load() {
			return nil, errNoChildMain
		}
		c := &child{program: opts.Program, setup: setup, module: module}
		if err := c.start(ctx); err != nil {
			return nil, err
		}
		return c, nil
	default:
		return nil, fmt.Errorf("the sandbox %q is none of \"child\" and %q", opts.Sandbox, SandboxInProcess)
	}
}

// here runs a module in this process.
type here struct{ machine *machine }

func (h here) run(ctx context.Context, job sandbox.Job, input []byte, call sandbox.Call) (sandbox.Outcome, error) {
	return h.machine.Run(ctx, job, input, call), nil
}

func (h here) parallel() int { return runtime.GOMAXPROCS(0) }

func (h here) walls() []Wall { return noWalls() }

func (h here) close(ctx context.Context) error { return h.machine.close(ctx) }

// child runs a module in a process of its own, one run at a time. A process that died is started
// again for the next run.
type child struct {
	program string
	setup   sandbox.Setup
	module  []byte
	process *sandbox.Process
	last    []Wall
}

func (c *child) start(ctx context.Context) error {
	process, err := sandbox.Start(ctx, c.program, c.setup, c.module)
	switch died := (*sandbox.DiedError)(nil); {
	case err == nil:
		c.process, c.last = process, process.Walls()
		return nil
	case errors.Is(err, sandbox.ErrDeadline):
		return compileDeadline(c.setup)
	case errors.As(err, &died) && died.OutOfMemory():
		return failure(KindMemory, size(c.setup.Budget)+" to compile", died)
	case errors.As(err, &died):
		return failure(KindRefusedModule, "", died)
	default:
		return err
	}
}

func (c *child) run(ctx context.Context, job sandbox.Job, input []byte, call sandbox.Call) (sandbox.Outcome, error) {
	if c.process == nil {
		if err := c.start(ctx); err != nil {
			return sandbox.Outcome{}, err
		}
	}
	out, err := c.process.Run(ctx, job, input, call)
	if err == nil {
		return out, nil
	}
	c.process = nil
	switch died := (*sandbox.DiedError)(nil); {
	case errors.Is(err, sandbox.ErrDeadline):
		return out, runDeadline(job)
	case errors.As(err, &died) && died.OutOfMemory():
		return out, failure(KindMemory, size(c.setup.Budget)+" of its process", died)
	default:
		return out, failure(KindTrap, "", err)
	}
}

func (c *child) parallel() int { return 1 }

func (c *child) walls() []Wall { return c.last }

func (c *child) close(context.Context) error {
	if c.process != nil {
		c.process.Close()
		c.process = nil
	}
	return nil
}

// budget is the memory of a plugin's process: the guest's, which is copied when it grows, what the
// compiler takes for a module of that size, and the engine's stack.
func budget(l Limits, module int) uint64 {
	return 3*l.Memory + 32*uint64(module) + 1<<30
}
