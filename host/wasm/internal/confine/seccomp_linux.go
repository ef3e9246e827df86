//go:build amd64 || arm64

package confine

import (
	"fmt"
	"os"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"
)

// The filter is an allow-list: what a kernel learns tomorrow is refused without anybody having heard of
// it. A refused call returns EPERM and does not kill, since the runtime tries some calls only to see
// whether they are there.

// running are the system calls by which Go runs code that is in memory already. There is none that
// takes a path, makes a socket or a process, or looks into another one.
func running() []uint32 {
	return append([]uint32{
		// The pipes.
		unix.SYS_READ, unix.SYS_WRITE, unix.SYS_CLOSE,
		// Memory; with execution, which compiled code is for.
		unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_MREMAP, unix.SYS_MADVISE, unix.SYS_BRK, unix.SYS_MINCORE,
		// Threads, as far as they are this process's.
		unix.SYS_FUTEX, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP,
		unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_MEMBARRIER,
		unix.SYS_EXIT, unix.SYS_EXIT_GROUP, unix.SYS_RESTART_SYSCALL,
		// Signals to itself, by which the runtime stops its threads.
		unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK,
		// Clocks, randomness, and the runtime's poller.
		unix.SYS_CLOCK_GETTIME, unix.SYS_GETTIMEOFDAY, unix.SYS_GETRANDOM,
		unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2,
	}, runningHere()...)
}

// compiling are what it takes beyond that to keep compiled code in a folder, and to close the door
// behind. Where Landlock is, it leaves them that folder only.
func compiling() []uint32 {
	return append([]uint32{
		unix.SYS_OPENAT, unix.SYS_FSTAT, unix.SYS_STATX, unix.SYS_MKDIRAT, unix.SYS_RENAMEAT, unix.SYS_UNLINKAT,
		unix.SYS_FACCESSAT, unix.SYS_FSYNC, unix.SYS_LSEEK, unix.SYS_PREAD64, unix.SYS_GETDENTS64, unix.SYS_GETCWD, unix.SYS_COPY_FILE_RANGE,
		unix.SYS_LANDLOCK_CREATE_RULESET, unix.SYS_LANDLOCK_RESTRICT_SELF, unix.SYS_SECCOMP, unix.SYS_PRCTL,
		unix.SYS_PRLIMIT64, unix.SYS_SETRLIMIT, unix.SYS_FCNTL,
	}, compilingHere()...)
}

// Offsets into what a filter sees of a call.
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetFirst  = 16 // the low half of the first argument, on little-endian machines
)

// filter lets the process make the calls of the lists from here on, in all threads.
func filter(lists ...[]uint32) error {
	program := compile(slices.Concat(lists...), uint32(os.Getpid()))
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, pointer(&prog))
	runtime.KeepAlive(&prog)
	switch {
	case errno != 0:
		return fmt.Errorf("filtering system calls: %w", errno)
	case thread != 0:
		return fmt.Errorf("filtering system calls: thread %d has a filter of its own", thread)
	}
	return nil
}

// compile writes the filter as a program for the kernel's packet filter.
func compile(allowed []uint32, pid uint32) []unix.SockFilter {
	const (
		load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		ret   = unix.BPF_RET | unix.BPF_K
	)
	statement := func(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }
	skipUnless := func(code uint16, k uint32, skip uint8) unix.SockFilter {
		return unix.SockFilter{Code: code, Jf: skip, K: k}
	}
	refuse := statement(ret, unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM))
	allow := statement(ret, unix.SECCOMP_RET_ALLOW)
	program := []unix.SockFilter{
		// Another architecture's numbers mean other calls.
		statement(load, offsetArch),
		{Code: equal, Jt: 1, K: arch},
		statement(ret, unix.SECCOMP_RET_KILL_PROCESS),
		statement(load, offsetNumber),
		// Threads only: a clone without both flags would be a process.
		skipUnless(equal, unix.SYS_CLONE, 5),
		statement(load, offsetFirst),
		statement(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, unix.CLONE_THREAD|unix.CLONE_VM),
		skipUnless(equal, unix.CLONE_THREAD|unix.CLONE_VM, 1),
		allow,
		refuse,
		// Its flags lie in memory, where a filter cannot look; C libraries fall back to clone.
		skipUnless(equal, unix.SYS_CLONE3, 1),
		statement(ret, unix.SECCOMP_RET_ERRNO|uint32(unix.ENOSYS)),
		// Signals to the own threads only.
		skipUnless(equal, unix.SYS_TGKILL, 4),
		statement(load, offsetFirst),
		skipUnless(equal, pid, 1),
		allow,
		refuse,
	}
	for _, number := range allowed {
		program = append(program, skipUnless(equal, number, 1), allow)
	}
	return append(program, refuse)
}
