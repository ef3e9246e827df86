// Package sandbox runs foreign code in a process of its own: the parent starts it, gives it a module
// and jobs, answers its calls and kills it when its time is over; the child confines itself before it
// looks at the module and further before it runs it. It knows neither WebAssembly nor hooks: what runs
// in the child is a Runtime.
//
// The two talk in frames over the child's standard input and output. The parent believes nothing of
// what comes back but that it came from this child: sizes are bounded, calls are answered by rules that
// the child does not know, and an answer counts for this plugin only.
package sandbox
