package main

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/zarf-host/zarf-host/host/internal/testcluster"
)

// TestMain makes the test binary the real command too: a script that runs zarf-host starts a process
// whose main is ours, which signals, exit codes and `./zarf` in actions need.
func TestMain(m *testing.M) {
	testscript.Main(withCluster{m}, map[string]func(){"zarf-host": main})
}

// withCluster stops the control plane that the tests may have started.
type withCluster struct{ m *testing.M }

func (w withCluster) Run() int { return testcluster.Main(w.m) }

var update = flag.Bool("update", false, "rewrite what scripts compare output with")

// TestScript runs testdata/script, one behaviour a file. What the commands do is told in script_test.go.
func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"), Setup: setup, Cmds: commands(),
		UpdateScripts: *update || os.Getenv("UPDATE") != "",
		RequireExplicitExec: true, RequireUniqueNames: true,
	})
}
