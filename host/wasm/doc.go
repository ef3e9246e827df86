// Package wasm runs plugins that are WebAssembly modules: it reads their metadata without running
// them, refuses what may not be loaded, and answers a hook's request with a fresh instance in which
// nothing but that request can be seen. It is the only importer of wazero. It knows nothing of
// clusters, packages or policies; what a verdict means is package hook's, and what a host call is
// answered is a Host's.
//
// A module is a WASI preview 1 command. It has no files, no sockets, no environment; its clock is the
// request's time and its randomness is seeded from module, request and nothing else, so that a verdict
// depends on these and on the answers to its host calls. Time, memory and output have limits, and
// overstepping one is an *Error of that kind, never an answer.
//
// # Two walls
//
// The first is the module itself, rewritten so that it pays for what it does (internal/meter), and the
// engine. The second is a process of its own for each plugin (internal/sandbox), in which the module is
// rewritten, compiled and run, and from which the kernel has taken files, network and system calls
// (internal/confine) before foreign code runs. What the kernel lacks is told by Plugin.Walls. Both
// processes come to the same verdict, bytes and fuel: it is the same code.
//
// The module is parsed and its metadata and configuration are checked in this process: that is plain
// Go over bounded bytes. Quotas of host calls are counted in this process too, since a plugin's own is
// not believed.
//
// # Compiled code
//
// Compiled code is native code that is run without further question, so who may write it matters more
// than who may read it. Each module has a folder of its own, named by its digest, below the cache folder
// of the user (0700, owner checked). The child confines itself in two steps: while it compiles, Landlock
// leaves it that one folder; before the module runs, Landlock leaves it no path at all, and the system
// calls that open files are gone. So a guest that breaks out of the engine reaches no folder, and one
// that broke the compiler, which is memory-safe Go, only its own.
package wasm
