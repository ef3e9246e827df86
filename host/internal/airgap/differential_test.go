package airgap_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/internal/packagetest"
	"github.com/zarf-host/zarf-host/host/internal/testregistry"
	"github.com/zarf-host/zarf-host/host/spec"
)

// maker is the side of the gap where packages are made: a registry with images.
type maker struct {
	t        testing.TB
	registry *testregistry.Registry
}

func newMaker(t testing.TB) *maker {
	return &maker{t: t, registry: testregistry.Start(t, testregistry.Options{})}
}

// ref is a reference to an image of the maker's registry: "x:1".
func (m *maker) ref(name string) string { return m.registry.Address() + "/" + name }

// push makes the registry have images: what a tag meant before is forgotten.
func (m *maker) push(images map[string][]packagetest.Layer) {
	m.t.Helper()
	var has []packagetest.Image
	def := "kind: ZarfPackageConfig\nmetadata: {name: images, version: 1.0.0}\ncomponents:\n  - name: all\n    images:\n"
	for name, layers := range images {
		has = append(has, packagetest.Image{Reference: "a.test/" + name, Layers: layers})
		def += fmt.Sprintf("      - %q\n", "a.test/"+name)
	}
	_, err := host.Mirror(m.t.Context(), host.MirrorOptions{
		Source: pack(m.t, def, nil, has...), NoImageChecksum: true, Registry: host.MirrorRegistry{Address: m.registry.Address()},
	})
	if err != nil {
		m.t.Fatal(err)
	}
}

// create makes a version of package shop: each component is a name, perhaps with a "?" where it is
// optional, and images.
func (m *maker) create(version string, components []string, change ...func(*host.CreateOptions)) host.Created {
	m.t.Helper()
	made, err := m.try(version, components, change...)
	if err != nil {
		m.t.Fatal(err)
	}
	return made
}

func (m *maker) try(version string, components []string, change ...func(*host.CreateOptions)) (host.Created, error) {
	m.t.Helper()
	dir := m.t.TempDir()
	def := fmt.Sprintf("kind: ZarfPackageConfig\nmetadata: {name: shop, version: %s}\ncomponents:\n", version)
	for _, text := range components {
		fields := strings.Fields(text)
		name, optional := strings.CutSuffix(fields[0], "?")
		def += fmt.Sprintf("  - name: %s\n    required: %t\n    manifests: [{name: m, namespace: shop, files: [%s.yaml]}]\n", name, !optional, name)
		for i, img := range fields[1:] {
			if i == 0 {
				def += "    images:\n"
			}
			def += fmt.Sprintf("      - %q\n", m.ref(img))
		}
		object := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {version: %q}\n", name, version)
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(object), 0o600); err != nil {
			m.t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "zarf.yaml"), []byte(def), 0o600); err != nil {
		m.t.Fatal(err)
	}
	o := host.CreateOptions{Dir: dir, Output: m.t.TempDir(), Architecture: "amd64"}
	for _, c := range change {
		c(&o)
	}
	return host.Create(m.t.Context(), o)
}

func over(base host.Created) func(*host.CreateOptions) {
	return func(o *host.CreateOptions) { o.Differential = base.Files[0] }
}

func byBlobs(o *host.CreateOptions) { o.Level = host.LevelBlob }

// carries are the images of a package's components: "web:x:2,y:1".
func (m *maker) carries(def spec.Package) string {
	var out []string
	for _, c := range def.Components {
		var names []string
		for _, img := range c.Images {
			names = append(names, strings.TrimPrefix(img, m.registry.Address()+"/"))
		}
		out = append(out, c.Name+"="+strings.Join(names, ","))
	}
	return strings.Join(out, " ")
}

func layer(seed byte, size int64) packagetest.Layer { return packagetest.Layer{Seed: seed, Size: size} }

