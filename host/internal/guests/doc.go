// Package guests makes the plugins that tests run: real ones, compiled by the Go toolchain on demand,
// and hostile ones, written instruction by instruction since no compiler would write them.
package guests
