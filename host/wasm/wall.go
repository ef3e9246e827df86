package wasm

import (
	"context"
	"errors"

	"github.com/zarf-host/zarf-host/host/wasm/internal/confine"
)

// Wall is one thing that stands between a plugin's process and the machine, or that is missing because
// the kernel lacks the means: its name, whether it is held, and how far or why not.
type Wall = confine.Wall

// Walls are what stands between the plugin and the machine beside the engine itself.
func (p *Plugin) Walls() []Wall { return p.runner.walls() }

// Probe loads a module as far as it can be without a configuration, closes it again, and returns what
// walls stood around it. Nothing of it runs.
func Probe(ctx context.Context, module []byte, opts Options) ([]Wall, error) {
	opts.unasked = true
	p, err := Load(ctx, module, opts)
	if err != nil {
		return nil, err
	}
	return p.Walls(), p.Close(context.WithoutCancel(ctx))
}

var errInProcess = errors.New("the plugin runs in this process")

func noWalls() []Wall {
	var out []Wall
	for _, name := range []string{
		confine.Process, confine.Environment, confine.Descriptors, confine.Limits, confine.Privileges,
		confine.Undumpable, confine.Files, confine.Network, confine.Signals, confine.SystemCalls,
	} {
		out = append(out, Wall{Name: name, Detail: errInProcess.Error()})
	}
	return out
}
