package host

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/create"
	"github.com/zarf-host/zarf-host/host/internal/packagetest"
	"github.com/zarf-host/zarf-host/host/internal/testregistry"
	"github.com/zarf-host/zarf-host/host/source"
)

// registryWith starts a registry that has images.
func registryWith(t *testing.T, images ...packagetest.Image) *testregistry.Registry {
	t.Helper()
	r := testregistry.Start(t, testregistry.Options{})
	entries, err := packagetest.ImageEntries(images...)
	if err != nil {
		t.Fatal(err)
	}
	definition := "kind: ZarfPackageConfig\nmetadata: {name: images, version: 1.0.0}\ncomponents:\n- name: a\n  images:\n"
	for _, img := range images {
		definition += "  - " + img.Reference + "\n"
	}
	archive := packagetest.BuildWith(t, t.TempDir(), definition, nil, packagetest.Options{
		OmitImages: true, Content: func(e []packagetest.Entry) []packagetest.Entry { return append(e, entries...) },
	})
	_, err = Mirror(t.Context(), MirrorOptions{Source: archive, Images: true, NoImageChecksum: true, Registry: MirrorRegistry{Address: r.Address()}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// indexOf is images/index.json of a package: digests by reference.
func imagesIn(t *testing.T, b *bundle.Bundle) (map[string]string, ocispec.Index) {
	t.Helper()
	data, err := b.ReadFile(t.Context(), "images/index.json")
	if err != nil {
		t.Fatal(err)
	}
	var index ocispec.Index
	if err := json.Unmarshal(data, &index); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, d := range index.Manifests {
		name := d.Annotations[ocispec.AnnotationRefName]
		if d.Annotations[ocispec.AnnotationBaseImageName] != name {
			t.Errorf("%s has the annotations %v", d.Digest, d.Annotations)
		}
		out[name] = d.Digest.String()
	}
	return out, index
}

func TestCreatePullsImages(t *testing.T) {
	plain := packagetest.Image{Reference: "src.test/team/plain:1.0.0", Layers: []packagetest.Layer{{Seed: 1, Size: 9 << 20}, {Seed: 2, Size: 300}}}
	multi := packagetest.Image{Reference: "src.test/team/multi:2.0.0", Layers: []packagetest.Layer{{Seed: 1, Size: 9 << 20}}, Index: true}
	r := registryWith(t, plain, multi)
	plainDigest, _, err := plain.Digests()
	if err != nil {
		t.Fatal(err)
	}
	multiDigest, multiImage, err := multi.Digests()
	if err != nil {
		t.Fatal(err)
	}
	at := r.Address() + "/team/"
	dir := authored(t, head+fmt.Sprintf(`
components:
- name: a
  images: [%[1]splain:1.0.0, %[1]smulti:2.0.0]
- name: b
  images: ['src.test/team/plain:1.0.0', %[1]smulti:2.0.0@%[2]s]
`, at, multiDigest), nil)
	cache := t.TempDir()
	set := CreateOptions{Dir: dir, CacheDir: cache, RegistryOverrides: []create.Override{{Source: "src.test", Override: r.Address()}, {Source: "src", Override: "wrong.test"}}}
	b, _ := made(t, set)
	got, index := imagesIn(t, b)
	want := map[string]string{
		at + "plain:1.0.0": plainDigest, at + "multi:2.0.0": multiImage, "src.test/team/plain:1.0.0": plainDigest,
		at + "multi:2.0.0@" + multiDigest: multiDigest, // the index is kept where it is pinned
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the images differ:\n%s", diff)
	}
	for _, d := range index.Manifests {
		if name := d.Annotations[ocispec.AnnotationRefName]; name == at+"multi:2.0.0" && (d.Platform == nil || d.Platform.Architecture != "amd64") {
			t.Errorf("an image that was chosen of an index does not say its platform: %+v", d)
		}
	}
	pkg := b.Definition()
	if pkg.Build.RegistryOverrides["src.test"] != r.Address() || len(pkg.Build.VersionRequirements) != 1 || pkg.Build.VersionRequirements[0].Version != "v0.77.0" {
		t.Errorf("the build is %+v", pkg.Build)
	}
	blobs := 0
	for _, f := range b.Files() {
		if strings.HasPrefix(f.Path, "images/blobs/") {
			blobs++
		}
	}
	if blobs != 7 { // two layers, two configurations, two manifests and an index: each once
		t.Errorf("the package has %d blobs", blobs)
	}

	// What the package has can be pushed by whoever deploys it.
	done, err := Mirror(t.Context(), MirrorOptions{Source: mustCreate(t, set), Images: true, Registry: MirrorRegistry{Address: r.Address() + "/again"}})
	if err != nil || len(done.Images) != 4 {
		t.Errorf("%d images were pushed, %v", len(done.Images), err)
	}

	// A second package needs the manifests alone; a spoilt blob in the cache is fetched again.
	layer := filepath.Join(cache, "blobs", "sha256")
	var spoilt string
	entries, err := os.ReadDir(layer)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Size() == 9<<20 {
			spoilt = filepath.Join(layer, e.Name())
		}
	}
	if err := os.WriteFile(spoilt, []byte("spoilt"), 0o600); err != nil {
		t.Fatal(err)
	}
	again, _ := made(t, set)
	if again, _ := imagesIn(t, again); !cmp.Equal(want, again) {
		t.Errorf("the second time the images are %v", again)
	}
}

func mustCreate(t *testing.T, o CreateOptions) string {
	t.Helper()
	o.Output, o.Architecture = t.TempDir(), "amd64"
	done, err := Create(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return done.Files[0]
}

func TestCreateNamesAnImageThatIsNotThere(t *testing.T) {
	multi := packagetest.Image{Reference: "src.test/multi:1", Layers: []packagetest.Layer{{Seed: 1, Size: 10}}, Index: true}
	r := registryWith(t, multi)
	for name, test := range map[string]struct {
		image, architecture string
		want                []string
		platform            bool
	}{
		"no such tag":        {image: r.Address() + "/multi:2", want: []string{":6:5: components[0].images[0]", "404"}},
		"no such repository": {image: r.Address() + "/other:2", want: []string{":6:5: components[0].images[0]", "404"}},
		"not for this":       {image: r.Address() + "/multi:1", architecture: "arm64", want: []string{":6:5: components[0].images[0]", "linux/arm64", "linux/amd64"}, platform: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := authored(t, head+"components:\n- name: a\n  images:\n  - "+test.image+"\n", nil)
			_, err := Create(t.Context(), CreateOptions{Dir: dir, Output: t.TempDir(), Architecture: test.architecture})
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error lacks %q: %v", want, err)
				}
			}
			var platform *source.PlatformError
			if errors.As(err, &platform) != test.platform {
				t.Errorf("the error is %#v", err)
			}
		})
	}
}

