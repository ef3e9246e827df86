// Package hook is the contract between the engine and those who may object: the hook points, the
// request that a plugin is given, the response that it may give, and how several answers become one
// outcome. It knows nothing of WebAssembly, processes or clusters: a hook written in Go and one
// compiled to WASM answer through the same types. Everything here is a pure function of its input.
package hook
