// Package toolchain compiles a plugin's folder to a WASI module with the compiler of its language. It
// finds the compiler, says how to get it where it is missing, and leaves annotating to whoever asked.
package toolchain
