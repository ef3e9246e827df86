// Package confine takes from the running process whatever the kernel lets it give up: descriptors,
// privileges, files, network and system calls. It knows nothing of plugins. What it took it tells as
// walls, and what it could not take likewise, so that somebody can be told.
//
// The order is the caller's: Begin as soon as the process runs, Memory once it is known how much it
// may use, Compiling before it works on foreign bytes, Running before it runs foreign code. None of
// these can be undone.
package confine

// Wall is one thing that stands between a process and the rest of the machine.
type Wall struct {
	// Name is one of the constants below.
	Name string `json:"name"`
	// Held is whether it stands.
	Held bool `json:"held"`
	// Detail is how far it reaches, or why it does not stand.
	Detail string `json:"detail,omitempty"`
}

// The walls.
const (
	Process     = "process"     // a process of its own, killed at the deadline
	Environment = "environment" // no variables of the parent
	Descriptors = "descriptors" // no open files but the pipes
	Limits      = "limits"      // memory, open files, core dumps
	Privileges  = "privileges"  // no new ones, and none of root's
	Undumpable  = "undumpable"  // not to be read or traced by others of the same user
	Files       = "files"       // Landlock without any path
	Network     = "network"     // Landlock without any port
	Signals     = "signals"     // Landlock: signals and abstract sockets end at the process
	SystemCalls = "systemcalls" // seccomp
)

func held(name, detail string) Wall { return Wall{Name: name, Held: true, Detail: detail} }

func missing(name string, err error) Wall { return Wall{Name: name, Detail: err.Error()} }
