package wasm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/wasm/internal/sandbox"
)

var errDeadline = errors.New("it took too long")

// Result is what came of one call.
type Result struct {
	// Response is the answer, where there is no error.
	Response hook.Response
	// Request is the whole document that was asked, of which the plugin was given what its metadata
	// names; see Replay.
	Request []byte
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
	// Calls are what it asked the host, with the answers, in their order.
	Calls []hook.Exchange
}

// Call asks the plugin without a host: what it asks of the world is answered by an error.
func (p *Plugin) Call(ctx context.Context, req hook.Request) (Result, error) {
	return p.CallWith(ctx, req, nil)
}

// CallWith asks the plugin with a fresh instance, and has host answer what it asks. An error is an
// *Error, but for a done context, which is the caller's own, and for a process that cannot be started;
// the result then holds the log at most. The request's configuration is the plugin's, whatever the
// request had.
func (p *Plugin) CallWith(ctx context.Context, req hook.Request, host Host) (Result, error) {
	req.Config = p.config
	document, err := json.Marshal(req)
	if err != nil {
		return Result{}, &Error{Plugin: p.meta.Name, Kind: KindRequest, Err: err}
	}
	return p.ask(ctx, req, document, host)
}

// Replay asks again what was asked before: the Request of a Result, to the byte, with the configuration
// that it holds.
func (p *Plugin) Replay(ctx context.Context, document []byte, host Host) (Result, error) {
	req, err := hook.ParseRequest(document)
	if err != nil {
		return Result{}, &Error{Plugin: p.meta.Name, Kind: KindRequest, Err: err}
	}
	return p.ask(ctx, req, document, host)
}

func (p *Plugin) ask(ctx context.Context, req hook.Request, document []byte, host Host) (Result, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.closed {
		return Result{}, fmt.Errorf("asking plugin %q: it is closed", p.meta.Name)
	}
	input, err := p.input(req.Hook, document)
	if err != nil {
		return Result{Request: document}, &Error{Plugin: p.meta.Name, Kind: KindRequest, Err: err}
	}
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return Result{}, fmt.Errorf("asking plugin %q at %s: %w", p.meta.Name, req.Hook, context.Cause(ctx))
	}
	res, err := p.run(ctx, req, input, host)
	res.Request = document
	return res, err
}

// input cuts the request down to what this plugin may see.
func (p *Plugin) input(name hook.Name, document []byte) ([]byte, error) {
	use, ok := p.meta.Use(name)
	if !ok {
		return nil, fmt.Errorf("it does not answer %s", name)
	}
	input, err := hook.Project(document, use.Inputs)
	if err != nil {
		return nil, err
	}
	if len(input) > p.limits.Request {
		return nil, fmt.Errorf("the request has %s, at most %s are allowed", size(len(input)), size(p.limits.Request))
	}
	return input, nil
}

func (p *Plugin) run(ctx context.Context, req hook.Request, input []byte, host Host) (Result, error) {
	job := sandbox.Job{
		Args: []string{p.meta.Name, string(req.Hook)}, Time: req.Time, Fuel: p.limits.Fuel, Run: p.limits.Run,
		Memory: p.limits.Memory, Stdout: p.limits.Stdout, Stderr: p.limits.Stderr,
	}
	talk := &conversation{host: host, limits: p.limits}
	out, err := p.runner.run(ctx, job, input, talk.answer)
	res := Result{Output: out.Output, Log: printable([]byte(out.Log)), Fuel: out.Fuel, Memory: out.Memory, Took: out.Took, Calls: talk.exchanges}
	switch {
	case ctx.Err() != nil:
		return res, fmt.Errorf("asking plugin %q at %s: %w", p.meta.Name, req.Hook, context.Cause(ctx))
	case err != nil:
		return res, p.fail(err)
	case talk.broke != nil:
		return res, p.fail(talk.broke)
	case out.Failure != nil:
		return res, p.fail(out.Failure)
	}
	if res.Response, err = hook.DecodeResponse(res.Output, req.Expect()); err != nil {
		return res, &Error{Plugin: p.meta.Name, Kind: KindBadOutput, Err: err}
	}
	return res, nil
}

// fail makes an *Error of what a runner says. A plugin's process may be its own master by then: what it
// says is shown and not obeyed, and a kind that nobody knows is a crash.
func (p *Plugin) fail(err error) error {
	var f *sandbox.Failure
	if errors.As(err, &f) {
		kind := Kind(f.Kind)
		if !slices.Contains(kinds(), kind) {
			kind = KindTrap
		}
		return &Error{Plugin: p.meta.Name, Kind: kind, Limit: oneLine(f.Limit), Err: errors.New(oneLine(f.Text))}
	}
	return fmt.Errorf("running plugin %q: %w", p.meta.Name, err)
}
