//go:build !wasip1

package sdk

import (
	"embed"
	"io/fs"
)

//go:embed go.mod *.go
var source embed.FS

// Source returns the files of this package, which `plugin init` writes beside a new plugin so that it
// builds without a network.
func Source() fs.FS { return source }
