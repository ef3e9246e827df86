// Package starter writes a plugin to begin with, in one of the languages of package toolchain: one that
// denies a prune of objects in protected namespaces, with its metadata, its tests and what it is built
// with. The folders beside this file are what it writes; shared is in each.
package starter
