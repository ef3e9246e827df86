// Package faultproxy stands between a client and the API server, or a
// registry, numbers every request that changes something, and breaks the one
// it is told to: it calls a hook before or after the request, which may kill
// the client, or gives a faulty answer (SPEC 15).
//
// It knows HTTP and which requests change a cluster. It must not know what the
// client is doing: a test first runs an operation to count its requests, then
// once more for each number and each fault.
//
// Usual use against a control plane:
//
//	proxy, err := faultproxy.ForCluster(cluster.REST())
//	defer proxy.Close()
//	kubeconfig := cluster.KubeconfigFor(t, proxy.URL())
//	… run once; n := proxy.Count() …
//	for i := 1; i <= n; i++ {
//		proxy.Reset()
//		proxy.KillAfter(i, kill)
//		… run: it dies …
//		proxy.Reset()
//		… run again: all is as if nothing had happened …
//	}
package faultproxy
