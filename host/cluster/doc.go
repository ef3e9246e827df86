// Package cluster is the engine's hold on one Kubernetes cluster: the connection and how it is cut,
// the Secrets that record packages, the lease that keeps two operations on one package apart, and
// waiting for objects. It knows Kubernetes and the words of package state; it decides nothing about
// packages, installs nothing and knows no Helm.
package cluster
