package inventory_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host/image"
	"github.com/zarf-host/zarf-host/host/inventory"
	"github.com/zarf-host/zarf-host/host/spec"
)

const (
	sumA = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	sumB = "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	sumC = "sha256:cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
)

// sample is what deploying shop 1.0.0 with image a.test/web:1 leaves in a registry below a path.
func sample(t *testing.T) inventory.Inventory {
	t.Helper()
	web, err := image.Parse("a.test/web:1")
	if err != nil {
		t.Fatal(err)
	}
	targets := image.Transform("reg.test:5000/below", web)
	tag := func(reference string) string { return reference[strings.LastIndexByte(reference, ':')+1:] }
	return inventory.Inventory{
		Registry: "reg.test:5000/below",
		Packages: []inventory.Package{{
			Name: "shop", Version: "1.0.0", Architecture: "amd64", Digest: sumC,
			Components: []spec.FullComponent{{Name: "web", Required: true, Images: []string{"a.test/web:1"}}},
		}},
		Repositories: []inventory.Repository{
			{Path: "below/other", Tags: map[string]string{"7": sumB}, Images: []inventory.Image{
				{Digest: sumB, Blobs: []inventory.Blob{{Digest: sumC, Size: 3}}},
			}},
			{Path: "below/web", Tags: map[string]string{"1": sumA, tag(targets.Pods): sumA}, Images: []inventory.Image{
				{Digest: sumA, Blobs: []inventory.Blob{{Digest: sumB, Size: 5}}},
			}},
		},
	}
}

func TestEncodeParse(t *testing.T) {
	want := sample(t)
	data, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if !inventory.Is(data) || inventory.Is([]byte("\x28\xb5\x2f\xfd")) {
		t.Error("it is not recognised")
	}
	got, err := inventory.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	want.APIVersion, want.Kind = inventory.APIVersion, inventory.Kind
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestParseRefuses(t *testing.T) {
	data, err := sample(t).Encode()
	if err != nil {
		t.Fatal(err)
	}
	good := string(data)
	for name, tt := range map[string]struct{ data, want string }{
		"no JSON":        {"x", "reading the inventory"},
		"another kind":   {strings.Replace(good, `"Inventory"`, `"Plan"`, 1), `it is a "Plan"`},
		"another format": {strings.Replace(good, "v1alpha1", "v2", 1), "zarf-host.dev/v2"},
		"unknown field":  {strings.Replace(good, `"registry"`, `"since": 1, "registry"`, 1), `unknown field "since"`},
		"two documents":  {good + good, "invalid character"},
		"bad tag":        {strings.Replace(good, `"1": "`+sumA, `"1": "../`+sumA, 1), "digest"},
		"bad image":      {strings.Replace(good, `"digest": "`+sumA, `"digest": "x`+sumA, 1), "image"},
		"bad blob":       {strings.Replace(good, `"size": 5`, `"size": -5`, 1), "has -5 bytes"},
	} {
		if _, err := inventory.Parse([]byte(tt.data)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v; want %q", name, err, tt.want)
		}
	}
}

// What the registry has under the name that a deployment would give an image is in the base, whoever
// brought it; what an image consists of is known by the image's own name first.
func TestBase(t *testing.T) {
	parse := func(text string) image.Reference {
		ref, err := image.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return ref
	}
	b, err := sample(t).Base("inventory.json", "shop", []image.Reference{
		parse("a.test/web:2"), parse("x.test/other@" + sumB), parse("x.test/other@" + sumC),
	})
	if err != nil {
		t.Fatal(err)
	}
	if b.Version != "1.0.0" || b.Digest != sumC || b.Architecture != "amd64" || len(b.Components) != 1 {
		t.Errorf("base is %+v", b)
	}
	if want := []string{"x.test/other@" + sumB, "a.test/web:1"}; !slices.Equal(b.Present, want) {
		t.Errorf("present are %v, want %v", b.Present, want)
	}
	if b.Digests["a.test/web:1"] != sumA || b.Digests["a.test/web:2"] != "" {
		t.Errorf("digests are %v", b.Digests)
	}
	want := map[string]spec.OmittedBlob{
		sumB: {Digest: sumB, Size: 5, In: []string{"a.test/web:1"}},
		sumC: {Digest: sumC, Size: 3, In: []string{"x.test/other@" + sumB}},
	}
	if !reflect.DeepEqual(b.Blobs, want) {
		t.Errorf("blobs are %+v", b.Blobs)
	}
}

// A blob that no definition leads to is where the registry says.
func TestBaseOfTheRest(t *testing.T) {
	b, err := sample(t).Base("inventory.json", "shop", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.Blobs[sumC].In; !slices.Equal(got, []string{"reg.test:5000/below/other@" + sumB}) {
		t.Errorf("it is in %v", got)
	}
}

func TestBaseRefuses(t *testing.T) {
	i := sample(t)
	var none *inventory.NoPackageError
	if _, err := i.Base("i", "till", nil); !errors.As(err, &none) || !strings.Contains(err.Error(), "only shop") || none.Hint() == "" {
		t.Errorf("got %v", err)
	}
	again := i.Packages[0]
	again.Namespace = "team-a"
	i.Packages = append(i.Packages, again)
	if _, err := i.Base("i", "shop", nil); err != nil {
		t.Errorf("one version in two namespaces: %v", err)
	}
	i.Packages[1].Version = "2.0.0"
	var versions *inventory.VersionsError
	if _, err := i.Base("i", "shop", nil); !errors.As(err, &versions) || versions.Hint() == "" {
		t.Errorf("got %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"zarf-host.dev/v1alpha1","kind":"Inventory","registry":"r.test","packages":[{"name":"a","components":[{"name":"c","images":["x:1"]}]}],"repositories":[{"path":"x","tags":{"1":"` + sumA + `"},"images":[{"digest":"` + sumA + `","blobs":[{"digest":"` + sumB + `","size":1}]}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		i, err := inventory.Parse(data)
		if err != nil {
			return
		}
		if _, err := i.Encode(); err != nil {
			t.Fatal(err)
		}
		for _, p := range i.Packages {
			_, _ = i.Base("i", p.Name, nil) // must not panic
		}
	})
}
