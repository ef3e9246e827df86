// Package event holds what the engine tells the outside while it works. Nothing else comes out of
// the engine: no printing, no logging of its own. Renderers live outside.
package event

// Level says how much an event matters to a person who watches.
type Level int

// The levels of an event.
const (
	Debug Level = iota
	Info
	Warn
)

// Event is one thing that happened. It never carries secrets: no configuration values, no
// credentials, no sensitive variables.
type Event struct {
	Level     Level
	Step      string // what the engine is doing: "open", "plan", "hook", "lease", "action", "chart", "wait", "prune", "record" …
	Component string // the component concerned, if any
	Release   string // namespace/name of the Helm release concerned, if any
	Message   string // one lower-case sentence
}

// Sink receives events, in order, from one operation. It must not block for long and may be called
// from several goroutines.
type Sink interface {
	Emit(Event)
}

// Discard is the Sink that drops everything.
var Discard Sink = discard{}

type discard struct{}

func (discard) Emit(Event) {}

// Func makes a function a Sink.
type Func func(Event)

// Emit calls f.
func (f Func) Emit(e Event) { f(e) }
