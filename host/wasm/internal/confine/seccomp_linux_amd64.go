package confine

import "golang.org/x/sys/unix"

const arch = unix.AUDIT_ARCH_X86_64

func runningHere() []uint32 { return []uint32{unix.SYS_EPOLL_WAIT, unix.SYS_ARCH_PRCTL} }

func compilingHere() []uint32 {
	return []uint32{unix.SYS_NEWFSTATAT, unix.SYS_OPEN, unix.SYS_STAT, unix.SYS_LSTAT, unix.SYS_RENAME, unix.SYS_UNLINK, unix.SYS_MKDIR}
}
