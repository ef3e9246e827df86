// Package plan decides what an operation is going to do. A Plan is a plain value: it marshals to
// JSON, renders as a tree, is what hooks receive and what the apply step follows, and its digest is
// what a person confirms.
//
// Every function here is pure: facts in, plan out; no cluster, clock, files or randomness. It knows
// releases and objects as words (package object) and never sees an object's body, so that no secret
// can get into a plan.
package plan
