// Package bundle reads packages: a .tar.zst or .tar archive, a split archive, an unpacked folder, or
// the files of a published package, which somebody else fetches for it (Remote, Stream). It knows
// Zarf's layout, checksums, digest and OCI manifest, and it trusts nothing that it reads: a package
// that breaks a rule is refused with a *RefusedError that names the file.
//
// Zarf's archives end with the file that describes them, so a package is read twice. Open hashes
// every file and keeps only small ones in memory; Walk, ReadFile and Component read again what is
// needed and hash it again, so that the bytes used are the bytes verified. Nothing is written to
// disk but what ExtractComponent is asked for, and the package itself is never changed.
//
// A published package has a manifest that declares path, size and sha256 of every file. OpenRemote
// holds that against the definition and checksums.txt, and other files are fetched, and verified, when
// they are read. What is never read is never fetched.
//
// The package knows nothing of clusters, registries, networks or plans, and it verifies no
// signatures.
package bundle
