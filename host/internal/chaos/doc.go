// Package chaos holds the tests that break the program for real (SPEC 15): they run zarf-host as a
// process of its own against a real control plane, kill it, interrupt it and answer its requests
// wrongly, and look at what is left after the same command was run again.
//
// It knows the command line and what an operation must leave in the cluster. It must not know how
// the program does it: it has tests only, and imports nothing of the engine but the words in which
// records are written.
package chaos
