// Package bundle reads packages on disk: a .tar.zst or .tar archive, a split archive, or an
// unpacked folder. It knows Zarf's layout, checksums and digest, and it trusts nothing that it
// reads: a package that breaks a rule is refused with a *RefusedError that names the file.
//
// Zarf's archives end with the file that describes them, so a package is read twice. Open hashes
// every file and keeps only small ones in memory; Walk, ReadFile and Component read again what is
// needed and hash it again, so that the bytes used are the bytes verified. Nothing is written to
// disk but what ExtractComponent is asked for, and the package itself is never changed.
//
// The package knows nothing of clusters, registries, networks or plans, and it verifies no
// signatures.
package bundle
