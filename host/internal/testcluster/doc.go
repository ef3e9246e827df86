// Package testcluster gives tests a real control plane: the one that the whole
// run shares, or one of their own to break.
//
// It knows bin/devcluster, kubeconfigs and namespaces. It must not know what
// is tested on them.
//
// A package that uses it has
//
//	func TestMain(m *testing.M) { os.Exit(testcluster.Main(m)) }
//
// Make starts one control plane for all packages and names it in the
// environment. Without it, as in `go test ./host/cluster`, each test process
// starts its own at the first use, and stops it at the end. Several packages
// may run at once, so a test keeps to a namespace of its own and to names that
// nobody else would take for what belongs to no namespace.
package testcluster
