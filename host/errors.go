package host

import (
	"fmt"
	"strings"
	"time"

	"github.com/zarf-host/zarf-host/host/plan"
)

// DeniedError says that the plan's built-in verdicts forbid the operation; plugins that deny are a
// *hook.DeniedError. Nothing was changed.
type DeniedError struct {
	Findings []plan.Finding
}

func (e *DeniedError) Error() string {
	lines := make([]string, len(e.Findings))
	for i, f := range e.Findings {
		lines[i] = fmt.Sprintf("%s: %s", f.Rule, f.Message)
	}
	return "denied: " + strings.Join(lines, "\n  ")
}

// Hint returns the remedies.
func (e *DeniedError) Hint() string {
	var remedies []string
	for _, f := range e.Findings {
		if f.Remedy != "" {
			remedies = append(remedies, f.Remedy)
		}
	}
	return strings.Join(remedies, "\n")
}

// PreflightError says that the operation cannot work, found out before anything was changed.
type PreflightError struct {
	Problems []string
	// Causes are the errors among the problems, if any.
	Causes []error
}

func (e *PreflightError) Error() string {
	return "preflight: " + strings.Join(e.Problems, "\n  ")
}

// Unwrap returns the causes.
func (e *PreflightError) Unwrap() []error { return e.Causes }

// PlanMovedError says that the plan is not the one that was pinned.
type PlanMovedError struct {
	Wanted, Found string
}

func (e *PlanMovedError) Error() string {
	return fmt.Sprintf("the plan's digest is %s, not %s: the package, the configuration or the cluster moved", e.Found, e.Wanted)
}

// Hint says what to do about it.
func (e *PlanMovedError) Hint() string { return "look at the plan again, then pin its digest" }

// NotDeployedError says that no such package is deployed.
type NotDeployedError struct {
	Name, Namespace string
}

func (e *NotDeployedError) Error() string {
	if e.Namespace != "" {
		return fmt.Sprintf("package %q is not deployed in namespace %q", e.Name, e.Namespace)
	}
	return fmt.Sprintf("package %q is not deployed", e.Name)
}

// Hint says how to find the right name.
func (e *NotDeployedError) Hint() string { return "`zarf-host list` shows what is deployed" }

// InvalidError says that a package's definition or a configuration is not valid. It lists every
// fault with its position.
type InvalidError struct {
	What   string
	Faults []string
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("%s is not valid:\n  %s", e.What, strings.Join(e.Faults, "\n  "))
}

// DeadlineError is the cause of an operation that was stopped by its own deadline.
type DeadlineError struct {
	Limit time.Duration
}

func (e *DeadlineError) Error() string {
	return fmt.Sprintf("the operation took longer than its deadline of %s", e.Limit)
}

// Hint says what to do about it.
func (e *DeadlineError) Hint() string {
	return "run the same command again to go on; --deadline sets the limit"
}
