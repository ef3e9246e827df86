//go:build amd64 || arm64

package confine

import (
	"errors"
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func pointer[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

// What Landlock knows, by the version of its interface.
const (
	files1 = unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1 // the first version knows everything up to this
	inside = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE
	// erratumSignals is set where signals between the threads of one process are let pass, which Go
	// needs to stop them.
	erratumSignals = 1 << 1
)

// landlock leaves the process one folder, or none, and what else of walls the kernel's version has.
func landlock(folder string) ([]Wall, error) {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return nil, fmt.Errorf("the kernel has no Landlock: %w", errno)
	}
	attr := unix.LandlockRulesetAttr{Access_fs: files1}
	walls := []Wall{held(Files, fmt.Sprintf("Landlock %d without any path", version))}
	folderMay := uint64(inside)
	if version >= 2 {
		attr.Access_fs |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if version >= 3 {
		attr.Access_fs |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
		folderMay |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if version >= 5 {
		attr.Access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if version >= 4 {
		attr.Access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		walls = append(walls, held(Network, "Landlock without any port"))
	} else {
		walls = append(walls, missing(Network, fmt.Errorf("the kernel's Landlock %d knows no network", version)))
	}
	signals := missing(Signals, fmt.Errorf("the kernel's Landlock %d knows no scopes", version))
	if version >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
		signals = missing(Signals, errors.New("the kernel's Landlock takes the threads of one process for strangers"))
		fixed, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_ERRATA)
		if errno == 0 && fixed&erratumSignals != 0 {
			attr.Scoped |= unix.LANDLOCK_SCOPE_SIGNAL
			signals = held(Signals, "Landlock: no signals and no abstract sockets beyond the process")
		}
	}
	return append(walls, signals), restrict(attr, folder, folderMay)
}

func restrict(attr unix.LandlockRulesetAttr, folder string, may uint64) error {
	ruleset, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, pointer(&attr), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return fmt.Errorf("making a Landlock ruleset: %w", errno)
	}
	defer func() { _ = unix.Close(int(ruleset)) }()
	if folder != "" {
		fd, err := unix.Open(folder, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("opening the folder for compiled plugins: %w", err)
		}
		defer func() { _ = unix.Close(fd) }()
		rule := unix.LandlockPathBeneathAttr{Allowed_access: may, Parent_fd: int32(fd)}
		if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, ruleset, unix.LANDLOCK_RULE_PATH_BENEATH, pointer(&rule), 0, 0, 0); errno != 0 {
			return fmt.Errorf("adding a folder to a Landlock ruleset: %w", errno)
		}
	}
	err := everyThread(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0, 0, 0)
	if errors.Is(err, syscall.ENOTSUP) {
		return errBuiltWithC
	}
	if err != nil {
		return fmt.Errorf("entering a Landlock ruleset: %w", err)
	}
	return nil
}
