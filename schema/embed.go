// Package schema holds the CUE schemas of everything that zarf-host reads, one folder a format and
// one file a kind, embedded so that the binary needs no files beside it. Package validate compiles
// them; the reader of a schema needs no Go.
//
// Three attributes carry what CUE has no words for: @want("…") says in a sentence what a pattern
// asks for, @oneof(a,b) says that exactly one of the keys is given (the constraint itself is written
// in CUE beside it), and @deprecated("…") says what to use instead.
package schema

import "embed"

// FS holds the CUE files, as FOLDER/KIND.cue.
//
//go:embed */*.cue
var FS embed.FS