func TestCreateReadsImageArchives(t *testing.T) {
	entries, err := packagetest.ImageEntries(
		packagetest.Image{Reference: "example.test/one:1", Layers: []packagetest.Layer{{Seed: 1, Size: 100}}},
		packagetest.Image{Reference: "example.test/two:2", Layers: []packagetest.Layer{{Seed: 1, Size: 100}, {Seed: 2, Size: 20}}, Index: true},
	)
	if err != nil {
		t.Fatal(err)
	}
	// An OCI layout as a tar, as docker save and podman save write it.
	var layout bytes.Buffer
	w := tar.NewWriter(&layout)
	for _, e := range entries {
		body := e.Body
		if e.Open != nil {
			if body, err = io.ReadAll(e.Open()); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.WriteHeader(&tar.Header{Name: strings.TrimPrefix(e.Name, "images/"), Mode: 0o644, Size: int64(len(body))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	dir := authored(t, head+"components:\n- name: a\n  imageArchives:\n  - path: saved.tar\n    images:\n    - example.test/one:1\n    - example.test/two:2\n",
		map[string]string{"saved.tar": layout.String()})
	b, _ := made(t, CreateOptions{Dir: dir})
	got, _ := imagesIn(t, b)
	if len(got) != 2 || got["example.test/one:1"] == "" {
		t.Errorf("the images are %v", got)
	}
	if requirements := b.Definition().Build.VersionRequirements; len(requirements) != 1 || requirements[0].Version != "v0.68.0" {
		t.Errorf("the package requires %+v", requirements)
	}
	put(t, filepath.Join(dir, "zarf.yaml"), strings.ReplaceAll(readFile(t, filepath.Join(dir, "zarf.yaml")), "two:2", "three:3"))
	_, err = Create(t.Context(), CreateOptions{Dir: dir, Output: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), ":9:7: components[0].imageArchives[0].images[1]") || !strings.Contains(err.Error(), "it has") {
		t.Errorf("an image that the archive does not have: %v", err)
	}
}
