package differential_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host/differential"
	"github.com/zarf-host/zarf-host/host/spec"
)

// imports reads "a:1 b:2" as components that import themselves from a registry at versions; a
// trailing + makes one override something, a ? makes it optional, a = one that is not imported.
func imports(text string) (differential.New, differential.Base) {
	n := differential.New{Imports: map[string]differential.Import{}}
	n.Definition.Metadata = spec.Metadata{Name: "shop", Version: "2.0.0", Architecture: "amd64"}
	b := differential.Base{
		What: "old.tar.zst", Name: "shop", Version: "1.0.0", Architecture: "amd64", Digest: "sha256:base",
		Imports: map[string]spec.ImportOrigin{},
	}
	for _, field := range strings.Fields(text) {
		name, rest, _ := strings.Cut(field, ":")
		version := strings.TrimRight(rest, "+?=")
		required := !strings.Contains(rest, "?")
		// The manifest's digest follows the version up to a slash: "1/x" is tag 1 with other content.
		tag, _, _ := strings.Cut(version, "/")
		origin := spec.ImportOrigin{URL: "oci://reg.test/" + name + ":" + tag, Digest: "sha256:" + name + version}
		n.Definition.Components = append(n.Definition.Components, spec.Component{
			Name: name, Required: &required, Files: []spec.File{{Source: "s", Target: "t"}},
		})
		b.Components = append(b.Components, spec.FullComponent{Name: name, Required: required})
		if !strings.Contains(rest, "=") {
			n.Imports[name] = differential.Import{ImportOrigin: origin, Overrides: strings.Contains(rest, "+")}
			b.Imports[name] = origin
		}
	}
	return n, b
}

// The proposal's examples: NEW against OLD gives RESULT.
func TestOmitComponents(t *testing.T) {
	tests := []struct {
		name, new, old string
		want           string // the components of the package
		missing        string
	}{
		{"one changed, in the old order", "a:1 b:2", "a:1 b:1", "b", "a"},
		{"one changed, the other order", "b:2 a:1", "b:1 a:1", "b", "a"},
		{"the first one changed", "a:2 b:1", "a:1 b:1", "a", "b"},
		{"moved behind one that changed", "a:2 b:1", "b:1 a:1", "a b", ""},
		{"moved before one that changed", "b:1 a:2", "a:1 b:1", "a", "b"},
		{"swapped, none changed", "b:1 a:1", "a:1 b:1", "a", "b"},
		{"one more at the end", "a:1 b:1 c:1", "a:1 b:1", "c", "a b"},
		{"one more at the beginning", "c:1 a:1 b:1", "a:1 b:1", "c", "a b"},
		{"one less", "a:1 c:2", "a:1 b:1 c:1", "c", "a"},
		{"the old one in between is skipped", "a:2 c:1", "a:1 b:1 c:1", "a", "c"},
		{"all new", "c:1 d:1", "a:1 b:1", "c d", ""},
		{"an optional one is not missing", "a:1? b:2", "a:1? b:1", "b", ""},
		{"E5 same tag, other content", "a:1/x b:1", "a:1 b:1", "a", "b"},
		{"one that overrides something", "a:1+ b:1", "a:1 b:1", "a", "b"},
		{"one that is not imported any more", "a:1= b:1", "a:1 b:1", "a", "b"},
		{"one that was not imported before", "a:1 b:1", "a:1= b:1", "a", "b"},
		{"one that is not imported moves the cursor too", "x:1= a:1 b:1", "a:1 x:1= b:1", "x a", "b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n, _ := imports(tt.new)
			_, base := imports(tt.old)
			def, omitted, err := differential.Omit(n, base)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(names(def), " "); got != tt.want {
				t.Errorf("NEW [%s] OLD [%s]: RESULT [%s], want [%s]", tt.new, tt.old, got, tt.want)
			}
			if got := strings.Join(def.Build.DifferentialMissing, " "); got != tt.missing {
				t.Errorf("differentialMissing is [%s], want [%s]", got, tt.missing)
			}
			if len(omitted.Components)+len(def.Components) != len(n.Definition.Components) {
				t.Errorf("omitted %v and kept %v of %v", omitted.Components, names(def), names(n.Definition))
			}
			if got := differential.Absent(def); !slices.Equal(got, omitted.Components) {
				t.Errorf("absent by the definition are %v, omitted were %v", got, omitted.Components)
			}
			if b := def.Build; !b.Differential || b.DifferentialPackageVersion != "1.0.0" {
				t.Errorf("build is %+v", b)
			}
		})
	}
}

