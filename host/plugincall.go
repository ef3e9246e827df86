package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/recording"
	"github.com/zarf-host/zarf-host/host/wasm"
)

// called traces and records a call of the plugin. An error is one of recording it.
func (p *WASMPlugin) called(ctx context.Context, name hook.Name, result wasm.Result, failed error) error {
	if p.trace {
		p.tell(name, result, failed)
	}
	if p.recording == nil || ctx.Err() != nil {
		return nil // what was broken off is no answer
	}
	call := recording.Call{Summary: recording.Summary{Fuel: result.Fuel}}
	if failed == nil {
		call.Response = result.Output
	} else {
		call.Error = failureKind(failed)
	}
	info := p.Info()
	call.Plugin = &info
	err := p.keep(&call, name, result)
	if err == nil {
		err = p.recording.Add(name, call)
	}
	if err != nil {
		return fmt.Errorf("recording what plugin %q was asked: %w", p.Name(), err)
	}
	return nil
}

// keep puts into a call what of the conversation the recording may hold.
func (p *WASMPlugin) keep(call *recording.Call, name hook.Name, result wasm.Result) (err error) {
	if p.whole {
		call.Request, call.Answers = result.Request, result.Calls
		return nil
	}
	use, _ := p.plugin.Metadata().Use(name)
	call.Request, call.Answers, call.Hidden, err = hook.Recordable(result.Request, use.Inputs, result.Calls)
	return err
}

// tell says what a call took, and what the plugin asked for meanwhile.
func (p *WASMPlugin) tell(name hook.Name, result wasm.Result, failed error) {
	for i, e := range result.Calls {
		p.sink.Emit(event.Event{Level: event.Info, Step: "hook", Message: fmt.Sprintf("plugin %q at %s: host call %d: %s", p.Name(), name, i+1, e)})
	}
	verdict := string(result.Response.Verdict)
	if failed != nil {
		verdict = "failed, " + failureKind(failed)
	}
	p.sink.Emit(event.Event{Level: event.Info, Step: "hook", Message: fmt.Sprintf("plugin %q at %s: %s; %d fuel, %d bytes of memory, %d host calls, %v",
		p.Name(), name, verdict, result.Fuel, result.Memory, len(result.Calls), result.Took)})
}

func failureKind(err error) string {
	var kinded interface{ FailureKind() string }
	if errors.As(err, &kinded) {
		return kinded.FailureKind()
	}
	return "error"
}
