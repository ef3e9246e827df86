package hook

import (
	"errors"
	"fmt"
	"strings"
)

// Answer is what came of asking one plugin.
type Answer struct {
	// Plugin is the name it is shown under.
	Plugin string
	// Failure is what an error counts as; empty means the hook's own policy.
	Failure FailurePolicy
	// Carried is true for a plugin that the package itself brought: it may only make verdicts on
	// collisions stricter.
	Carried bool
	// Response is the answer, where Err is nil.
	Response Response
	// Err is why there is no answer.
	Err error
}

// Outcome is what several answers come to.
type Outcome struct {
	Hook Name
	// Verdict is the strictest; Allow when nobody was asked.
	Verdict Verdict
	// Findings are all of them, in the order of the answers.
	Findings []PluginFinding
	// Keep is the union; a thing kept by several plugins appears once, with the first reason.
	Keep []PluginKeep
	// Collisions are the verdicts on the collisions that plugins judged; see Judge.
	Collisions []PluginCollision
	// Failures are the plugins that did not answer.
	Failures []Failure
	// Denied are the plugins that denied, failures under the policy fail included.
	Denied []string
}

// PluginFinding is a finding with the plugin that has it.
type PluginFinding struct {
	Plugin string `json:"plugin"`
	Finding
}

// PluginKeep is a thing to keep with the plugin that wants it.
type PluginKeep struct {
	Plugin string `json:"plugin"`
	Keep
}

// PluginCollision is a verdict on a collision with the plugin that gave it.
type PluginCollision struct {
	Plugin string `json:"plugin"`
	CollisionAnswer
}

// Failure is a plugin that did not answer.
type Failure struct {
	Plugin string
	// Kind is the sort of error, "error" where it has none.
	Kind   string
	Policy FailurePolicy
	Err    error
}

// Fold makes one outcome of the answers to a hook, in their order: all count, the strictest verdict
// wins, what any of them keeps is kept, and an error counts as its failure policy says.
func Fold(point Point, answers []Answer) Outcome {
	out := Outcome{Hook: point.Name, Verdict: Allow}
	kept := map[string]bool{}
	for _, a := range answers {
		if a.Err != nil {
			f := Failure{Plugin: a.Plugin, Kind: failureKind(a.Err), Policy: a.Failure, Err: a.Err}
			if f.Policy != FailurePolicyFail && f.Policy != FailurePolicyWarn {
				f.Policy = point.Failure
			}
			verdict := Deny
			if f.Policy == FailurePolicyWarn {
				verdict = Warn
			} else {
				out.Denied = append(out.Denied, a.Plugin)
			}
			out.Verdict = out.Verdict.Stricter(verdict)
			out.Failures = append(out.Failures, f)
			continue
		}
		if a.Response.Verdict == Deny {
			out.Denied = append(out.Denied, a.Plugin)
		}
		out.Verdict = out.Verdict.Stricter(a.Response.Verdict)
		for _, f := range a.Response.Findings {
			out.Findings = append(out.Findings, PluginFinding{a.Plugin, f})
		}
		for _, k := range a.Response.Keep {
			if target := k.Target(); !kept[target] {
				kept[target] = true
				out.Keep = append(out.Keep, PluginKeep{a.Plugin, k})
			}
		}
	}
	return out
}

// failureKind asks the error for its kind, so that this package need not know who raised it.
func failureKind(err error) string {
	var kinded interface{ FailureKind() string }
	if errors.As(err, &kinded) {
		return kinded.FailureKind()
	}
	return "error"
}

// Err returns a *DeniedError if the outcome denies.
func (o Outcome) Err() error {
	if o.Verdict != Deny {
		return nil
	}
	return &DeniedError{Outcome: o}
}

// DeniedError says that plugins denied an operation, or failed where that counts as a deny.
type DeniedError struct {
	Outcome Outcome
}

// Error names every plugin that denied, each with its findings.
func (e *DeniedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "denied at %s by %s", e.Outcome.Hook, strings.Join(e.Outcome.Denied, ", "))
	for _, f := range e.Outcome.Failures {
		if f.Policy == FailurePolicyFail {
			fmt.Fprintf(&b, "\n  %s: no answer, which counts as a deny: %v", f.Plugin, f.Err)
		}
	}
	for _, f := range e.Outcome.Findings {
		if f.Severity == SeverityDeny {
			fmt.Fprintf(&b, "\n  %s: %s", f.Plugin, f.Message)
		}
	}
	return b.String()
}

// Unwrap returns the errors of the plugins that failed, so that a caller finds their kind.
func (e *DeniedError) Unwrap() []error {
	var errs []error
	for _, f := range e.Outcome.Failures {
		errs = append(errs, f.Err)
	}
	return errs
}

// Hint returns the remedies that the plugins name.
func (e *DeniedError) Hint() string {
	var hints []string
	seen := map[string]bool{}
	for _, f := range e.Outcome.Findings {
		if f.Severity == SeverityDeny && f.Remedy != "" && !seen[f.Remedy] {
			seen[f.Remedy] = true
			hints = append(hints, f.Remedy)
		}
	}
	return strings.Join(hints, "\n")
}
