package registry_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host/image"
	"github.com/zarf-host/zarf-host/host/internal/faultproxy"
	"github.com/zarf-host/zarf-host/host/internal/testregistry"
	"github.com/zarf-host/zarf-host/host/registry"
)

// TestLacking names every blob that neither the package nor the registry has with each image that needs
// it, before anything is sent; a blob in a repository that is said to have it is not lacking. It is
// brought from there, also where the registry does not mount.
func TestLacking(t *testing.T) {
	for _, mounts := range []bool{true, false} {
		r := testregistry.Start(t, testregistry.Options{})
		proxy := r.Proxy(t)
		address := host(proxy.URL())
		thin := newSource()
		layer, gone := newSource().layer(t, 1, 3000), newSource().layer(t, 9, 200)
		x := thin.image(t, "a.test/x:2", layer, thin.layer(t, 2, 100))
		y := thin.image(t, "a.test/y:2", layer, gone)
		content := thin.content(t)
		full := newSource()
		base := full.image(t, "a.test/deep/base:1", full.layer(t, 1, 3000))
		push(t, open(t, registry.Options{Address: r.Address()}), full.content(t), base)
		if !mounts {
			proxy.Inject(faultproxy.Rule{Match: func(q faultproxy.Request) bool { return q.Method == "POST" && q.Query != "" }, Fault: faultproxy.Status(405), Times: 100})
		}

		client := open(t, registry.Options{Address: address})
		opts := registry.PushOptions{Images: []image.Reference{x, y}, Content: content}
		lacking := func() (out []string) {
			found, err := client.Lacking(t.Context(), opts)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range found {
				out = append(out, l.Image.Path+" "+l.Blob)
			}
			slices.Sort(out)
			return out
		}
		want := []string{"x " + layer.Digest.String(), "y " + gone.Digest.String(), "y " + layer.Digest.String()}
		slices.Sort(want)
		if got := lacking(); !slices.Equal(got, want) {
			t.Fatalf("nobody says where it is: lacking %v, want %v", got, want)
		}
		opts.Elsewhere = map[string][]string{layer.Digest.String(): {"nosuch", "Not/A Repository", "deep/base"}}
		if got := lacking(); !slices.Equal(got, []string{"y " + gone.Digest.String()}) {
			t.Fatalf("lacking %v", got)
		}

		client.Forget()
		opts.Images = []image.Reference{x}
		done, err := client.Push(t.Context(), opts)
		if err != nil {
			t.Fatalf("mounts %t: %v", mounts, err)
		}
		if (done.MountedBlobs > 0) != mounts {
			t.Errorf("mounts %t: %d mounted", mounts, done.MountedBlobs)
		}
		if r.Digest(t, "x", "2") == "" || !r.Blob(t, "x", layer.Digest.String()) {
			t.Errorf("mounts %t: the image is not complete", mounts)
		}
	}
}

// TestHold reads what a repository has: tags, and the blobs of each image, those of an index together.
func TestHold(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSource()
	one, two, three := s.layer(t, 1, 500), s.layer(t, 2, 600), s.layer(t, 3, 700)
	s.image(t, "a.test/x:1", one)
	index := s.indexOf(t, s.manifest(t, "amd64", two), s.manifest(t, "arm64", three))
	refs := []image.Reference{parse(t, "a.test/x:1"), s.name(t, "a.test/x@"+index.Digest.String(), index)}
	client := open(t, registry.Options{Address: r.Address()})
	push(t, client, s.content(t), refs...)
	held, err := client.Hold(t.Context(), r.Address()+"/x", index.Digest.String(), "sha256:"+strings.Repeat("0", 64))
	if err != nil {
		t.Fatal(err)
	}
	if len(held.Tags) != 2 || held.Tags["1"] != r.Digest(t, "x", "1") {
		t.Errorf("tags are %v", held.Tags)
	}
	sizes := func(digest string) (out []int64) {
		for _, b := range held.Manifests[digest] {
			if b.Size >= 500 {
				out = append(out, b.Size)
			}
		}
		slices.Sort(out)
		return out
	}
	if got := sizes(held.Tags["1"]); !slices.Equal(got, []int64{500}) {
		t.Errorf("the image has blobs of %v", got)
	}
	if got := sizes(index.Digest.String()); !slices.Equal(got, []int64{600, 700}) {
		t.Errorf("the index has blobs of %v", got)
	}
	if len(held.Manifests) != 2 {
		t.Errorf("held are %v", held.Manifests)
	}
	none, err := client.Hold(t.Context(), r.Address()+"/nosuch")
	if err != nil || len(none.Tags)+len(none.Manifests) > 0 {
		t.Errorf("of a repository that is not there: %+v, %v", none, err)
	}
}

// TestParts says of what the images of a package consist, and what of that it has.
func TestParts(t *testing.T) {
	s := newSource()
	carried, left := s.layer(t, 1, 500), newSource().layer(t, 2, 600)
	s.image(t, "a.test/x:1", carried, left)
	s.image(t, "a.test/y:1", carried)
	parts, err := s.content(t).Parts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, p := range parts {
		switch p.Digest {
		case carried.Digest.String():
			seen++
			if !p.Carried || p.Size != 500 || !slices.Equal(p.Images, []string{"a.test/x:1", "a.test/y:1"}) {
				t.Errorf("carried: %+v", p)
			}
		case left.Digest.String():
			seen++
			if p.Carried || p.Size != 600 || !slices.Equal(p.Images, []string{"a.test/x:1"}) {
				t.Errorf("left out: %+v", p)
			}
		}
	}
	if seen != 2 {
		t.Errorf("parts are %+v", parts)
	}
}
