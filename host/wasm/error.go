package wasm

import (
	"errors"
	"fmt"
	"strings"
)

// Kind is the sort of failure of a plugin.
type Kind string

// The kinds of failure.
const (
	KindFuel          Kind = "fuel"            // it used up its fuel
	KindDeadline      Kind = "deadline"        // it took too long to compile or run
	KindMemory        Kind = "memory"          // it died after being refused more memory
	KindTrap          Kind = "trap"            // it crashed
	KindExitCode      Kind = "exit-code"       // it ended with another code than 0
	KindBadOutput     Kind = "bad-output"      // it wrote no valid answer
	KindTooMuchOutput Kind = "too-much-output" // it wrote too much
	KindRefusedModule Kind = "refused-module"  // it was not loaded
	KindHostCall      Kind = "host-call"       // it broke the rules of host calls
	KindRequest       Kind = "request"         // it could not be asked: configuration or request
)

func kinds() []Kind {
	return []Kind{
		KindFuel, KindDeadline, KindMemory, KindTrap, KindExitCode, KindBadOutput, KindTooMuchOutput,
		KindRefusedModule, KindHostCall, KindRequest,
	}
}

// Error is a plugin that did not answer.
type Error struct {
	// Plugin is the name in the metadata, or the file's where that could not be read.
	Plugin string
	// Kind says what went wrong.
	Kind Kind
	// Limit is the limit that was hit, such as "10s to run"; empty where there is none.
	Limit string
	// Err is what is known of it.
	Err error
}

// Error says which plugin, what kind and which limit.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "plugin %q: %s", e.Plugin, e.Kind)
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	if e.Limit != "" {
		fmt.Fprintf(&b, " (limit: %s)", e.Limit)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// FailureKind returns the kind as package hook shows it.
func (e *Error) FailureKind() string { return string(e.Kind) }

// Hint says what to do about it.
func (e *Error) Hint() string {
	switch e.Kind {
	case KindFuel, KindDeadline:
		return "run it alone with `zarf-host plugin run` on the same request to see where it spends its time"
	case KindMemory:
		return "name the fields that the plugin reads as inputs in its metadata, so that the host sends it less"
	case KindTooMuchOutput, KindBadOutput:
		return "a plugin writes exactly one response document to stdout; its log belongs on stderr"
	case KindTrap, KindExitCode:
		return "look at the plugin's log; a deny is a verdict in the answer, never an exit code"
	case KindRefusedModule:
		if none := (*noMetadataError)(nil); errors.As(e.Err, &none) {
			return "add it with `zarf-host plugin annotate MODULE -f plugin.yaml`"
		}
		return "see what the module is and asks for with `zarf-host plugin inspect`"
	case KindRequest:
		return "compare the plugin's configuration with its schema, shown by `zarf-host plugin inspect MODULE -o json`"
	default:
		return ""
	}
}
