// Package definition reads zarf.yaml: bytes in, a spec.Package out. It knows YAML as Zarf reads it
// (the same library at the same version, so that `yes`, dates, 0x10 and 1_000 mean the same), which
// document of a built package counts, the migrations that Zarf makes while reading, and the limits
// that hostile bytes meet. It does not judge what it read: package validate does.
package definition
