// Package state holds the words for what a cluster remembers of a deployed package: Zarf's
// DeployedPackage with the events and the configuration that SPEC section 4 adds, zarf-host's own
// key beside it, and the transitions between two such records.
//
// It knows formats and rules, nothing of clusters: reading and writing the Secret is package
// cluster's work. Records are values; every transition returns a new one and leaves the old one as
// it was, slices and maps included, so that a record that was written can never change behind the
// writer's back.
package state
