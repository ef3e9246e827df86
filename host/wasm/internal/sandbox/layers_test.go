//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/zarf-host/zarf-host/host/wasm/internal/confine"
	"github.com/zarf-host/zarf-host/host/wasm/internal/sandbox"
)

// startWithout starts a child on a kernel that does not know some system calls.
func startWithout(t *testing.T, program string, calls ...uint32) *sandbox.Process {
	t.Helper()
	type started struct {
		process *sandbox.Process
		err     error
	}
	done := make(chan started)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with its filter
		if err := forget(calls); err != nil {
			done <- started{err: err}
			return
		}
		p, err := sandbox.Start(t.Context(), program, sandbox.Setup{Name: "standin", Compile: 20 * time.Second, Budget: 1 << 30}, nil)
		done <- started{p, err}
	}()
	s := <-done
	if s.err != nil {
		t.Fatal(s.err)
	}
	t.Cleanup(s.process.Close)
	return s.process
}

// forget makes this thread, and what it starts, see a kernel without some system calls.
func forget(calls []uint32) error {
	const (
		load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		ret   = unix.BPF_RET | unix.BPF_K
	)
	program := []unix.SockFilter{{Code: load, K: 0}}
	for _, call := range calls {
		program = append(program, unix.SockFilter{Code: equal, Jf: 1, K: call},
			unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)})
	}
	program = append(program, unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_ALLOW})
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog))); errno != 0 {
		return errno
	}
	return nil
}

// TestEachWallStandsAlone: a kernel that has only one of the means is walled off by it, as far as it
// goes, and what is missing is told.
func TestEachWallStandsAlone(t *testing.T) {
	program := standin(t)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, []byte("token: secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	target, err := json.Marshal(map[string]any{"parent": os.Getpid(), "file": file, "length": 1, "address4": [4]int{127, 0, 0, 1}, "port": 1})
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		without []uint32
		missing []string // walls
		had     []string // what the other one does not keep from it
	}{
		"no Landlock": {[]uint32{unix.SYS_LANDLOCK_CREATE_RULESET}, []string{confine.Files, confine.Network, confine.Signals}, nil},
		"no seccomp": {[]uint32{unix.SYS_SECCOMP}, []string{confine.SystemCalls},
			[]string{"open a socket: internet", "fork", "look for a file", "make a pipe", "make a file in memory"}},
		"neither": {[]uint32{unix.SYS_SECCOMP, unix.SYS_LANDLOCK_CREATE_RULESET},
			[]string{confine.Files, confine.Network, confine.Signals, confine.SystemCalls}, []string{"read kubeconfig", "start a program"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			process := startWithout(t, program, tt.without...)
			for _, wall := range process.Walls() {
				if missing := slices.Contains(tt.missing, wall.Name); missing == wall.Held {
					t.Errorf("wall %s: held %t, %s", wall.Name, wall.Held, wall.Detail)
				} else if missing && !strings.Contains(wall.Detail, "not implemented") {
					t.Errorf("wall %s is missing because %q", wall.Name, wall.Detail)
				}
			}
			out, err := process.Run(t.Context(), job("attack"), target, nil)
			if err != nil {
				t.Fatal(err)
			}
			var result map[string]string
			if err := json.Unmarshal(out.Output, &result); err != nil {
				t.Fatal(err)
			}
			for _, try := range tt.had {
				if result[try] != "" {
					t.Errorf("%s is refused, by what? %s", try, result[try])
				}
			}
			if name == "neither" {
				return
			}
			// The worst is refused by either.
			for _, try := range []string{
				"read kubeconfig", "read passwd", "read parent's memory", "read parent's environment", "write a file",
				"start a program", "connect", "trace the parent", "read the parent with process_vm_readv", "signal the parent", "have an environment", "have open files",
			} {
				if result[try] == "" {
					t.Errorf("%s: it was had", try)
				}
			}
		})
	}
}
