// Package script runs the scripts in cmd/zarf-host/testdata/script: each is one behaviour of the real
// command, against a real control plane where it needs one. It lives here and not beside them
// because only what is below host may use host/internal.
//
// It knows the command line and what it leaves in a cluster. It must not know how the engine does
// it. Scripts are written in the language of rogpeppe/go-internal's testscript with the commands
// that commands_test.go lists. `go test ./host/internal/script -update` rewrites what they compare
// output with.
package script
