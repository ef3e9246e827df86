package render

import (
	"io"

	"github.com/zarf-host/zarf-host/host/policy"
)

// Policies writes which policies apply to an operation.
func Policies(w io.Writer, policies []policy.Ref) error {
	t := &tree{w: w}
	for _, p := range policies {
		t.line(1, "policy %s (%s) from %s", p.Name, short(p.Digest), p.From)
	}
	return t.err
}
