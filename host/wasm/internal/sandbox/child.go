package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/zarf-host/zarf-host/host/wasm/internal/confine"
)

// childName is what a child is started as, in place of the program's name. No user types it, and `ps`
// shows it.
const childName = "zarf-host: plugin"

// IsChild says whether this process was started as a child.
func IsChild() bool { return len(os.Args) > 0 && os.Args[0] == childName }

// MaxCall is the most bytes of one call's request.
const MaxCall = 64 << 10

// Serve is the whole life of a child. It ends the process when the parent closes the pipe, whatever
// runs at that moment.
func Serve(rt Runtime) error {
	walls := append([]confine.Wall{{Name: confine.Process, Held: true, Detail: "killed at the deadline"}}, environment())
	walls = append(walls, confine.Begin()...)
	// Said aloud, so that the runtime does not look for another number in files that are closed.
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))

	setup, module, err := readSetup(os.Stdin)
	if err != nil {
		return err
	}
	walls = append(walls, confine.Memory(setup.Budget)...)
	// Go collects harder long before the kernel refuses.
	debug.SetMemoryLimit(int64(min(setup.Budget-setup.Budget/4, math.MaxInt64)))
	ctx := context.Background()
	confine.Compiling(setup.Cache)
	if err := rt.Load(ctx, setup, module); err != nil {
		return writeFrame(os.Stdout, kindLoaded, loaded{Failure: asFailure(err)}, nil)
	}
	walls = append(walls, confine.Running()...)
	if err := writeFrame(os.Stdout, kindLoaded, loaded{Walls: walls}, nil); err != nil {
		return err
	}
	return serveJobs(ctx, rt)
}

func environment() confine.Wall {
	wall := confine.Wall{Name: confine.Environment, Held: len(os.Environ()) == 0, Detail: "empty"}
	if !wall.Held {
		wall.Detail = fmt.Sprintf("it has %d variables", len(os.Environ()))
	}
	return wall
}

func readSetup(in io.Reader) (Setup, []byte, error) {
	f, err := readFrame(in, math.MaxUint32)
	if err != nil {
		return Setup{}, nil, fmt.Errorf("reading what to load: %w", err)
	}
	var setup Setup
	if err := f.decode(kindSetup, &setup); err != nil {
		return Setup{}, nil, err
	}
	return setup, f.body, nil
}

func asFailure(err error) *Failure {
	if f := (*Failure)(nil); errors.As(err, &f) {
		return f
	}
	return &Failure{Text: err.Error()}
}

func serveJobs(ctx context.Context, rt Runtime) error {
	frames := make(chan frame)
	go func() {
		for {
			f, err := readFrame(os.Stdin, math.MaxUint32)
			if err != nil {
				os.Exit(0) // the parent is done with us, or gone
			}
			frames <- f
		}
	}()
	call := func(_ context.Context, request []byte) ([]byte, int32, error) {
		if err := writeFrame(os.Stdout, kindCall, struct{}{}, request); err != nil {
			return nil, 0, err
		}
		f := <-frames
		var a answer
		if err := f.decode(kindAnswer, &a); err != nil {
			return nil, 0, err
		}
		if a.Stop {
			return nil, 0, errors.New("stopped by the host")
		}
		return f.body, a.Errno, nil
	}
	for f := range frames {
		var job Job
		if err := f.decode(kindJob, &job); err != nil {
			return err
		}
		outcome := rt.Run(ctx, job, f.body, call)
		if err := writeFrame(os.Stdout, kindOutcome, outcome, outcome.Output); err != nil {
			return err
		}
	}
	return nil
}
