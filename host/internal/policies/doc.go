// Package policies tests what policies of a cluster do to whoever deploys there. It has a control plane
// of its own, since such policies hold for everyone, other tests too.
package policies
