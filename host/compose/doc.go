// Package compose decides what a package consists of when it is created: which components a build
// takes, what the markers of package templates stand for, and what a component becomes that imports
// another one. It remembers for each part of a component in which file its author wrote it, so that
// what is wrong with it can be shown there.
//
// It reads no file: whoever does hands it definitions, and follows the imports that it finds in them.
package compose
