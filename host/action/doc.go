// Package action runs the actions of a component and places its files: the two things of a
// deployment that happen on the deploying machine. It knows shells, process groups, retries and
// time limits. What it needs of variables, of content and of the cluster it declares as small
// interfaces; it knows no Kubernetes and decides nothing.
//
// Values of sensitive variables reach commands through their environment and nothing else: every
// text that leaves the package, events and errors, is masked first.
package action
