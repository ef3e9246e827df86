// Package source turns what a user names as a package into an opened bundle. It knows the forms
// that a reference can have and how to record one without its credentials. What is inside a
// package is bundle's business.
package source
