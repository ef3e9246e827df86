package wasm

import (
	"errors"
	"fmt"
	"time"
)

// Limits bound one plugin. A zero field means the default of DefaultLimits; only the operator raises
// one above that.
type Limits struct {
	Fuel     uint64        // units of one call, as meter.Version counts them
	Run      time.Duration // one call
	Compile  time.Duration // loading
	Memory   uint64        // bytes of the guest's memory
	Stdout   int           // bytes of answer
	Stderr   int           // bytes of log that are kept
	Module   int           // bytes of module
	Body     int           // bytes of one function body
	Request  int           // bytes of request
	Tables   int           // tables
	Elements uint32        // elements of one table
	Calls    int           // host calls of one call
	Call     time.Duration // one host call
	Answers  int           // bytes that all host calls of one call return
}

// DefaultLimits are the limits where nobody says otherwise.
func DefaultLimits() Limits {
	return Limits{
		Fuel:     20_000_000_000,
		Run:      10 * time.Second,
		Compile:  time.Minute,
		Memory:   256 << 20,
		Stdout:   4 << 20,
		Stderr:   256 << 10,
		Module:   32 << 20,
		Body:     1 << 20,
		Request:  64 << 20,
		Tables:   16,
		Elements: 100_000,
		Calls:    1000,
		Call:     5 * time.Second,
		Answers:  16 << 20,
	}
}

// ModuleBytes is how many bytes of module these limits allow.
func (l Limits) ModuleBytes() int { return l.withDefaults().Module }

// check refuses limits of which one could never be met: a part that may take longer than the whole.
func (l Limits) check() error {
	switch {
	case l.Run < 0 || l.Compile < 0 || l.Call < 0 || l.Stdout < 0 || l.Stderr < 0 || l.Module < 0 || l.Body < 0 ||
		l.Request < 0 || l.Tables < 0 || l.Calls < 0 || l.Answers < 0:
		return errors.New("a limit is negative")
	case l.Run > 0 && l.Call > l.Run:
		return fmt.Errorf("one host call may take %v, the whole run %v: the first must fit into the second", l.Call, l.Run)
	default:
		return nil
	}
}

// withDefaults fills the fields that are zero. A host call is never given longer than the run.
func (l Limits) withDefaults() Limits {
	d := DefaultLimits()
	fill(&l.Fuel, d.Fuel)
	fill(&l.Run, d.Run)
	fill(&l.Compile, d.Compile)
	fill(&l.Memory, d.Memory)
	fill(&l.Stdout, d.Stdout)
	fill(&l.Stderr, d.Stderr)
	fill(&l.Module, d.Module)
	fill(&l.Body, d.Body)
	fill(&l.Request, d.Request)
	fill(&l.Tables, d.Tables)
	fill(&l.Elements, d.Elements)
	fill(&l.Calls, d.Calls)
	fill(&l.Call, min(d.Call, l.Run))
	fill(&l.Answers, d.Answers)
	return l
}

func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// size writes a number of bytes for people.
func size[T int | uint64](n T) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	default:
		return fmt.Sprintf("%d bytes", n)
	}
}