// E4: of two imported components the one that changed is what the package has. A third version over
// the difference knows both, also the one that the difference does not have.
func TestE4_OmitOverADifference(t *testing.T) {
	n, _ := imports("a:1 b:2")
	_, base := imports("a:1 b:1")
	second, _, err := differential.Omit(n, base)
	if err != nil {
		t.Fatal(err)
	}
	third, _ := imports("a:1 b:2 c:1")
	third.Definition.Metadata.Version = "3.0.0"
	def, _, err := differential.Omit(third, differential.OfDefinition("second.tar.zst", "sha256:second", second, nil))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(names(def), " "); got != "c" {
		t.Errorf("the third version has [%s], want [c]", got)
	}
	if got := def.Build.DifferentialMissing; !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("differentialMissing is %v", got)
	}
	if def.Extension.Base.Digest != "sha256:second" || def.Build.DifferentialPackageVersion != "2.0.0" {
		t.Errorf("the base is %+v, version %s", def.Extension.Base, def.Build.DifferentialPackageVersion)
	}
}

func TestOmitRefuses(t *testing.T) {
	tests := []struct {
		name   string
		change func(*differential.New, *differential.Base)
		want   string
	}{
		{"no new version", func(n *differential.New, _ *differential.Base) { n.Definition.Metadata.Version = "" }, "the new package has no version"},
		{"no old version", func(_ *differential.New, b *differential.Base) { b.Version = "" }, "the base, old.tar.zst, has no version"},
		{"the same version", func(n *differential.New, _ *differential.Base) { n.Definition.Metadata.Version = "1.0.0" }, "version 1.0.0 is that of the base too"},
		{"another name", func(_ *differential.New, b *differential.Base) { b.Name = "till" }, `the name of the new package is "shop", that of the base, old.tar.zst, is "till"`},
		{"another architecture", func(n *differential.New, _ *differential.Base) { n.Definition.Build.Architecture = "arm64" }, `the architecture of the new package is "arm64"`},
		{"another flavor", func(n *differential.New, _ *differential.Base) { n.Definition.Build.Flavor = "upstream" }, `the flavor of the new package is "upstream", that of the base, old.tar.zst, is not set`},
		{"another apiVersion", func(_ *differential.New, b *differential.Base) { b.APIVersion = spec.APIVersionV1Beta1 }, "the apiVersion of the new package"},
		{"nothing left", func(n *differential.New, _ *differential.Base) {
			n.Definition.Components = n.Definition.Components[:1]
		}, "has every component of the new package"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n, _ := imports("a:1 b:2")
			_, base := imports("a:1 b:1")
			tt.change(&n, &base)
			_, _, err := differential.Omit(n, base)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v; want %q", err, tt.want)
			}
			var hinted interface{ Hint() string }
			if !errors.As(err, &hinted) || hinted.Hint() == "" {
				t.Errorf("%T says nothing of the way out", err)
			}
		})
	}
}

func TestOmitIsDeterministic(t *testing.T) {
	n, _ := imports("a:1 b:2 c:1")
	_, base := imports("a:1 b:1 c:1")
	first, _, err := differential.Omit(n, base)
	if err != nil {
		t.Fatal(err)
	}
	again, _, _ := differential.Omit(n, base)
	if !reflect.DeepEqual(first, again) {
		t.Errorf("got %+v\nthen %+v", first, again)
	}
}

func names(def spec.Package) []string {
	var out []string
	for _, c := range def.Components {
		out = append(out, c.Name)
	}
	return out
}
