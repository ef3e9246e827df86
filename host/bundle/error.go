package bundle

import "fmt"

// RefusedError says that a package is not read because a file in it breaks a rule.
type RefusedError struct {
	// File is the entry of the package (for an entry inside a component's tar: "components/NAME.tar:ENTRY")
	// or the archive itself where the fault is not in one entry.
	File string
	// Reason is one lower-case sentence.
	Reason string
	// Err is the cause, if there is one.
	Err error
}

// Error names the file and the reason.
func (e *RefusedError) Error() string {
	const most = 200
	file := e.File
	if len(file) > most {
		file = file[:most] + "…"
	}
	if e.Err != nil {
		return fmt.Sprintf("refusing the package: %q: %s: %v", file, e.Reason, e.Err)
	}
	return fmt.Sprintf("refusing the package: %q: %s", file, e.Reason)
}

// Unwrap returns the cause.
func (e *RefusedError) Unwrap() error { return e.Err }

// Hint says what to do next.
func (e *RefusedError) Hint() string {
	return "get the package again from where it was published; a package that is meant to look like this has to be created anew"
}

func refuse(file, reason string, args ...any) *RefusedError {
	return &RefusedError{File: file, Reason: fmt.Sprintf(reason, args...)}
}