// TestE9_DifferencesOfALife creates and deploys three versions, each the difference to the one before,
// with prunes of images: after each, every image that a running component declares is in the registry,
// and what none has is not. The base has an optional component that is not deployed, and a tag moves.
func TestE9_DifferencesOfALife(t *testing.T) {
	m, r := newMaker(t), testregistry.Start(t, testregistry.Options{})
	m.push(map[string][]packagetest.Layer{
		"base:1": {layer(1, 5000)}, "x:1": {layer(2, 3000)}, "x:2": {layer(3, 3000)}, "moved:1": {layer(4, 3000)},
		"extra:1": {layer(5, 3000)}, "y:1": {layer(6, 3000)}, "z:latest": {layer(7, 3000)},
	})
	s := newSite(t)
	s.init(r.Address(), "u", "p")
	v1 := m.create("1.0.0", []string{"web base:1 x:1 moved:1 z:latest", "extra? extra:1"})
	s.mustDeploy(v1.Files[0], components("web"))

	before := m.registry.Digest(t, "moved", "1")
	m.push(map[string][]packagetest.Layer{"moved:1": {layer(44, 3000)}})
	after := m.registry.Digest(t, "moved", "1")
	if before == after {
		t.Fatal("the tag did not move")
	}
	v2 := m.create("2.0.0", []string{"web base:1 x:2 moved:1 z:latest", "extra? extra:1"}, over(v1))
	if got, want := m.carries(v2.Definition), "web=x:2,moved:1,z:latest extra="; got != want {
		t.Errorf("the second version carries %s, want %s", got, want)
	}
	if want := "zarf-package-shop-amd64-2.0.0-differential-1.0.0.tar.zst"; filepath.Base(v2.Files[0]) != want {
		t.Errorf("the second version is %s, want %s", v2.Files[0], want)
	}

	// What the optional component needs was never pushed.
	had, record := r.Tags(t), mustJSON(t, s.record("shop"))
	_, err := s.deploy(v2.Files[0], components("web,extra"))
	var failed *host.PreflightError
	if !errors.As(err, &failed) || !strings.Contains(err.Error(), m.ref("extra:1")+`" of component "extra" is neither in the package nor in the registry`) {
		t.Fatalf("got %v", err)
	}
	var lacking *host.LackingError
	if !errors.As(err, &lacking) || !strings.Contains(lacking.Hint(), "version 1.0.0") {
		t.Errorf("%v does not say what to do", err)
	}
	if now := r.Tags(t); !equalTags(had, now) || record != mustJSON(t, s.record("shop")) {
		t.Errorf("something changed: %v", now)
	}

	result := s.mustDeploy(v2.Files[0], components("web"), pruneImages)
	if got, want := named(t, r), "base:1 moved:1 x:2 z:latest"; got != want {
		t.Errorf("after the second version the registry has %s, want %s\n%+v", got, want, result.Plan.Prune)
	}
	if got := r.Digest(t, "moved", "1"); got != after {
		t.Errorf("the moved tag is %s, want %s", got, after)
	}
	if got, want := m.recorded(s), "base:1 moved:1 x:2 z:latest"; got != want {
		t.Errorf("the record names %s, want %s", got, want)
	}

	v3 := m.create("3.0.0", []string{"web base:1 x:2 moved:1 y:1"}, over(v2))
	if got, want := m.carries(v3.Definition), "web=y:1"; got != want {
		t.Errorf("the third version carries %s, want %s", got, want)
	}
	s.mustDeploy(v3.Files[0], pruneImages)
	if got, want := named(t, r), "base:1 moved:1 x:2 y:1"; got != want {
		t.Errorf("after the third version the registry has %s, want %s", got, want)
	}
	if got, want := m.recorded(s), "base:1 moved:1 x:2 y:1"; got != want {
		t.Errorf("the record names %s, want %s", got, want)
	}
	if s.saw("is the difference to") {
		t.Error("a base that is deployed was warned of")
	}
}

// TestForceDifferential goes on without an image that nobody has, and says so.
func TestForceDifferential(t *testing.T) {
	m, r := newMaker(t), testregistry.Start(t, testregistry.Options{})
	m.push(map[string][]packagetest.Layer{"x:1": {layer(2, 3000)}, "y:1": {layer(3, 3000)}})
	s := newSite(t)
	s.init(r.Address(), "u", "p")
	v1 := m.create("1.0.0", []string{"web x:1"})
	v2 := m.create("2.0.0", []string{"web x:1 y:1"}, over(v1))
	if _, err := s.deploy(v2.Files[0]); err == nil {
		t.Fatal("a package without its base was deployed")
	}
	result := s.mustDeploy(v2.Files[0], func(o *host.DeployOptions) { o.ForceDifferential = true })
	for _, want := range []string{"--force-differential goes on without", "no version of it is deployed"} {
		if !strings.Contains(strings.Join(result.Plan.Warnings, "\n"), want) {
			t.Errorf("the plan does not warn that %q: %v", want, result.Plan.Warnings)
		}
	}
	if got := named(t, r); got != "y:1" {
		t.Errorf("the registry has %s", got)
	}
}

