package create

import (
	"errors"
	"fmt"
)

// PlacedError is a fault with the place in a definition that it comes from.
type PlacedError struct {
	// At is file:line:column: path.
	At  string
	Err error
}

func (e *PlacedError) Error() string { return fmt.Sprintf("%s: %v", e.At, e.Err) }

// Unwrap returns the fault.
func (e *PlacedError) Unwrap() error { return e.Err }

// MissingTemplatesError says that package templates were not set.
type MissingTemplatesError struct{ Names []string }

func (e *MissingTemplatesError) Error() string {
	text := "the definition has package templates that were not set:"
	for _, name := range e.Names {
		text += fmt.Sprintf(" ###ZARF_PKG_TMPL_%s###", name)
	}
	return text
}

// Hint says how they are set.
func (e *MissingTemplatesError) Hint() string {
	text := "set them with"
	for _, name := range e.Names {
		text += fmt.Sprintf(" --set %s=VALUE", name)
	}
	return text
}

// at gives an error a place, unless it has one.
func (s *sources) at(place string, err error) error {
	var placed *PlacedError
	if err == nil || errors.As(err, &placed) {
		return err
	}
	return &PlacedError{At: place, Err: err}
}
