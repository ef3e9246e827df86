// Package validate judges definitions and configs against the CUE schemas of package schema and
// Zarf's own rules, and says every fault at once, each at its line and column in the user's YAML.
//
// CUE is the structural truth; its error messages are not shown. The schemas are read once into
// shapes, and the YAML is walked beside its shape, so that a fault is found at the node that has
// it, in words for the author of a package. A test holds that shapes and CUE agree on every file
// of the corpus. Package validate reads no files and knows no cluster.
package validate
