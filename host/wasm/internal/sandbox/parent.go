package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

	"github.com/zarf-host/zarf-host/host/wasm/internal/confine"
)

// ErrDeadline says that a child was killed because its time was over.
var ErrDeadline = errors.New("it took too long")

// grace is how long a child may go on after its time is over: it stops by itself, and says how far it
// came, if it is no worse than slow.
const grace = 500 * time.Millisecond

// Process is a child that has a module loaded. One job runs at a time.
type Process struct {
	cmd     *exec.Cmd
	in, out *os.File
	stderr  *head
	walls   []confine.Wall
	died    chan struct{} // closed once the process is gone
	once    sync.Once
	why     error // why it was killed; to be read after once
}

// DiedError says that a child ended on its own.
type DiedError struct {
	// State is how, such as "exit status 2".
	State string
	// Said is the first line of what it left on standard error.
	Said string
	// Killed is whether it was ended by a signal that nobody can catch.
	Killed bool
}

// Error says how it ended.
func (e *DiedError) Error() string {
	text := "its process ended: " + e.State
	if e.Said != "" {
		text += ": " + e.Said
	}
	return text
}

// OutOfMemory says whether it looks as if memory ran out.
func (e *DiedError) OutOfMemory() bool {
	return e.Killed || strings.Contains(e.Said, "out of memory") || strings.Contains(e.Said, "cannot allocate memory")
}

// Start starts a program as a child and has it load a module. An empty program is this one. An error
// is a *Failure, a *DiedError, ErrDeadline, or that no process could be started; a done context is its
// cause.
func Start(ctx context.Context, program string, setup Setup, module []byte) (*Process, error) {
	if program == "" {
		var err error
		if program, err = self(); err != nil {
			return nil, err
		}
	}
	if err := confine.Parent(); err != nil {
		return nil, err
	}
	p, err := launch(program, setup.Name)
	if err != nil {
		return nil, err
	}
	release := p.killWhen(ctx, setup.Compile+grace)
	defer release()
	var said loaded
	err = writeFrame(p.in, kindSetup, setup, module)
	if err == nil {
		var f frame
		if f, err = readFrame(p.out, 1<<20); err == nil {
			err = f.decode(kindLoaded, &said)
		}
	}
	if err != nil {
		return nil, p.reason(ctx, err)
	}
	if said.Failure != nil {
		p.Close()
		return nil, said.Failure
	}
	p.walls = said.Walls
	return p, nil
}

// launch starts the program with nothing but three pipes.
func launch(program, name string) (*Process, error) {
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making a pipe to the process: %w", err)
	}
	defer func() { _ = childIn.Close() }() // the child has its own
	out, childOut, err := os.Pipe()
	if err != nil {
		_ = in.Close()
		return nil, fmt.Errorf("making a pipe from the process: %w", err)
	}
	defer func() { _ = childOut.Close() }()
	p := &Process{in: in, out: out, stderr: &head{most: 8 << 10}, died: make(chan struct{})}
	p.cmd = exec.Command(program)
	p.cmd.Args = []string{childName, name}
	p.cmd.Env = []string{}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = childIn, childOut, p.stderr
	// A pipe is open as long as any process has it: what it wrote last is not waited for longer.
	p.cmd.WaitDelay = time.Second
	if err := p.cmd.Start(); err != nil {
		_, _ = in.Close(), out.Close()
		return nil, fmt.Errorf("starting a process: %w", err)
	}
	go func() {
		_ = p.cmd.Wait() // how it ended is in its state
		close(p.died)
	}()
	return p, nil
}

// self is this program, even if its file was replaced since.
func self() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program: %w", err)
	}
	return path, nil
}

// Walls are what stands between the child and the machine, as the child says.
func (p *Process) Walls() []confine.Wall { return p.walls }

