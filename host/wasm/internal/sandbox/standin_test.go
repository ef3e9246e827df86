//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/zarf-host/zarf-host/host/wasm/internal/confine"
	"github.com/zarf-host/zarf-host/host/wasm/internal/sandbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// standin builds the hostile program without cgo, as the real one is built.
func standin(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "standin")
	build := exec.Command("go", "build", "-o", program, "./standin")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the stand-in: %v\n%s", err, out)
	}
	return program
}

func start(t *testing.T, program string) *sandbox.Process {
	t.Helper()
	p, err := sandbox.Start(t.Context(), program, sandbox.Setup{Name: "standin", Compile: 20 * time.Second, Budget: 1 << 30}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func job(what string) sandbox.Job {
	return sandbox.Job{Args: []string{what}, Run: 20 * time.Second, Stdout: 1 << 20, Stderr: 1 << 10}
}

// tries does what an attacker would: free of walls where program is run as itself, else in a child.
func tries(t *testing.T, target []byte, run func(target []byte) ([]byte, error)) map[string]string {
	t.Helper()
	out, err := run(target)
	if err != nil {
		t.Fatal(err)
	}
	var result map[string]string
	if err := json.Unmarshal(out, &result); err != nil {
		t.Fatalf("reading %q: %v", out, err)
	}
	return result
}

// TestStandinHasNothing starts a hostile native program in place of the guest runtime: whatever it
// tries is refused, and all of it would be had without the walls.
func TestStandinHasNothing(t *testing.T) {
	program := standin(t)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, []byte("token: secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	// An open file that a careless parent hands to everybody.
	inherited, err := unix.Open(file, unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(inherited) }()
	server, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	secret := []byte("the token in the parent's memory")
	target, err := json.Marshal(map[string]any{
		"parent": os.Getpid(), "address": uint64(uintptr(unsafe.Pointer(&secret[0]))), "length": len(secret), "file": file,
		"address4": [4]int{127, 0, 0, 1}, "port": server.Addr().(*net.TCPAddr).Port,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", file)
	free := tries(t, target, func(target []byte) ([]byte, error) {
		return exec.Command(program, string(target)).Output()
	})
	process := start(t, program)
	confined := tries(t, target, func(target []byte) ([]byte, error) {
		out, err := process.Run(t.Context(), job("attack"), target, nil)
		return out.Output, err
	})
	runtime.KeepAlive(secret)
	had := 0
	for name, why := range free {
		if why == "" {
			had++
		} else {
			t.Logf("%s is refused without walls too: %s", name, why)
		}
		if confined[name] == "" {
			t.Errorf("%s: it was had", name)
		}
	}
	// Not all machines let everybody do all of it: a debugger may be forbidden, io_uring switched off.
	if had < len(free)-5 || len(free) < 30 {
		t.Errorf("of %d tries %d succeed without walls: they show nothing", len(free), had)
	}
	for _, must := range []string{"read kubeconfig", "read parent's environment", "open a socket: internet", "connect", "fork", "start a program", "have an environment", "have open files"} {
		if why, tried := free[must]; !tried || why != "" {
			t.Errorf("%s does not succeed without walls: %s", must, why)
		}
	}
	if _, err := os.Stat(file + ".new"); err == nil && confined["write a file"] == "" {
		t.Error("a file was written")
	}
}

// TestWallsAreTold: each wall is either held or said to be missing, and on this kernel that has them
// all, all are held.
func TestWallsAreTold(t *testing.T) {
	process := start(t, standin(t))
	walls := map[string]confine.Wall{}
	for _, w := range process.Walls() {
		walls[w.Name] = w
		if w.Detail == "" {
			t.Errorf("wall %s says nothing", w.Name)
		}
	}
	for _, name := range []string{
		confine.Process, confine.Environment, confine.Descriptors, confine.Limits, confine.Privileges,
		confine.Undumpable, confine.Files, confine.Network, confine.Signals, confine.SystemCalls,
	} {
		w, told := walls[name]
		switch {
		case !told:
			t.Errorf("wall %s is not told", name)
		case !w.Held && !kernelLacks(name):
			t.Errorf("wall %s is missing: %s", name, w.Detail)
		}
	}
	if dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || dumpable != 0 {
		t.Errorf("the parent's dumpable is %d, %v", dumpable, err)
	}
}

// kernelLacks says whether Landlock of this kernel is too old for a wall.
func kernelLacks(wall string) bool {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch wall {
	case confine.Files:
		return errno != 0
	case confine.Network:
		return errno != 0 || version < 4
	case confine.Signals:
		return errno != 0 || version < 7
	default:
		return false
	}
}

// TestChildrenEnd holds every way in which a child fails against how that is told, and that none stays.
func TestChildrenEnd(t *testing.T) {
	program := standin(t)
	tests := map[string]struct {
		run  time.Duration
		want func(error) bool
	}{
		"hang":  {300 * time.Millisecond, func(err error) bool { return errors.Is(err, sandbox.ErrDeadline) }},
		"spin":  {300 * time.Millisecond, func(err error) bool { return errors.Is(err, sandbox.ErrDeadline) }},
		"close": {20 * time.Second, func(err error) bool { return strings.Contains(err.Error(), "talking to its process") }},
		"noise": {20 * time.Second, func(err error) bool { return strings.Contains(err.Error(), "larger than anything") }},
		"flood": {20 * time.Second, func(err error) bool { return strings.Contains(err.Error(), "larger than anything") }},
		"crash": {20 * time.Second, func(err error) bool {
			var died *sandbox.DiedError
			return errors.As(err, &died) && !died.OutOfMemory() && strings.Contains(err.Error(), "exit status 2: panic: a line")
		}},
		"exit": {20 * time.Second, func(err error) bool { return strings.Contains(err.Error(), "exit status 7") }},
		"eat": {20 * time.Second, func(err error) bool {
			var died *sandbox.DiedError
			return errors.As(err, &died) && died.OutOfMemory()
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			process := start(t, program)
			j := job(name)
			j.Run = tt.run
			began := time.Now()
			_, err := process.Run(t.Context(), j, nil, nil)
			if err == nil || !tt.want(err) {
				t.Errorf("error is %v", err)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
	t.Run("cancelled", func(t *testing.T) {
		process := start(t, program)
		ctx, cancel := context.WithCancelCause(t.Context())
		interrupted := errors.New("interrupted")
		time.AfterFunc(100*time.Millisecond, func() { cancel(interrupted) })
		began := time.Now()
		if _, err := process.Run(ctx, job("spin"), nil, nil); !errors.Is(err, interrupted) {
			t.Errorf("error is %v", err)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// TestCallsGoOverThePipe: a question, its answer, and the end of a run that asks too much.
func TestCallsGoOverThePipe(t *testing.T) {
	process := start(t, standin(t))
	for range 3 {
		out, err := process.Run(t.Context(), job("ask"), []byte("q"), func(_ context.Context, request []byte) ([]byte, int32, error) {
			return append([]byte("answer to "), request...), 0, nil
		})
		if err != nil || string(out.Output) != "answer to q" || out.Log != "0 <nil>" {
			t.Errorf("answered %q, %q, %v", out.Output, out.Log, err)
		}
	}
	out, err := process.Run(t.Context(), job("ask"), []byte("q"), func(context.Context, []byte) ([]byte, int32, error) {
		return nil, 0, errors.New("enough")
	})
	if err != nil || !strings.Contains(out.Log, "stopped by the host") {
		t.Errorf("answered %q, %v", out.Log, err)
	}
}
