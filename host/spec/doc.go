// Package spec holds the words of a package definition: zarf.yaml v1alpha1 as Go types, in Zarf's
// field order (its digest depends on that), and what follows from a definition alone. It reads
// nothing and imports only the standard library; package definition turns YAML into these types.
package spec
