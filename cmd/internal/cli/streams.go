package cli

import "io"

// Streams are what a command reads and writes: results to Out, progress and errors to Err.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}
