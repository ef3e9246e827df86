// Package differential decides what a package leaves out because a base, which is where it goes
// already, has it (SPEC 9), and what such a package is in full. It knows definitions and references;
// whoever calls it has resolved them. It reads no files and asks no registry.
package differential