// TestDifferentialOfBlobs leaves out the layers that the base has: they are in the registry, in another
// repository, and the package is as large as what is new. Where one is missing, it is named.
func TestDifferentialOfBlobs(t *testing.T) {
	m, r := newMaker(t), testregistry.Start(t, testregistry.Options{})
	shared := layer(1, 400_000)
	m.push(map[string][]packagetest.Layer{
		"base:1": {shared}, "x:1": {shared, layer(2, 3000)}, "x:2": {shared, layer(3, 3000)},
		"y:1": {shared, layer(4, 3000)},
	})
	s := newSite(t)
	s.init(r.Address(), "u", "p")
	v1 := m.create("1.0.0", []string{"web base:1 x:1"})
	v2 := m.create("2.0.0", []string{"web base:1 x:2 y:1"}, over(v1), byBlobs)
	if v2.Bytes > 20_000 {
		t.Errorf("the difference has %d bytes", v2.Bytes)
	}
	if r := v2.Definition.Build.VersionRequirements; !slices.ContainsFunc(r, func(r spec.VersionRequirement) bool { return r.Version == spec.BlobLevelVersion }) {
		t.Errorf("Zarf would deploy it: %+v", r)
	}

	// Without the base nothing can be made of it.
	_, err := s.deploy(v2.Files[0])
	for _, want := range []string{m.ref("base:1"), m.ref("x:2"), m.ref("y:1"), "blob sha256:"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v; want %q", err, want)
		}
	}
	if got := r.Tags(t); len(got) > 0 {
		t.Errorf("the registry has %v", got)
	}

	s.mustDeploy(v1.Files[0])
	s.mustDeploy(v2.Files[0], pruneImages)
	if got, want := named(t, r), "base:1 x:2 y:1"; got != want {
		t.Errorf("the registry has %s, want %s", got, want)
	}
	for _, name := range []string{"x:2", "y:1"} {
		repository, tag, _ := strings.Cut(name, ":")
		if r.Digest(t, repository, tag) != m.registry.Digest(t, repository, tag) {
			t.Errorf("%s is another image", name)
		}
		for _, blob := range v2.Definition.Extension.Blobs {
			if !r.Blob(t, repository, blob.Digest) && blob.Size == shared.Size {
				t.Errorf("%s lacks %s", repository, blob.Digest)
			}
		}
	}
	// Zarf removes what was deployed: the record does not have the requirement that keeps it from deploying.
	if text := mustJSON(t, s.record("shop")); strings.Contains(text, spec.BlobLevelVersion) {
		t.Error("the record requires a version that no Zarf has")
	}

	// The next difference knows what the two before it left, though neither has it.
	m.push(map[string][]packagetest.Layer{"z:1": {shared, layer(5, 3000)}})
	v3 := m.create("3.0.0", []string{"web base:1 x:2 z:1"}, over(v2), byBlobs)
	if v3.Bytes > 15_000 {
		t.Errorf("the difference of the difference has %d bytes", v3.Bytes)
	}
	s.mustDeploy(v3.Files[0], pruneImages)
	if got, want := named(t, r), "base:1 x:2 z:1"; got != want {
		t.Errorf("the registry has %s, want %s", got, want)
	}
}

// TestDifferentialBases creates over what is deployed, over an inventory and over a published package.
func TestDifferentialBases(t *testing.T) {
	m, r := newMaker(t), testregistry.Start(t, testregistry.Options{})
	m.push(map[string][]packagetest.Layer{
		"base:1": {layer(1, 50_000)}, "x:1": {layer(2, 3000)}, "x:2": {layer(1, 50_000), layer(3, 3000)},
	})
	s := newSite(t)
	s.init(r.Address(), "u", "p")
	v1 := m.create("1.0.0", []string{"web base:1 x:1"})
	s.mustDeploy(v1.Files[0])
	taken, err := host.TakeInventory(t.Context(), s.options())
	if err != nil {
		t.Fatal(err)
	}
	data, err := taken.Encode()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "inventory.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), `"p"`) {
		t.Errorf("the inventory has the password:\n%s", data)
	}
	for base, blobs := range map[string]bool{
		"cluster:shop": false, file: true, "oci://" + m.registry.Publish(t, v1.Files[0]): true,
	} {
		set := func(o *host.CreateOptions) {
			o.Common, o.Differential = s.options(), base
			o.Version = "test"
		}
		v2 := m.create("2.0.0", []string{"web base:1 x:2"}, set)
		if got, want := m.carries(v2.Definition), "web=x:2"; got != want {
			t.Errorf("over %s it carries %s, want %s", base, got, want)
		}
		if got := v2.Definition.Build.DifferentialPackageVersion; got != "1.0.0" {
			t.Errorf("over %s the base has version %s", base, got)
		}
		small, err := m.try("2.0.0", []string{"web base:1 x:2"}, set, byBlobs)
		var none *host.NoBlobsError
		switch {
		case !blobs && !errors.As(err, &none):
			t.Errorf("over %s: %v", base, err)
		case blobs && err != nil:
			t.Errorf("over %s: %v", base, err)
		case blobs && small.Bytes > 20_000:
			t.Errorf("over %s it has %d bytes", base, small.Bytes)
		case blobs:
			s.mustDeploy(small.Files[0], func(o *host.DeployOptions) { o.DryRun = true })
		}
	}
}

// recorded are the images that the record of shop names, sorted.
func (m *maker) recorded(s *site) string {
	var out []string
	for _, c := range s.record("shop")["data"].(map[string]any)["components"].([]any) {
		for _, img := range list(c.(map[string]any)["images"]) {
			out = append(out, strings.TrimPrefix(img.(string), m.registry.Address()+"/"))
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func equalTags(a, b map[string]string) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

func mustJSON(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
