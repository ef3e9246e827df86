// Package wasm runs plugins that are WebAssembly modules: it reads their metadata without running
// them, refuses what may not be loaded, and answers a hook's request with a fresh instance in which
// nothing but that request can be seen. It is the only importer of wazero. It knows nothing of
// clusters, packages or policies; what a verdict means is package hook's.
//
// A module is a WASI preview 1 command. It has no files, no sockets, no environment; its clock is the
// request's time and its randomness is seeded from module and request, so that a verdict depends on
// nothing else. Time, memory and output have limits, and overstepping one is an *Error of that kind,
// never an answer.
package wasm
