// Package source turns what a user names as a package into an opened bundle: a path, an oci://
// reference, or an https:// address with the checksum of what is there. It knows how a registry and a
// web server are reached, with whose credentials, and how a broken connection is gone on from; and
// how to record a reference without its credentials. What is inside a package, and what of it is to
// be believed, is bundle's business.
//
// Nothing is written to disk. Of a package in a registry only what is read is fetched. An archive on
// a web server is fetched once for every pass that bundle makes over it, and verified each time.
package source
