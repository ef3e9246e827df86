// Package airgap proves that packages cross an air gap: a control plane that is initialised with a
// registry, packages that Zarf built or that bring synthetic images, and what the registry and the
// pods have afterwards, when all goes well and when the way to the registry breaks.
//
// It has no code, only tests. They have a control plane of their own, since how a cluster was
// initialised holds for everything in it, and they run one after the other.
package airgap
