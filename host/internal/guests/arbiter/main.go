// Command arbiter is a guest that judges collisions as its configuration says: by kind, and one by an
// id that no request has.
package main

import "github.com/zarf-host/zarf-host/plugins/sdk"

type config struct {
	Kinds map[string]sdk.Verdict `json:"kinds"`
	Stray string                 `json:"stray"`
}

func main() {
	sdk.Main(func(r sdk.Request) sdk.Response {
		var c config
		if err := r.DecodeConfig(&c); err != nil {
			return sdk.Fail(err)
		}
		res := r.Allow()
		for _, collision := range r.Collisions {
			if verdict, ok := c.Kinds[collision.Kind]; ok {
				res.Judge(collision, verdict, "the arbiter says %s where %s counts", verdict, collision.Verdict)
			}
		}
		if c.Stray != "" {
			res.Judge(sdk.Collision{ID: c.Stray}, sdk.Allow, "a guess")
		}
		return res
	})
}
