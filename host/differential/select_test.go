package differential_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host/definition"
	"github.com/zarf-host/zarf-host/host/differential"
	"github.com/zarf-host/zarf-host/host/image"
	"github.com/zarf-host/zarf-host/host/spec"
)

const (
	sumA   = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	sumB   = "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	commit = "0123456789abcdef0123456789abcdef01234567"
)

// packageOf is a version of a package with one component of images and repositories.
func packageOf(version string, images, repos []string) spec.Package {
	return spec.Package{
		Kind: spec.KindPackage, Metadata: spec.Metadata{Name: "shop", Version: version},
		Build:      spec.Build{Architecture: "amd64"},
		Components: []spec.Component{{Name: "web", Images: images, Repos: repos}},
	}
}

func TestOmitReferences(t *testing.T) {
	tests := []struct {
		name     string
		ref, old string // in the new package and in the base
		now, was string // what they mean
		kept     bool
	}{
		{"same tag, same digest", "reg.test/a:1", "reg.test/a:1", sumA, sumA, false},
		{"same tag, moved", "reg.test/a:1", "reg.test/a:1", sumB, sumA, true},
		{"same tag, base recorded nothing", "reg.test/a:1", "reg.test/a:1", sumA, "", true},
		{"same tag, nobody knows now", "reg.test/a:1", "reg.test/a:1", "", "", true},
		{"other tag, same digest", "reg.test/a:2", "reg.test/a:1", sumA, sumA, true},
		{"normalised", "nginx:1", "docker.io/library/nginx:1", sumA, sumA, false},
		{"normalised, the other way", "index.docker.io/library/nginx:1", "nginx:1", sumA, sumA, false},
		{"latest", "reg.test/a:latest", "reg.test/a:latest", sumA, sumA, true},
		{"stable", "reg.test/a:stable", "reg.test/a:stable", sumA, sumA, true},
		{"nightly", "reg.test/a:nightly", "reg.test/a:nightly", sumA, sumA, true},
		{"no tag", "reg.test/a", "reg.test/a", sumA, sumA, true},
		{"digest", "reg.test/a@" + sumA, "reg.test/a@" + sumA, "", "", false},
		{"digest beside a moving tag", "reg.test/a:latest@" + sumA, "reg.test/a:latest@" + sumA, "", "", false},
		{"other digest", "reg.test/a@" + sumB, "reg.test/a@" + sumA, "", "", true},
		{"other host", "reg.test/a:1", "b.test/a:1", sumA, sumA, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			full := func(text string) string {
				ref, err := image.Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				return ref.String()
			}
			n := differential.New{Definition: packageOf("2", []string{tt.ref}, nil), Digests: map[string]string{full(tt.ref): tt.now}}
			base := differential.OfDefinition("old", "", packageOf("1", []string{tt.old}, nil), map[string]string{full(tt.old): tt.was})
			def, omitted, err := differential.Omit(n, base)
			if err != nil {
				t.Fatal(err)
			}
			if kept := len(def.Components[0].Images) == 1; kept != tt.kept || kept == (len(omitted.Images) == 1) {
				t.Errorf("kept %v, omitted %v", def.Components[0].Images, omitted.Images)
			}
		})
	}
}

func TestOmitRepos(t *testing.T) {
	tests := []struct {
		name     string
		ref, old string
		now, was string
		kept     bool
	}{
		{"a tag of the same commit", "https://git.test/r.git@v1", "https://git.test/r.git@v1", commit, commit, false},
		{"a tag that moved", "https://git.test/r.git@v1", "https://git.test/r.git@v1", commit, "other", true},
		{"a tag of which the base recorded nothing", "https://git.test/r.git@v1", "https://git.test/r.git@v1", commit, "", true},
		{"a commit", "https://git.test/r.git@" + commit, "https://git.test/r.git@" + commit, "", "", false},
		{"another form", "https://git.test/r@refs/tags/v1", "https://git.test/r.git@v1", commit, commit, false},
		{"no ref", "https://git.test/r.git", "https://git.test/r.git", commit, commit, true},
		{"a user is no ref", "https://me@git.test/r.git", "https://me@git.test/r.git", commit, commit, true},
		{"a branch", "https://git.test/r.git@refs/heads/main", "https://git.test/r.git@refs/heads/main", commit, commit, true},
		{"another tag", "https://git.test/r.git@v2", "https://git.test/r.git@v1", commit, commit, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			name := func(text string) string { return differential.ParseRepo(text).String() }
			old := packageOf("1", nil, []string{tt.old})
			old.Extension = &spec.Extension{Digests: map[string]string{name(tt.old): tt.was}}
			n := differential.New{Definition: packageOf("2", nil, []string{tt.ref}), Digests: map[string]string{name(tt.ref): tt.now}}
			def, _, err := differential.Omit(n, differential.OfDefinition("old", "", old, nil))
			if err != nil {
				t.Fatal(err)
			}
			if kept := len(def.Components[0].Repos) == 1; kept != tt.kept {
				t.Errorf("kept %v, want %v", kept, tt.kept)
			}
		})
	}
}

