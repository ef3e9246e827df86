package source_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

// The credentials of whoever runs the tests are no concern of theirs.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "source")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = os.Setenv("DOCKER_CONFIG", dir)
	_ = os.Setenv("NETRC", filepath.Join(dir, "none"))
	code := m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}
