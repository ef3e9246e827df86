package script_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/zarf-host/zarf-host/host/internal/testcluster"
)

var update = flag.Bool("update", false, "rewrite what the scripts compare output with")

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

// programVariable names a program to test instead of the one that is built of the sources.
const programVariable = "ZARF_HOST_TEST_PROGRAM"

// run puts the program, built as the Makefile builds it and never an older one, on the PATH of the
// scripts.
func run(m *testing.M) int {
	if path := os.Getenv(programVariable); path != "" {
		if err := os.Setenv("PATH", filepath.Dir(path)+string(filepath.ListSeparator)+os.Getenv("PATH")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return testcluster.Main(m)
	}
	dir, err := os.MkdirTemp("", "zarf-host-script-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }() // what is left of it is only in the way
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X main.version=1.2.3-test",
		"-o", filepath.Join(dir, "zarf-host"), "github.com/zarf-host/zarf-host/cmd/zarf-host")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the program: %v\n%s", err, output)
		return 1
	}
	if err := os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return testcluster.Main(m)
}

func TestScript(t *testing.T) {
	root, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join(root, "cmd", "zarf-host", "testdata", "script"),
		Setup:               func(env *testscript.Env) error { return setup(env, root) },
		Cmds:                commands(),
		UpdateScripts:       *update || os.Getenv("UPDATE") != "",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}
