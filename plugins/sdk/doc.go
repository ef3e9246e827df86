// Package sdk is what a plugin written in Go needs: the request, the response, and Main, which reads
// one and writes the other. It imports the standard library only, so that a plugin is small and its
// logic is tested natively; the same program runs as WASI module and by hand:
//
//	go run . pre-prune < request.json
//
// A whole guard:
//
//	func main() {
//		sdk.Main(func(r sdk.Request) sdk.Response {
//			res := r.Allow()
//			for _, o := range r.Plan.Prune.Objects {
//				if o.Namespace == "prod" {
//					res.DenyObject(o, "prod is not pruned by machines")
//				}
//			}
//			return res
//		})
//	}
//
// Fields that the types here do not have are ignored, so that a plugin goes on working when requests
// grow.
package sdk
