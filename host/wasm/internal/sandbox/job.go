package sandbox

import (
	"context"
	"time"

	"github.com/zarf-host/zarf-host/host/wasm/internal/confine"
)

// Setup is what a runtime is given with the module, once.
type Setup struct {
	// Name is the plugin's, Digest its module's.
	Name   string `json:"name"`
	Digest string `json:"digest"`
	// Cache is the folder for this module's compiled code; empty means none.
	Cache string `json:"cache,omitempty"`
	// Compile bounds loading.
	Compile time.Duration `json:"compile"`
	// Body and Elements bound functions and tables.
	Body     int    `json:"body"`
	Elements uint32 `json:"elements"`
	// Budget is the memory that the whole process may use beyond what it has, in bytes.
	Budget uint64 `json:"budget"`
}

// Job is one run.
type Job struct {
	Args   []string      `json:"args"`
	Time   time.Time     `json:"time"`
	Fuel   uint64        `json:"fuel"`
	Run    time.Duration `json:"run"`
	Memory uint64        `json:"memory"`
	Stdout int           `json:"stdout"`
	Stderr int           `json:"stderr"`
}

// Outcome is what came of a job; the output is beside it.
type Outcome struct {
	Failure *Failure      `json:"failure,omitempty"`
	Log     string        `json:"log,omitempty"`
	Fuel    uint64        `json:"fuel"`
	Memory  uint64        `json:"memory"`
	Took    time.Duration `json:"took"`
	Output  []byte        `json:"-"`
}

// Failure is why a runtime did not load or end well.
type Failure struct {
	// Kind is one of package wasm's kinds.
	Kind string `json:"kind"`
	// Limit is the limit that was hit, if one was.
	Limit string `json:"limit,omitempty"`
	Text  string `json:"text"`
}

// Error is the text: who reads it knows the kind.
func (f *Failure) Error() string { return f.Text }

// Call asks the parent something on behalf of the running code. The answer is bytes, or a negative
// error number; an error means that the code must end.
type Call func(ctx context.Context, request []byte) (answer []byte, errno int32, err error)

// Runtime is what runs in the child.
type Runtime interface {
	// Load makes a module ready. Nothing of it runs yet.
	Load(ctx context.Context, setup Setup, module []byte) error
	// Run runs it once.
	Run(ctx context.Context, job Job, input []byte, call Call) Outcome
}

// loaded is what the child says once it is ready, or that it is not.
type loaded struct {
	Walls   []confine.Wall `json:"walls,omitempty"`
	Failure *Failure       `json:"failure,omitempty"`
}

// answer is what the parent says to a call.
type answer struct {
	Errno int32 `json:"errno,omitempty"`
	// Stop ends the run.
	Stop bool `json:"stop,omitempty"`
}