// The images of archives are not left out: who deploys the package reads the archive. That the base has
// them in an archive is as good as in its list.
func TestOmitArchives(t *testing.T) {
	base := packageOf("1", nil, nil)
	base.Components[0].ImageArchives = []spec.ImageArchive{{Path: "a.tar", Images: []string{"reg.test/a:1", "reg.test/b:1"}}}
	next := packageOf("2", []string{"reg.test/a:1"}, nil)
	next.Components[0].ImageArchives = []spec.ImageArchive{{Path: "b.tar", Images: []string{"reg.test/b:1"}}}
	digests := map[string]string{"reg.test/a:1": sumA, "reg.test/b:1": sumB}
	def, _, err := differential.Omit(differential.New{Definition: next, Digests: digests}, differential.OfDefinition("old", "", base, digests))
	if err != nil {
		t.Fatal(err)
	}
	if c := def.Components[0]; len(c.Images) != 0 || len(c.ImageArchives) != 1 {
		t.Errorf("got images %v, archives %v", c.Images, c.ImageArchives)
	}
}

// E9: what is deployed is the full list, and a difference over a difference, over the archive that
// carries a part of the images alone, is one to the full list.
func TestE9_Whole(t *testing.T) {
	digests := map[string]string{"reg.test/a:1": sumA, "reg.test/b:1": sumB, "reg.test/c:1": sumA}
	full := packageOf("2", []string{"reg.test/a:1", "reg.test/b:1"}, []string{"https://git.test/r@" + commit})
	base := differential.OfDefinition("old", "sha256:old", packageOf("1", []string{"reg.test/a:1"}, full.Components[0].Repos), digests)
	def, _, err := differential.Omit(differential.New{Definition: full, Digests: digests}, base)
	if err != nil {
		t.Fatal(err)
	}
	if got := def.Components[0]; !slices.Equal(got.Images, []string{"reg.test/b:1"}) || len(got.Repos) != 0 {
		t.Fatalf("the package has %v and %v", got.Images, got.Repos)
	}
	if got := differential.Whole(def); !reflect.DeepEqual(got.Components, full.Components) {
		t.Errorf("whole is %+v, want %+v", got.Components, full.Components)
	}
	ref, _ := image.Parse("reg.test/a:1")
	if got := differential.LeftOut(def, "web"); !maps.Equal(got, map[image.Reference]string{ref: sumA}) {
		t.Errorf("left out is %v", got)
	}
	third := packageOf("3", []string{"reg.test/a:1", "reg.test/b:1", "reg.test/c:1"}, nil)
	carried := map[string]string{"reg.test/b:1": sumB}
	def, omitted, err := differential.Omit(differential.New{Definition: third, Digests: digests}, differential.OfDefinition("second", "", def, carried))
	if err != nil {
		t.Fatal(err)
	}
	if got := def.Components[0].Images; !slices.Equal(got, []string{"reg.test/c:1"}) || len(omitted.Images) != 2 {
		t.Errorf("the third version has %v, omitted are %v", got, omitted.Images)
	}
}

// A difference that Zarf made does not say what it is in full: nothing is taken for granted.
func TestWholeOfZarfs(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "samples", "demo-0.2.0-differential.zarf.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := definition.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	before, _ := json.Marshal(pkg)
	after, _ := json.Marshal(differential.Whole(*pkg))
	if string(before) != string(after) {
		t.Errorf("whole is %s", after)
	}
	for _, c := range pkg.Components {
		if got := differential.LeftOut(*pkg, c.Name); got != nil {
			t.Errorf("left out of %s is %v", c.Name, got)
		}
	}
	if len(differential.Absent(*pkg)) != 0 || len(differential.Missing(*pkg, nil)) != 0 {
		t.Errorf("absent are %v", differential.Absent(*pkg))
	}
}

func TestMissing(t *testing.T) {
	def := spec.Package{Build: spec.Build{DifferentialMissing: []string{"a", "b", "c"}}}
	if got := differential.Missing(def, []string{"b", "x"}); !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("got %v", got)
	}
}

func FuzzParseRepo(f *testing.F) {
	for _, s := range []string{"https://a.test/r.git@v1", "https://u:p@a.test/r", "file:///r@refs/heads/x", "git@a.test:r.git", "@", "a@refs/tags/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := differential.ParseRepo(text)
		if len(r.String()) > len(text) {
			t.Fatalf("%q becomes %q", text, r)
		}
		if strings.HasPrefix(r.Ref, "refs/") && !r.IsMoving() {
			t.Fatalf("%q has ref %q, which does not move", text, r.Ref)
		}
	})
}
