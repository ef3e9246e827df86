//go:build amd64 || arm64

package confine

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Begin drops what a process inherits: open files beyond the first three, root's capabilities, the
// working directory, core dumps, and that others of the same user may read or trace it.
func Begin() []Wall {
	walls := []Wall{held(Descriptors, "no open files but the pipes")}
	if err := closeInherited(); err != nil {
		walls[0] = missing(Descriptors, err)
	}
	_ = unix.Chdir("/") // a relative path must mean nothing of the user's
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	privileges := held(Privileges, "no new privileges, no capabilities")
	if err := errors.Join(noNewPrivileges(), dropCapabilities()); err != nil {
		privileges = missing(Privileges, err)
	}
	undumpable := held(Undumpable, "neither it nor its parent is read or traced by others of the same user")
	if err := Parent(); err != nil {
		undumpable = missing(Undumpable, err)
	}
	return append(walls, privileges, undumpable)
}

// Parent keeps processes of the same user from reading and tracing this one: its memory holds
// credentials. It stays so until the process ends.
func Parent() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("making the process undumpable: %w", err)
	}
	return nil
}

// closeInherited closes what a parent's parent left open. The poller of Go's own runtime stays: it may
// have been opened while packages were initialised, and leads nowhere.
func closeInherited() error {
	dir, err := os.Open("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("looking at open files: %w", err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return fmt.Errorf("looking at open files: %w", err)
	}
	for _, name := range names {
		fd, err := strconv.Atoi(name)
		if err != nil || fd <= 2 || fd == int(dir.Fd()) {
			continue
		}
		target, err := os.Readlink("/proc/self/fd/" + name)
		if err == nil && !strings.HasPrefix(target, "anon_inode:[event") {
			_ = unix.Close(fd) // one that closed itself meanwhile is closed
		}
	}
	return nil
}

// everyThread makes a system call on each thread, which Go can do only where C has made none. The
// error of a program built with cgo is syscall.ENOTSUP.
func everyThread(trap, a1, a2, a3, a4, a5 uintptr) error {
	if _, _, errno := syscall.AllThreadsSyscall6(trap, a1, a2, a3, a4, a5, 0); errno != 0 {
		return errno
	}
	return nil
}

// noNewPrivileges is for all threads, or at least for this one: the filter of system calls hands it
// on to the others.
func noNewPrivileges() error {
	err := everyThread(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if errors.Is(err, syscall.ENOTSUP) {
		runtime.LockOSThread() // for good: the filter is set from here
		err = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	}
	if err != nil {
		return fmt.Errorf("refusing new privileges: %w", err)
	}
	return nil
}

// dropCapabilities is for a program that root runs: the checks of the kernel then hold for it as for
// anybody.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	err := everyThread(unix.SYS_CAPSET, pointer(&header), pointer(&none[0]), 0, 0, 0)
	runtime.KeepAlive(&header)
	runtime.KeepAlive(&none)
	if errors.Is(err, syscall.ENOTSUP) {
		if os.Geteuid() != 0 {
			return nil // there were none
		}
		err = errBuiltWithC
	}
	if err != nil {
		return fmt.Errorf("dropping capabilities: %w", err)
	}
	return nil
}

var errBuiltWithC = errors.New("the program was built with cgo, so that Go cannot restrict all of its threads")

// Memory bounds what the process may allocate beyond what it holds already, in bytes. Go's own
// reservations of address space count for nothing; what it writes to does.
func Memory(more uint64) []Wall {
	data, space, err := sizes()
	if err != nil {
		return []Wall{missing(Limits, err)}
	}
	// Address space is reserved generously by Go, in pieces of 64 MiB and more; the limit on data is
	// the one that is met, this one stops what is mapped without being written to.
	const reserve = 2 << 30
	for what, limit := range map[int]uint64{
		unix.RLIMIT_DATA:   data + more,
		unix.RLIMIT_AS:     space + more + reserve,
		unix.RLIMIT_NOFILE: 32,
		unix.RLIMIT_FSIZE:  1 << 30,
	} {
		if err := unix.Setrlimit(what, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return []Wall{missing(Limits, fmt.Errorf("setting resource limits: %w", err))}
		}
	}
	return []Wall{held(Limits, fmt.Sprintf("%d MiB of memory, no core dumps, no new files", more>>20))}
}

// sizes are the bytes of data and of address space that the process has.
func sizes() (data, space uint64, err error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, 0, fmt.Errorf("looking at the size of the process: %w", err)
	}
	fields := strings.Fields(string(text)) // pages: size resident shared text lib data dt
	if len(fields) < 6 {
		return 0, 0, fmt.Errorf("/proc/self/statm has %d fields", len(fields))
	}
	page := uint64(os.Getpagesize())
	if space, err = strconv.ParseUint(fields[0], 10, 64); err == nil {
		data, err = strconv.ParseUint(fields[5], 10, 64)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("reading /proc/self/statm: %w", err)
	}
	return data * page, space * page, nil
}

// Compiling leaves of all files one folder, in which compiled code is kept, and of all system calls
// those that a compiler needs. An empty folder leaves none. What cannot be taken is told by Running.
func Compiling(folder string) {
	_, _ = landlock(folder)
	_ = filter(running(), compiling())
}

// Running leaves no files, no network and only the system calls by which Go runs code that is loaded.
func Running() []Wall {
	_ = unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{})
	files, err := landlock("")
	var walls []Wall
	if err != nil {
		walls = []Wall{missing(Files, err), missing(Network, err), missing(Signals, err)}
	} else {
		walls = files
	}
	if err := filter(running()); err != nil {
		return append(walls, missing(SystemCalls, err))
	}
	return append(walls, held(SystemCalls, "an allow-list without files, sockets, processes and tracing"))
}
