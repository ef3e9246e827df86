package differential_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/zarf-host/zarf-host/host/differential"
	"github.com/zarf-host/zarf-host/host/spec"
)

// Blobs that the base has are left out and recorded, those of images that are left out whole too, and
// Zarf is told to keep its hands off. The record of a deployment is without that.
func TestOmitBlobs(t *testing.T) {
	digests := map[string]string{"reg.test/a:1": sumA, "reg.test/b:2": sumB}
	base := differential.OfDefinition("old", "", packageOf("1", []string{"reg.test/a:1", "reg.test/b:1"}, nil), digests)
	base.Blobs = map[string]spec.OmittedBlob{
		"sha256:shared": {Digest: "sha256:shared", Size: 50, In: []string{"reg.test/a:1", "reg.test/b:1"}},
		"sha256:old":    {Digest: "sha256:old", Size: 5, In: []string{"reg.test/b:1"}},
		"sha256:a":      {Digest: "sha256:a", Size: 6, In: []string{"reg.test/a:1"}},
		"sha256:same":   {Digest: "sha256:same", Size: 7, In: []string{"reg.test/b:1", "reg.test/c:1"}},
	}
	next := packageOf("2", []string{"reg.test/a:1", "reg.test/b:2"}, nil)
	next.Build.VersionRequirements = []spec.VersionRequirement{{Version: "v0.65.0"}}
	def, _, err := differential.Omit(differential.New{Definition: next, Digests: digests}, base)
	if err != nil {
		t.Fatal(err)
	}
	blobs := []differential.Blob{{"sha256:shared", 50}, {"sha256:new", 9}, {"sha256:same", 7}, {"sha256:shared", 50}}
	got, omit := differential.OmitBlobs(def, blobs, base)
	if !slices.Equal(omit, []string{"sha256:same", "sha256:shared"}) {
		t.Errorf("omitted are %v", omit)
	}
	want := []spec.OmittedBlob{
		{Digest: "sha256:a", Size: 6, In: []string{"reg.test/a:1"}},
		{Digest: "sha256:same", Size: 7, In: []string{"reg.test/b:1"}},
		{Digest: "sha256:shared", Size: 50, In: []string{"reg.test/a:1"}},
	}
	if !reflect.DeepEqual(got.Extension.Blobs, want) {
		t.Errorf("recorded are %+v, want %+v", got.Extension.Blobs, want)
	}
	requires := func(p spec.Package) (out []string) {
		for _, r := range p.Build.VersionRequirements {
			out = append(out, r.Version)
		}
		return out
	}
	if r := requires(got); !slices.Equal(r, []string{"v0.65.0", spec.BlobLevelVersion}) {
		t.Errorf("the package requires %v", r)
	}
	if r := requires(differential.Whole(got)); !slices.Equal(r, []string{"v0.65.0"}) {
		t.Errorf("the record would require %v", r)
	}
	if len(requires(def)) != 1 || def.Extension.Blobs != nil {
		t.Error("what was given was changed")
	}
}

// A package that claims the requirement and leaves out nothing is refused like any other of a newer Zarf.
func TestOmitBlobsNone(t *testing.T) {
	def, _, err := differential.Omit(
		differential.New{Definition: packageOf("2", []string{"reg.test/b:2"}, nil), Digests: map[string]string{"reg.test/b:2": sumB}},
		differential.OfDefinition("old", "", packageOf("1", []string{"reg.test/b:1"}, nil), nil))
	if err != nil {
		t.Fatal(err)
	}
	got, omit := differential.OmitBlobs(def, []differential.Blob{{"sha256:new", 9}}, differential.Base{})
	if omit != nil || got.Build.VersionRequirements != nil || got.Extension.IsBlobLevel() {
		t.Errorf("omitted %v, requires %v", omit, got.Build.VersionRequirements)
	}
	got.Build.VersionRequirements = []spec.VersionRequirement{{Version: spec.BlobLevelVersion}}
	if r := differential.Whole(got).Build.VersionRequirements; len(r) != 1 {
		t.Errorf("a requirement was dropped: %v", r)
	}
}
