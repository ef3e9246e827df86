// Package apply carries a confirmed plan out: it records what is about to happen, does it through
// small interfaces that it declares itself, and records what came of it. It does what the plan says
// and nothing else.
//
// It knows plans and records. It knows no cluster, registry, chart engine or shell: host gives it
// those, and a test can give it others.
package apply
