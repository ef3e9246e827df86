package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/plan"
)

func TestPlanOfImages(t *testing.T) {
	const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	image := func(reference string, reason plan.PruneReason, version string) plan.PruneImage {
		return plan.PruneImage{Reference: reference, Digest: digest, Bytes: 3 << 20, Reason: reason, Version: version}
	}
	gone := image("reg.test/y:1", plan.PruneLeft, "")
	gone.Missing, gone.Digest = true, ""
	p := plan.Plan{Operation: plan.Deploy, Package: plan.Package{Name: "shop"}, Prune: plan.Prune{
		Images: []plan.PruneImage{image("reg.test/x:1-zarf-1", plan.PruneDropped, "1.0.0"), image("reg.test/x:1", plan.PruneDropped, "1.0.0"), gone},
		Kept:   []plan.Kept{{Image: "reg.test/z:1", By: "package", Reason: `package "mall" 2.0.0 has it`}},
	}}
	var b strings.Builder
	if err := Plan(&b, p); err != nil {
		t.Fatal(err)
	}
	want := `deploy shop (no version)
  to be deleted: 0 releases, 0 objects, 3 references of images (3.0 MiB)
    - image reg.test/x:1-zarf-1 (sha256:0123456789ab, 3.0 MiB): not in the package any more, last used by 1.0.0
    - image reg.test/x:1 (sha256:0123456789ab, 3.0 MiB): not in the package any more, last used by 1.0.0
    - image reg.test/y:1 (gone already): left by an earlier version
  kept: 1
    image reg.test/z:1, by package: package "mall" 2.0.0 has it
  plan digest: 
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
