// Package selection decides which components of a package an operation touches. It knows Zarf's
// rules for component lists, defaults, required components and groups, and the operating system
// filter. It is a pure decision: the same definition and request give the same answer, and it asks
// nobody; what a person should be asked is part of the answer.
package selection
