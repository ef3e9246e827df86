package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// A process is the holder of a lease: one process on one boot of one machine. Its text is the
// lease's holderIdentity.
type process struct {
	host  string
	boot  string // the kernel's boot id, empty where there is none to read
	pids  string // the namespace that pid is a number of
	pid   int
	start string // when the process began, in the kernel's ticks since boot
	nonce string // tells two operations of one process apart
}

// holderFields is how many fields the text of a process has.
const holderFields = 6

// String returns the identity as a lease has it.
func (p process) String() string {
	return strings.Join([]string{p.host, p.boot, p.pids, strconv.Itoa(p.pid), p.start, p.nonce}, "/")
}

// parseProcess reads an identity; false means that it is not one of zarf-host's.
func parseProcess(identity string) (process, bool) {
	fields := strings.Split(identity, "/")
	if len(fields) != holderFields {
		return process{}, false
	}
	pid, err := strconv.Atoi(fields[3])
	if err != nil || pid <= 0 {
		return process{}, false
	}
	return process{host: fields[0], boot: fields[1], pids: fields[2], pid: pid, start: fields[4], nonce: fields[5]}, true
}

// thisProcess returns the identity of the running process.
func thisProcess(nonce string) process {
	host, _ := os.Hostname() // without a name nothing is recognised as local, which is safe
	p := process{host: strings.ReplaceAll(host, "/", "-"), pid: os.Getpid(), nonce: nonce}
	p.boot, p.pids = bootID(), pidNamespace()
	p.start, _ = startTime(p.pid)
	return p
}

// describe names a holder for people.
func describe(identity string) string {
	if p, ok := parseProcess(identity); ok {
		return fmt.Sprintf("process %d on %s", p.pid, p.host)
	}
	return fmt.Sprintf("%q", identity)
}

// liveness is what this machine knows of a holder.
type liveness int

const (
	unknown liveness = iota // it is not of this machine, or this machine cannot tell
	alive
	gone
)

// live says whether the process is one of this machine and boot that still runs. p is asked for by
// number, so that only numbers of our own namespace mean anything.
func (p process) live(self process) liveness {
	if p.host == "" || p.boot == "" || p.start == "" || p.host != self.host || p.boot != self.boot || p.pids != self.pids {
		return unknown
	}
	start, err := startTime(p.pid)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errDead):
		return gone
	case err != nil:
		return unknown
	case start != p.start: // the number was given to another process
		return gone
	default:
		return alive
	}
}

// bootID tells one boot of a machine from the next. Linux only, as all of this: elsewhere a holder
// is known to be gone only once its lease ran out.
func bootID() string {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

func pidNamespace() string {
	link, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return link
}

// errDead says that a process ended and only waits for its parent to notice.
var errDead = errors.New("the process is dead")

// startTime returns when a process began.
func startTime(pid int) (string, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", err
	}
	// The program's name is in parentheses and may hold anything, parentheses too.
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	const state, start = 0, 19 // the third and the twenty-second field of the whole line
	if len(fields) <= start {
		return "", fmt.Errorf("/proc/%d/stat has %d fields after the name", pid, len(fields))
	}
	if s := fields[state][0]; s == 'Z' || s == 'X' {
		return "", errDead
	}
	return string(fields[start]), nil
}
