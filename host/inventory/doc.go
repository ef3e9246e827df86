// Package inventory is the file that says what a registry and the packages deployed beside it hold:
// references and digests, no secrets. It is carried out of the air gap, to be the base of differential
// packages. The package reads and writes the file; who asks the registry is elsewhere.
package inventory
