package action

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/spec"
)

// Variables is what actions need of the variables of an operation.
type Variables interface {
	// Environ returns the entries as KEY=value.
	Environ() []string
	// Expand replaces references to entries in the field of a wait.
	Expand(field string) string
	// Mask takes sensitive values out of a text.
	Mask(text string) string
	// Set gives a variable a value after checking its pattern.
	Set(variable spec.Variable, value string) error
}

// Waiter waits for something outside. Both methods return when it is as wanted, when ctx is done,
// or at once when waiting cannot help.
type Waiter interface {
	// WaitFor waits for a cluster object; name is a label selector where it holds a '='.
	WaitFor(ctx context.Context, kind, name, namespace, condition string) error
	// WaitForNetwork waits for an address; code is the status wanted of http and https.
	WaitForNetwork(ctx context.Context, protocol, address string, code int) error
}

// Runner runs lists of actions. Variables, Waiter and Sink must be set.
type Runner struct {
	Variables Variables
	Waiter    Waiter
	Sink      event.Sink

	// Values receives what setValues of actions yields. It must be set for packages that use them.
	Values map[string]any
	// Render executes a command that is a Go template (template: true), which never fills text
	// templates. It must be set for packages that have such commands.
	Render func(command []byte) ([]byte, error)
	// Dir is the folder that the dir of an action is relative to: the package's when it is
	// created, the current one otherwise. Empty means the current one.
	Dir string
	// Self is the program that "./zarf" in a command stands for. Empty leaves commands as they are.
	Self string
	// Env is the environment that commands start from. Nil means this process's.
	Env []string
	// Grace is how long a cancelled command may take to end by itself before it is killed with all
	// its children. Zero means three seconds.
	Grace time.Duration
}

// defaultWait bounds a wait that names no limit of its own.
const defaultWait = 5 * time.Minute

// Run runs actions one after the other and stops at the first that fails. It does not run the
// onFailure list; that needs a context of its own, so it is the caller's.
func (r *Runner) Run(ctx context.Context, component string, defaults spec.ActionDefaults, actions []spec.Action) error {
	for i, a := range actions {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.one(ctx, component, defaults, a); err != nil {
			return fmt.Errorf("running action %d of %d, %s: %w", i+1, len(actions), r.label(a), err)
		}
	}
	return nil
}

func (r *Runner) one(ctx context.Context, component string, defaults spec.ActionDefaults, a spec.Action) error {
	r.emit(component, event.Info, r.label(a))
	start := time.Now()
	var err error
	if a.Wait != nil {
		err = r.wait(ctx, a)
	} else {
		err = r.command(ctx, component, merge(defaults, a), a)
	}
	if err != nil {
		return err
	}
	r.emit(component, event.Debug, fmt.Sprintf("%s: done in %s", r.label(a), time.Since(start).Round(time.Millisecond)))
	return nil
}

// command tries a command until it succeeds, its tries are used up, or its time is over.
func (r *Runner) command(ctx context.Context, component string, s settings, a spec.Action) error {
	label := r.label(a) // of the command as its author wrote it: values hold secrets
	if a.ShouldTemplate() {
		if r.Render == nil {
			return errors.New("it is a Go template, and this operation has none")
		}
		rendered, err := r.Render([]byte(a.Cmd))
		if err != nil {
			return err
		}
		a.Cmd = string(rendered)
	}
	limited := ctx
	if s.limit > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, s.limit)
		defer cancel()
	}
	var last error
	for try := range s.tries {
		last = r.try(limited, component, s, a)
		if last == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if limited.Err() != nil {
			return &TimeoutError{After: s.limit, Last: lastBefore(last)}
		}
		if left := s.tries - try - 1; left > 0 {
			r.emit(component, event.Warn, fmt.Sprintf("%s: %v; trying again, %d tries left", label, last, left))
		}
	}
	if s.tries > 1 {
		return fmt.Errorf("all %d tries failed, the last one with: %w", s.tries, last)
	}
	return last
}

// try runs the command once and stores what it yields.
func (r *Runner) try(ctx context.Context, component string, s settings, a spec.Action) error {
	wanted := variables(a)
	quiet := s.mute || anySensitive(wanted)
	out := newOutput(func(line string) {
		if !quiet {
			r.emit(component, event.Info, r.Variables.Mask(line))
		}
	}, len(wanted)+len(a.SetValues) > 0)

	if err := r.exec(ctx, s, a.Cmd, out); err != nil {
		if tail := out.tail(); tail != "" && !quiet && ctx.Err() == nil {
			return fmt.Errorf("%w: %s", err, r.Variables.Mask(tail))
		}
		return err
	}
	text, err := out.captured()
	if err != nil {
		return err
	}
	return r.store(text, wanted, a.SetValues)
}

// label names an action for people: its description, else its wait, else the start of its command.
func (r *Runner) label(a spec.Action) string { return r.Variables.Mask(Label(a)) }

// Label names an action for people without looking at any variable.
func Label(a spec.Action) string {
	const longest = 60
	switch {
	case a.Description != "":
		return fmt.Sprintf("%q", a.Description)
	case a.Wait != nil && a.Wait.Cluster != nil:
		return strings.TrimSpace(fmt.Sprintf("wait for %s %s %s", a.Wait.Cluster.Kind, a.Wait.Cluster.Name, a.Wait.Cluster.Condition))
	case a.Wait != nil && a.Wait.Network != nil:
		return fmt.Sprintf("wait for %s %s", a.Wait.Network.Protocol, a.Wait.Network.Address)
	}
	text := strings.Join(strings.Fields(a.Cmd), " ")
	if runes := []rune(text); len(runes) > longest {
		text = string(runes[:longest-1]) + "…"
	}
	return fmt.Sprintf("%q", text)
}

func (r *Runner) emit(component string, level event.Level, message string) {
	r.Sink.Emit(event.Event{Level: level, Step: "action", Component: component, Message: message})
}

// TimeoutError says that a command, with all its tries, took longer than its maxTotalSeconds.
type TimeoutError struct {
	After time.Duration
	Last  error // how the last complete try failed, if there was one
}

// Error names the limit.
func (e *TimeoutError) Error() string {
	text := fmt.Sprintf("it took longer than its maxTotalSeconds of %d", int(e.After.Seconds()))
	if e.Last != nil {
		text += fmt.Sprintf(" (%v)", e.Last)
	}
	return text
}

// Unwrap gives the last try's error.
func (e *TimeoutError) Unwrap() error { return e.Last }

// lastBefore drops the error of a try that ended only because the time was over.
func lastBefore(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}
