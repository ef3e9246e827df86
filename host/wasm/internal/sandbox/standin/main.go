//go:build linux && (amd64 || arm64)

// Command standin is what a guest could be that broke out of its engine: native code in a plugin's
// process, in place of the guest runtime. It tries whatever would be worth something and tells what
// came of it. Started with "free" it tries the same without any wall, which shows that the tries are
// real.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/zarf-host/zarf-host/host/wasm/internal/sandbox"
)

// Target is what the parent has that is worth stealing.
type Target struct {
	Parent   int     `json:"parent"`  // process id
	Address  uint64  `json:"address"` // of a secret in the parent's memory
	Length   int     `json:"length"`
	File     string  `json:"file"`     // a kubeconfig
	Address4 [4]byte `json:"address4"` // where a server listens
	Port     uint16  `json:"port"`
}

func main() {
	if sandbox.IsChild() {
		if err := sandbox.Serve(standin{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	var target Target
	if err := json.Unmarshal([]byte(os.Args[1]), &target); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	_ = json.NewEncoder(os.Stdout).Encode(attack(target)) // the test misses what is not written
}

type standin struct{}

// Load loads nothing.
func (standin) Load(context.Context, sandbox.Setup, []byte) error { return nil }

// Run does what the job's arguments say.
func (standin) Run(ctx context.Context, job sandbox.Job, input []byte, call sandbox.Call) sandbox.Outcome {
	switch job.Args[0] {
	case "attack":
		var target Target
		if err := json.Unmarshal(input, &target); err != nil {
			return sandbox.Outcome{Failure: &sandbox.Failure{Text: err.Error()}}
		}
		out, _ := json.Marshal(attack(target)) // strings always marshal
		return sandbox.Outcome{Output: out}
	case "hang":
		for {
			time.Sleep(time.Hour)
		}
	case "spin":
		for n := uint64(1); n != 0; n += 2 { // for ever: an odd number never becomes zero
		}
		return sandbox.Outcome{}
	case "eat":
		var all [][]byte
		for {
			all = append(all, make([]byte, 16<<20))
			for i := 0; i < 16<<20; i += 4096 {
				all[len(all)-1][i] = 1
			}
		}
	case "crash":
		panic("a line\nand another")
	case "exit":
		os.Exit(7)
	case "close":
		_ = os.Stdout.Close()
		time.Sleep(time.Hour)
	case "flood":
		return sandbox.Outcome{Output: make([]byte, 64<<20)}
	case "noise":
		junk := make([]byte, 1<<20)
		for i := range junk {
			junk[i] = 0xff
		}
		_, _ = os.Stdout.Write(junk)
		time.Sleep(time.Hour)
	case "ask":
		answer, errno, err := call(ctx, input)
		return sandbox.Outcome{Output: answer, Log: fmt.Sprint(errno, err)}
	}
	return sandbox.Outcome{}
}

// attack tries everything, and returns by name "" for what was had and else why not.
func attack(t Target) map[string]string {
	result := map[string]string{}
	try := func(name string, do func() error) {
		result[name] = ""
		if err := do(); err != nil {
			result[name] = err.Error()
		}
	}
	raw := func(number uintptr, args ...uintptr) error {
		var a [6]uintptr
		copy(a[:], args)
		if _, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
			return errno
		}
		return nil
	}
	proc := "/proc/" + strconv.Itoa(t.Parent)
	for name, path := range map[string]string{
		"kubeconfig": t.File, "parent's memory": proc + "/mem", "parent's environment": proc + "/environ", "parent's files": proc + "/fd/0",
		"passwd": "/etc/passwd", "own environment": "/proc/self/environ", "own executable": "/proc/self/exe",
	} {
		try("read "+name, func() error {
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			defer f.Close()
			if name != "parent's memory" {
				_, err = f.Read(make([]byte, 1))
				return err
			}
			_, err = f.ReadAt(make([]byte, t.Length), int64(t.Address))
			return err
		})
	}
	try("list files", func() error { _, err := os.ReadDir("/"); return err })
	try("write a file", func() error { return os.WriteFile(t.File+".new", []byte("x"), 0o600) })
	try("look for a file", func() error { _, err := os.Stat(t.File); return err })
	try("have an environment", func() error {
		if len(os.Environ()) == 0 {
			return fmt.Errorf("it is empty")
		}
		return nil
	})
	try("have open files", func() error {
		for fd := 3; fd < 256; fd++ {
			if n, err := unix.Read(fd, make([]byte, 1)); err == nil && n > 0 {
				return nil
			}
		}
		return fmt.Errorf("there are none")
	})
	try("read the parent with process_vm_readv", func() error {
		buf := make([]byte, t.Length)
		local := []unix.Iovec{{Base: &buf[0], Len: uint64(len(buf))}}
		_, err := unix.ProcessVMReadv(t.Parent, local, []unix.RemoteIovec{{Base: uintptr(t.Address), Len: t.Length}}, 0)
		return err
	})
	try("trace the parent", func() error {
		err := unix.PtraceSeize(t.Parent)
		if err == nil {
			_ = unix.PtraceDetach(t.Parent) // it ends with us anyway
		}
		return err
	})
	try("signal the parent", func() error { return unix.Kill(t.Parent, 0) })
	try("signal a thread of the parent", func() error { return unix.Tgkill(t.Parent, t.Parent, 0) })
	try("hold the parent", func() error { return raw(unix.SYS_PIDFD_OPEN, uintptr(t.Parent), 0) })
	for name, family := range map[string]int{"internet": unix.AF_INET, "unix": unix.AF_UNIX, "netlink": unix.AF_NETLINK} {
		try("open a socket: "+name, func() error {
			_, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			return maskNetlink(family, err)
		})
	}
	try("connect", func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		return unix.Connect(fd, &unix.SockaddrInet4{Port: int(t.Port), Addr: t.Address4})
	})
	try("make a pair of sockets", func() error { _, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0); return err })
	try("fork", func() error {
		pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if errno != 0 {
			return errno
		}
		if pid == 0 {
			_, _, _ = unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0) // it does not return
		}
		_, err := unix.Wait4(int(pid), nil, 0, nil)
		return err
	})
	try("start a program", func() error {
		process, err := os.StartProcess("/bin/sh", []string{"sh", "-c", "exit 0"}, &os.ProcAttr{})
		if err == nil {
			_, err = process.Wait()
		}
		return err
	})
	name := []byte("x\x00")
	at := uintptr(unsafe.Pointer(&name[0]))
	try("make a file in memory", func() error { return raw(unix.SYS_MEMFD_CREATE, at, 0) })
	try("make a pipe", func() error { var p [2]int; return unix.Pipe2(p[:], 0) })
	try("duplicate a file", func() error { _, err := unix.Dup(0); return err })
	try("raise a limit", func() error {
		var now unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &now); err != nil {
			return err
		}
		return unix.Setrlimit(unix.RLIMIT_NOFILE, &now)
	})
	try("change the root", func() error { return unix.Chdir("/") })
	try("look at processes", func() error { return unix.Uname(&unix.Utsname{}) })
	try("become dumpable", func() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) })
	try("use io_uring", func() error {
		var params [120]byte
		return raw(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params[0])))
	})
	for key, why := range result {
		result[key] = strings.TrimSpace(why)
	}
	return result
}

// maskNetlink lets the wrong type for a family pass for a socket that could be had.
func maskNetlink(family int, err error) error {
	if family == unix.AF_NETLINK && err == unix.ESOCKTNOSUPPORT {
		return nil
	}
	return err
}