// Run runs a job. Calls are answered one by one. After an error the process is gone.
func (p *Process) Run(ctx context.Context, job Job, input []byte, call Call) (Outcome, error) {
	ctx, stop := context.WithTimeoutCause(ctx, job.Run, ErrDeadline)
	defer stop() // ends a call that is being answered
	release := p.killWhen(context.WithoutCancel(ctx), job.Run+grace)
	defer release()
	outer := context.AfterFunc(ctx, func() {
		if !errors.Is(context.Cause(ctx), ErrDeadline) {
			p.end(context.Cause(ctx))
		}
	})
	defer outer()
	outcome, err := p.converse(ctx, job, input, call)
	if err != nil {
		return Outcome{}, p.reason(ctx, err)
	}
	return outcome, nil
}

func (p *Process) converse(ctx context.Context, job Job, input []byte, call Call) (Outcome, error) {
	if err := writeFrame(p.in, kindJob, job, input); err != nil {
		return Outcome{}, err
	}
	// Of a log each byte may have become four, and JSON makes six of one.
	most := int64(job.Stdout) + 24*int64(job.Stderr) + MaxCall + 1<<20
	for {
		f, err := readFrame(p.out, most)
		if err != nil {
			return Outcome{}, err
		}
		switch {
		case f.kind == kindCall && len(f.body) <= MaxCall:
			body, errno, err := call(ctx, f.body)
			if err := writeFrame(p.in, kindAnswer, answer{Errno: errno, Stop: err != nil}, body); err != nil {
				return Outcome{}, err
			}
		default:
			outcome := Outcome{Output: f.body}
			if err := f.decode(kindOutcome, &outcome); err != nil {
				return Outcome{}, err
			}
			if len(f.body) > job.Stdout {
				return Outcome{}, errFrameTooLarge
			}
			return outcome, nil
		}
	}
}

// killWhen ends the process when the context is done or its time is over; the result calls that off.
func (p *Process) killWhen(ctx context.Context, after time.Duration) func() {
	timer := time.AfterFunc(after, func() { p.end(ErrDeadline) })
	stop := context.AfterFunc(ctx, func() { p.end(context.Cause(ctx)) })
	return func() {
		timer.Stop()
		stop()
	}
}

// end kills the process, for a reason that is kept, and waits until it is gone.
func (p *Process) end(why error) {
	p.once.Do(func() {
		p.why = why
		_ = p.cmd.Process.Kill() // it may be gone already
		<-p.died
		_, _ = p.in.Close(), p.out.Close()
	})
}

// reason says why talking to the process failed: because it was killed, or died, or talks nonsense.
func (p *Process) reason(ctx context.Context, err error) error {
	hungUp := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, os.ErrClosed) || errors.Is(err, syscall.EPIPE)
	exited := false
	if hungUp {
		select {
		case <-p.died:
			exited = true
		case <-time.After(grace): // it closed its pipes and goes on
		}
	}
	p.end(nil)
	switch {
	case p.why != nil:
		return p.why
	case ctx.Err() != nil && !errors.Is(context.Cause(ctx), ErrDeadline):
		return context.Cause(ctx)
	case !exited:
		return fmt.Errorf("talking to its process: %w", err)
	}
	state := p.cmd.ProcessState
	return &DiedError{State: state.String(), Said: p.stderr.firstLine(), Killed: !state.Exited() && strings.Contains(state.String(), "killed")}
}

// Close ends the child.
func (p *Process) Close() { p.end(nil) }

// head keeps the beginning of what is written to it.
type head struct {
	most int
	mu   sync.Mutex
	buf  bytes.Buffer
}

func (h *head) Write(data []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.buf.Write(data[:min(len(data), h.most-h.buf.Len())])
	return len(data), nil
}

// firstLine is printable, and no longer than a line.
func (h *head) firstLine() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	line, _, _ := strings.Cut(strings.TrimSpace(h.buf.String()), "\n")
	line = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return '?'
		}
		return r
	}, line)
	return line[:min(len(line), 200)]
}
