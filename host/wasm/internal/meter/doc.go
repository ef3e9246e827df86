// Package meter rewrites a module so that it pays fuel for what it does and asks its host to go on
// each time that it has used up what it was given. It knows the binary format and nothing of plugins
// or engines; it runs nothing.
//
// # fuel/v1
//
// One unit is one instruction. A function pays for straight runs of instructions before it runs them:
// at its entry, at the head of each loop, in each arm of an if, and after each block that something
// inside may leave early. What stands behind a conditional branch is paid with what stands before it.
// Bulk instructions pay for what they move: one unit for 8 bytes of memory or one element of a table.
// Calls of the host cost 100, growing a memory or table 1,000.
//
// Paying is a subtraction from a counter that the module cannot name. At entries and loop heads,
// through which everything passes that takes long, a counter below zero calls Tick, whose answer is
// the new counter; Tick also is called after each call of the host. The same module and the same
// answers of the host use the same fuel, wherever they run.
package meter
