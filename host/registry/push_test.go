package registry_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/image"
	"github.com/zarf-host/zarf-host/host/internal/faultproxy"
	"github.com/zarf-host/zarf-host/host/internal/testregistry"
	"github.com/zarf-host/zarf-host/host/registry"
)

// host is the address of a proxy or wire.
func host(url string) string { return strings.TrimPrefix(url, "http://") }

// count counts requests by method and what they are about: a manifest, a blob, an upload.
func count(requests []faultproxy.Request) map[string]int {
	counts := map[string]int{}
	for _, r := range requests {
		kind := "ping"
		for _, k := range []string{"manifests", "uploads", "blobs"} {
			if strings.Contains(r.Path, "/"+k+"/") {
				kind = k
				break
			}
		}
		if strings.Contains(r.Query, "mount=") {
			kind = "mounts"
		}
		counts[r.Method+" "+kind]++
	}
	return counts
}

// TestPushPackagesOfZarf deploys demo 0.1.0, then its differential 0.2.0: the registry has the tags
// that Zarf left there.
func TestPushPackagesOfZarf(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	// Images of these packages are from 127.0.0.1:5001, which might be a prefix of our address.
	client := open(t, registry.Options{Address: strings.Replace(r.Address(), "127.0.0.1", "localhost", 1)})
	for _, step := range []struct{ archive, tags string }{
		{"packages/zarf-package-demo-amd64-0.1.0.tar.zst", "samples/cluster/D1.tags"},
		{"packages/zarf-package-demo-amd64-0.1.0-differential-0.2.0.tar.zst", "samples/cluster/E1.tags"},
	} {
		b, err := bundle.Open(t.Context(), shared(t, step.archive), bundle.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		content, err := registry.ReadContent(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		// Component by component, as a deployment does.
		for _, component := range b.Definition().Components {
			refs, err := image.OfComponents(component)
			if err != nil {
				t.Fatal(err)
			}
			for _, pushed := range push(t, client, content, refs...).Images {
				for _, target := range pushed.Targets {
					if path, sum, ok := strings.Cut(target, "@"); ok {
						_, path, _ := strings.Cut(path, "/")
						if got := r.Digest(t, path, sum); got != pushed.Digest {
							t.Errorf("%s has %q", target, got)
						}
					}
				}
			}
		}
		if diff := cmp.Diff(sample(t, step.tags), r.Tags(t)); diff != "" {
			t.Errorf("%s (-zarf +ours):\n%s", step.archive, diff)
		}
	}
}

// TestD9PushesEachBlobOnce has two components of images only that share an image, and images that
// share layers within a repository and across repositories.
func TestD9PushesEachBlobOnce(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	proxy := r.Proxy(t)
	s := newSource()
	common := s.layer(t, 1, 1<<20)
	a := s.image(t, "a.test/team/a:1", common, s.layer(t, 2, 10_000))
	b := s.image(t, "a.test/team/b:1", common, s.layer(t, 3, 10_000))
	b2 := s.image(t, "a.test/team/b:2", common, s.layer(t, 3, 10_000))
	content := s.content(t)
	client := open(t, registry.Options{Address: host(proxy.URL())})

	push(t, client, content, a, b)
	push(t, client, content, b, b2)

	uploads, asked := map[string]int{}, map[string]int{}
	for _, q := range proxy.Requests() {
		if q.Method == http.MethodPut && strings.Contains(q.Path, "/uploads/") {
			_, sum, _ := strings.Cut(q.Query, "digest=")
			sum, _, _ = strings.Cut(sum, "&")
			uploads[sum]++
		}
		if q.Method == http.MethodHead {
			asked[q.Path]++
		}
	}
	if len(uploads) != 3+3 { // layers and configurations
		t.Errorf("uploaded %d blobs: %v", len(uploads), uploads)
	}
	for sum, n := range uploads {
		if n != 1 {
			t.Errorf("%s was uploaded %d times", sum, n)
		}
	}
	for path, n := range asked {
		if n != 1 {
			t.Errorf("%s was asked for %d times", path, n)
		}
	}
	counts := count(proxy.Requests())
	if counts["POST mounts"] != 1 || counts["PUT manifests"] != 6 {
		t.Errorf("want one mount, and one manifest for each tag: %v", counts)
	}
	for _, ref := range []image.Reference{a, b, b2} {
		if r.Digest(t, ref.Path, ref.Tag) == "" {
			t.Errorf("%s is not there", ref)
		}
	}
}

// TestD10RedeployOnlyAsks pushes a hundred images that are there already: nothing but HEAD, no
// upload, one tunnel.
func TestD10RedeployOnlyAsks(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSource()
	var refs []image.Reference
	common := s.layer(t, 1, 5000)
	for i := range 100 {
		refs = append(refs, s.image(t, fmt.Sprintf("a.test/many:%d", i), common))
	}
	pinned := s.manifest(t, "pinned", common)
	refs = append(refs, s.name(t, "a.test/many@"+pinned.Digest.String(), pinned))
	content := s.content(t)
	push(t, open(t, registry.Options{Address: r.Address()}), content, refs...)

	proxy := r.Proxy(t)
	way := &way{address: host(proxy.URL())}
	client := open(t, registry.Options{Address: r.Address(), Tunnel: way.open})
	s.walks = 0
	result := push(t, client, content, refs...)
	for _, pushed := range result.Images {
		if !pushed.Present {
			t.Errorf("%s was pushed again", pushed.Image)
		}
	}
	if result.UploadedBlobs != 0 || result.MountedBlobs != 0 || s.walks != 0 {
		t.Errorf("uploaded %d, mounted %d, walked through the package %d times", result.UploadedBlobs, result.MountedBlobs, s.walks)
	}
	// Two tags for an image, one digest for a pinned one, and a HEAD to find out about HTTPS.
	want := map[string]int{"HEAD manifests": 201, "HEAD ping": 1}
	if diff := cmp.Diff(want, count(proxy.Requests())); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if way.opened != 1 {
		t.Errorf("%d tunnels were opened", way.opened)
	}
	// A second component with the same images asks for nothing at all.
	push(t, client, content, refs...)
	if diff := cmp.Diff(want, count(proxy.Requests())); diff != "" {
		t.Errorf("requests after a second push (-want +got):\n%s", diff)
	}
}

// TestSecondTagByManifestOnly: a tag that is missing, or that another image took, is set again
// without touching a blob.
func TestSecondTagByManifestOnly(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSource()
	a := s.image(t, "a.test/x:1", s.layer(t, 1, 5000))
	other := s.image(t, "b.test/x:1", s.layer(t, 2, 5000))
	content := s.content(t)
	before := open(t, registry.Options{Address: r.Address()})
	push(t, before, content, a)
	push(t, before, content, other)
	proxy := r.Proxy(t)
	client := open(t, registry.Options{Address: host(proxy.URL())})
	push(t, client, content, a)
	if got, want := r.Digest(t, "x", "1"), s.index.Manifests[0].Digest.String(); got != want {
		t.Errorf("the tag has %s, want %s", got, want)
	}
	want := map[string]int{"HEAD ping": 1, "HEAD manifests": 2, "PUT manifests": 1}
	if diff := cmp.Diff(want, count(proxy.Requests())); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestContestedTag: two images that differ in their hosts alone share the plain tag. The last one has
// it, each time, and both have their own for pods.
func TestContestedTag(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSource()
	a, b := s.image(t, "a.test/x:1", s.layer(t, 1, 5000)), s.image(t, "b.test/x:1", s.layer(t, 2, 5000))
	content := s.content(t)
	push(t, open(t, registry.Options{Address: r.Address()}), content, a, b)
	second := push(t, open(t, registry.Options{Address: r.Address()}), content, a, b)
	if !second.Images[0].Present || !second.Images[1].Present {
		t.Errorf("pushed again: %+v", second.Images)
	}
	want := map[string]string{
		"x:1": s.index.Manifests[1].Digest.String(),
		strings.TrimPrefix(image.Transform("r", a).Pods, "r/"): s.index.Manifests[0].Digest.String(),
		strings.TrimPrefix(image.Transform("r", b).Pods, "r/"): s.index.Manifests[1].Digest.String(),
	}
	if diff := cmp.Diff(want, r.Tags(t)); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
}

// TestD11KeepsDigests: a reference with tag and digest, for an image and for an index of images,
// keeps its digest, and an index all its images.
func TestD11KeepsDigests(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSource()
	common := s.layer(t, 1, 2000)
	single := s.manifest(t, "single", common)
	amd64, arm64 := s.manifest(t, "amd64", common, s.layer(t, 2, 100)), s.manifest(t, "arm64", s.layer(t, 3, 100))
	nested := s.indexOf(t, arm64)
	root := s.indexOf(t, amd64, nested)
	refs := []image.Reference{
		s.name(t, "r.test/x:1@"+single.Digest.String(), single),
		s.name(t, "r.test/y:1@"+root.Digest.String(), root),
		s.name(t, "r.test/z:1", root),
	}
	result := push(t, open(t, registry.Options{Address: r.Address()}), s.content(t), refs...)
	if diff := cmp.Diff([]string{r.Address() + "/y@" + root.Digest.String()}, result.Images[1].Targets); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
	for _, where := range []struct {
		path string
		d    ocispec.Descriptor
	}{{"x", single}, {"y", root}, {"y", amd64}, {"y", nested}, {"y", arm64}, {"z", root}, {"z", arm64}} {
		if got := r.Digest(t, where.path, where.d.Digest.String()); got != where.d.Digest.String() {
			t.Errorf("%s@%s is not there", where.path, where.d.Digest)
		}
	}
	tags := r.Tags(t)
	if len(tags) != 2 || tags["z:1"] != root.Digest.String() {
		t.Errorf("tags %v; a digest gets none", tags)
	}
}

// TestD12NamesTheMismatch: the digest of an index was asked for, and the package has the image of one
// platform. It is refused before the registry is asked anything.
func TestD12NamesTheMismatch(t *testing.T) {
	s := newSource()
	single := s.manifest(t, "amd64", s.layer(t, 1, 10))
	index := s.indexOf(t, single)
	ref := s.name(t, "r.test/x:1@"+index.Digest.String(), single)
	_, err := open(t, registry.Options{Address: "registry.invalid"}).Push(t.Context(), registry.PushOptions{Images: []image.Reference{ref}, Content: s.content(t)})
	for _, want := range []string{ref.String(), single.Digest.String(), "create it again"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v; want an error with %q", err, want)
		}
	}
}

func TestBlobThatOnlyTheRegistryHas(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	full := newSource()
	base := full.image(t, "a.test/x:1", full.layer(t, 1, 3000))
	client := open(t, registry.Options{Address: r.Address()})

	// Of a package that leaves layers out, the image is refused while the registry lacks them, with
	// nothing uploaded, and pushed when it has them: in the same repository or in another.
	thin := newSource()
	layer := newSource().layer(t, 1, 3000)
	next := thin.image(t, "a.test/x:2", layer, thin.layer(t, 2, 100))
	elsewhere := thin.image(t, "a.test/y:2", layer)
	content := thin.content(t)
	_, err := client.Push(t.Context(), registry.PushOptions{Images: []image.Reference{next}, Content: content})
	var failed *registry.PushError
	if !asPushError(err, &failed) || failed.Blob != layer.Digest.String() || failed.Image != next.String() || !strings.Contains(failed.Hint(), "base") {
		t.Fatalf("got %v; want an error about layer %s of %s", err, layer.Digest, next)
	}
	if tags := r.Tags(t); len(tags) != 0 {
		t.Errorf("tags %v", tags)
	}
	push(t, client, full.content(t), base)
	push(t, client, content, next, elsewhere)
	if r.Digest(t, "x", "2") == "" || !r.Blob(t, "y", layer.Digest.String()) {
		t.Error("the images were not pushed")
	}
}

func TestPushToAddressWithPath(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSource()
	ref := s.image(t, "nginx:1", s.layer(t, 1, 10))
	result := push(t, open(t, registry.Options{Address: r.Address() + "/group/project"}), s.content(t), ref)
	if got := r.Digest(t, "group/project/library/nginx", "1-zarf-3793515731"); got != result.Images[0].Digest {
		t.Errorf("got %q", got)
	}
}

func TestIdentity(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSource()
	here := s.image(t, r.Address()+"/x:1", s.layer(t, 1, 10))
	prefix := s.image(t, "127.0.0.1/x:1", s.layer(t, 1, 10))
	client := open(t, registry.Options{Address: r.Address()})
	result := push(t, client, s.content(t), here)
	if !result.Images[0].Identity || r.Digest(t, "x", "1") == "" || len(r.Tags(t)) != 1 {
		t.Errorf("%+v, tags %v", result.Images, r.Tags(t))
	}
	// Zarf leaves this one as it is too; it names another registry, which we were not sent to.
	_, err := client.Push(t.Context(), registry.PushOptions{Images: []image.Reference{prefix}, Content: s.content(t)})
	if err == nil || !strings.Contains(err.Error(), "is not in the registry at "+r.Address()) {
		t.Errorf("got %v", err)
	}
}

func TestContentRefuses(t *testing.T) {
	tests := map[string]struct {
		spoil func(*source, ocispec.Descriptor)
		want  string
	}{
		"manifest missing": {func(s *source, d ocispec.Descriptor) { s.remove(image.BlobPath(d)) }, "the package lacks manifest"},
		"manifest of another size": {func(s *source, d ocispec.Descriptor) { s.index.Manifests[0].Size++ },
			"bytes in the package, and not the"},
		"file under another's name": {func(s *source, d ocispec.Descriptor) {
			for i, f := range s.files {
				if f.Path == image.BlobPath(d) {
					s.files[i].SHA256 = strings.Repeat("0", 64)
				}
			}
		}, "the package lacks manifest"},
		"manifest of other hash": {func(s *source, d ocispec.Descriptor) {
			s.index.Manifests[0].Digest = digest.NewDigestFromEncoded(digest.SHA512, strings.Repeat("0", 128))
		}, "the package lacks manifest"},
	}
	r := testregistry.Start(t, testregistry.Options{})
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSource()
			ref := s.image(t, "a.test/x:1", s.layer(t, 1, 10))
			tt.spoil(s, s.index.Manifests[0])
			_, err := open(t, registry.Options{Address: r.Address()}).Push(t.Context(), registry.PushOptions{Images: []image.Reference{ref}, Content: s.content(t)})
			var failed *registry.PushError
			if !asPushError(err, &failed) || failed.Image != ref.String() || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v; want an error about %s with %q", err, ref, tt.want)
			}
		})
	}
}

func TestSizeCountsSharedBlobsOnce(t *testing.T) {
	s := newSource()
	layer := s.layer(t, 1, 5000)
	one, two := s.manifest(t, "same", layer), s.manifest(t, "other", layer)
	root := s.indexOf(t, one, two)
	ref := s.name(t, "a.test/x:1", root)
	got, err := s.content(t).Size(t.Context(), ref)
	config := int64(len(`{"architecture":"amd64","comment":"same","os":"linux"}`))
	if want := root.Size + one.Size + two.Size + layer.Size + 2*config + 1; err != nil || got != want {
		t.Errorf("got %d, %v; want %d", got, err, want)
	}
}
