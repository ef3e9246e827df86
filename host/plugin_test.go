package host

import (
	"testing"

	"github.com/zarf-host/zarf-host/host/wasm"
)

func TestMissingWalls(t *testing.T) {
	walls := []wasm.Wall{
		{Name: "process", Held: true, Detail: "killed at the deadline"},
		{Name: "files", Detail: "the kernel has no Landlock"},
		{Name: "systemcalls", Detail: "no seccomp"},
		{Name: "network", Detail: "the kernel has no Landlock"},
	}
	if got, want := missingWalls(walls), "files, network (the kernel has no Landlock); systemcalls (no seccomp)"; got != want {
		t.Errorf("told is %q, wanted %q", got, want)
	}
	if got := missingWalls(walls[:1]); got != "" {
		t.Errorf("told is %q though nothing is missing", got)
	}
}
