//go:build !linux || !(amd64 || arm64)

package confine

import "errors"

var errPlatform = errors.New("this platform has no such means")

// Begin says that there is nothing to take.
func Begin() []Wall {
	return []Wall{missing(Descriptors, errPlatform), missing(Privileges, errPlatform), missing(Undumpable, errPlatform)}
}

// Memory says that there is nothing to take.
func Memory(uint64) []Wall { return []Wall{missing(Limits, errPlatform)} }

// Compiling has nothing to take.
func Compiling(string) {}

// Running says that there is nothing to take.
func Running() []Wall {
	return []Wall{missing(Files, errPlatform), missing(Network, errPlatform), missing(Signals, errPlatform), missing(SystemCalls, errPlatform)}
}

// Parent has nothing to do.
func Parent() error { return nil }
