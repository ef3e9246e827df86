// Package chart renders, installs, upgrades, rolls back and uninstalls Helm releases, and tells what
// is there of them. It is the only importer of Helm, and knows one outside thing: the API server as
// Helm uses it. Releases are stored as Helm stores them, so that Zarf and Helm go on reading them.
//
// Helm runs on our own kube.Interface (kubeClient), which embeds Helm's for what only reads. What
// may be written is decided there, object by object: who owns a live object, what an upgrade or an
// uninstall must leave alone, what is waited for. Helm itself is called with a context that is never
// cancelled; run.go watches the operation's context and closes the release when it ends.
//
// It must not know of packages beyond a name to label with, of records, leases or plans; readiness
// is judged by the Waiter that the caller hands in.
package chart
