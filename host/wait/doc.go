// Package wait waits until something outside is as wanted: a cluster object, or a network address.
// It serves the wait actions of packages and the command "tools wait-for". It polls, obeys its
// context at every moment, and gives up at once where waiting cannot help. It changes nothing and
// knows nothing of packages.
package wait
