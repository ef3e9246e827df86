package chart

import (
	"errors"
	"fmt"
	"strings"

	"github.com/zarf-host/zarf-host/host/object"
)

// ConflictError says that an object that a release renders exists and is somebody else's.
type ConflictError struct {
	Object object.Ref
	Owner  object.Release // zero: managed by no release
	Wanted object.Release
}

// Error names the object, who has it and who wants it.
func (e *ConflictError) Error() string {
	owner := "is managed by no Helm release"
	if e.Owner != (object.Release{}) {
		owner = fmt.Sprintf("belongs to release %q", e.Owner)
	}
	return fmt.Sprintf("%s exists and %s, not to %q", e.Object, owner, e.Wanted)
}

// Hint says how it can be taken over.
func (e *ConflictError) Hint() string {
	return "remove or rename the object, or deploy with --take-ownership to take it over"
}

// PendingError says that another operation on a release is under way, or was interrupted.
type PendingError struct {
	Release  object.Release
	Revision int
	Status   string
}

// Error names release, revision and status.
func (e *PendingError) Error() string {
	return fmt.Sprintf("release %q is %s at revision %d: another operation is under way or was interrupted",
		e.Release, e.Status, e.Revision)
}

// Hint says what to look at.
func (e *PendingError) Hint() string {
	return "if nothing is deploying it any more, roll it back or uninstall it with helm, then deploy again"
}

// HookError says that hooks which a release has for its uninstall could not run to their end. What
// follows them was not done.
type HookError struct {
	Release object.Release
	Hooks   []object.Ref
	Err     error
}

// Error names the hooks and what came of them.
func (e *HookError) Error() string {
	names := make([]string, len(e.Hooks))
	for i, ref := range e.Hooks {
		names[i] = ref.String()
	}
	return fmt.Sprintf("running uninstall hook %s of release %q: %v", strings.Join(names, ", "), e.Release, e.Err)
}

// Unwrap returns the cause.
func (e *HookError) Unwrap() error { return e.Err }

// Hint says how to go on with the hooks, and how without.
func (e *HookError) Hint() string {
	return "put right what keeps the hook from running and run the same command again, or leave out uninstall hooks with --no-hooks"
}

// FailedDelete is an object that should have gone and did not.
type FailedDelete struct {
	object.Ref
	Err error
}

// DeleteError says which objects of a release could not be deleted.
type DeleteError struct {
	Release object.Release
	Failed  []FailedDelete
}

// Error names the objects with their causes.
func (e *DeleteError) Error() string {
	parts := make([]string, len(e.Failed))
	for i, f := range e.Failed {
		parts[i] = fmt.Sprintf("%s: %v", f.Ref, f.Err)
	}
	return fmt.Sprintf("deleting objects of release %q: %s", e.Release, strings.Join(parts, "; "))
}

// Unwrap returns the causes.
func (e *DeleteError) Unwrap() []error {
	causes := make([]error, len(e.Failed))
	for i, f := range e.Failed {
		causes[i] = f.Err
	}
	return causes
}

// errNoWaiter answers an operation of a Client that was made without a Waiter.
var errNoWaiter = errors.New("no waiter is configured: this client cannot change releases")
