package chaos_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/zarf-host/zarf-host/host/internal/testcluster"
)

// programVariable names the program to break. Make builds it; without it, as in
// `go test ./host/internal/chaos`, the tests build their own.
const programVariable = "ZARF_HOST_TEST_PROGRAM"

// program is the program under test. The tests of a package have nothing else in common that could
// hold it.
var program built

type built struct {
	once sync.Once
	path string
	dir  string // of a program that the tests built
	err  error
}

func TestMain(m *testing.M) {
	code := testcluster.Main(m)
	_ = os.RemoveAll(program.dir) // what is left of it is only in the way
	os.Exit(code)
}

// get returns the path of the program.
func (b *built) get(t *testing.T) string {
	t.Helper()
	b.once.Do(func() {
		if b.path = os.Getenv(programVariable); b.path != "" {
			return
		}
		if b.dir, b.err = os.MkdirTemp("", "zarf-host-chaos-"); b.err == nil {
			b.path, b.err = filepath.Join(b.dir, "zarf-host"), build(filepath.Join(b.dir, "zarf-host"))
		}
	})
	if b.err != nil {
		t.Fatal(b.err)
	}
	return b.path
}

// build builds the program as the Makefile does.
func build(path string) error {
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path,
		"github.com/zarf-host/zarf-host/cmd/zarf-host")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building the program: %w\n%s", err, output)
	}
	return nil
}
