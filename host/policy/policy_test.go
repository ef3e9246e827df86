package policy_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/plugin"
	"github.com/zarf-host/zarf-host/host/policy"
)

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func parse(t *testing.T, rest string) (policy.Policy, error) {
	t.Helper()
	return policy.Parse([]byte(`{"apiVersion":"zarf-host.dev/v1alpha1","kind":"Policy","metadata":{"name":"base"}` + rest + `}`))
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ rest, want string }{
		{`,"plugin":[]`, "unknown field"},
		{`,"plugins":[{"name":"a","source":"oci://r.example.com/a:1"}]`, "has no digest"},
		{`,"plugins":[{"name":"a","source":"package:a"}]`, "has no digest"},
		{`,"plugins":[{"name":"a","source":"package:b","digest":"` + digest + `"}]`, "is another plugin"},
		{`,"plugins":[{"name":"a","source":"a.wasm"},{"name":"a","source":"b.wasm"}]`, "is there twice"},
		{`,"plugins":[{"name":"a","source":"a.wasm","hooks":["pre-lunch"]}]`, "pre-lunch"},
		{`,"plugins":[{"name":"a","source":"a.wasm","grants":["k8s:delete"]}]`, "k8s:delete"},
		{`,"plugins":[{"name":"a","source":"https://a"}]`, "https://"},
	} {
		if _, err := parse(t, c.rest); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.rest, err, c.want)
		}
	}
	_, err := parse(t, `,"plugins":[{"name":"a","source":"oci://r.example.com/a:1"}]`)
	var unpinned *policy.UnpinnedError
	if !errors.As(err, &unpinned) || unpinned.Hint() == "" {
		t.Errorf("got %v, want an *UnpinnedError with a hint", err)
	}
	for _, source := range []string{"oci://r.example.com/a@" + digest, "a.wasm"} {
		if _, err := parse(t, `,"plugins":[{"name":"a","source":"`+source+`"}]`); err != nil {
			t.Errorf("%s: %v", source, err)
		}
	}
}

// Several policies together: each counts, none makes another milder.
func TestJudge(t *testing.T) {
	one, err := parse(t, `,"sources":["oci://r.example.com/team/*"],"signed":true`)
	if err != nil {
		t.Fatal(err)
	}
	two, err := parse(t, `,"collisions":{"neverAccept":["object","downgrade"]},"sources":["**"]`)
	if err != nil {
		t.Fatal(err)
	}
	two.Metadata.Name = "two"
	set := policy.Set{{Policy: one}, {Policy: two}}
	for _, c := range []struct {
		name string
		o    policy.Operation
		want []string
	}{
		{"kept to", policy.Operation{Source: "oci://r.example.com/team/shop", Signed: true}, nil},
		{"another place", policy.Operation{Source: "oci://r.example.com/other/shop", Signed: true}, []string{"policy base"}},
		{"one deeper", policy.Operation{Source: "oci://r.example.com/team/a/shop", Signed: true}, []string{"policy base"}},
		{"dots", policy.Operation{Source: "oci://r.example.com/team/../shop", Signed: true}, []string{"policy base"}},
		{"another host", policy.Operation{Source: "oci://rxexample.com/team/shop", Signed: true}, []string{"policy base"}},
		{"unsigned", policy.Operation{Source: "oci://r.example.com/team/shop"}, []string{"policy base"}},
		{"accepts", policy.Operation{Source: "oci://r.example.com/team/shop", Signed: true, Accept: []plan.CollisionKind{plan.CollidesVersion, plan.CollidesFlavor}}, []string{"policy two"}},
		{"takes over", policy.Operation{Source: "oci://r.example.com/team/shop", Signed: true, TakeOwnership: true}, []string{"policy two"}},
		{"everything", policy.Operation{Source: "shop.tar", TakeOwnership: true, Accept: []plan.CollisionKind{plan.CollidesObject}}, []string{"policy base", "policy base", "policy two", "policy two"}},
	} {
		var got []string
		for _, f := range set.Judge(c.o) {
			if f.Severity != plan.Deny || f.Message == "" || f.Remedy == "" {
				t.Errorf("%s: the finding %+v is no denial with a way out", c.name, f)
			}
			got = append(got, f.Rule)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestPluginsInOrder(t *testing.T) {
	one, err := parse(t, `,"plugins":[{"name":"b","source":"package:b","digest":"`+digest+`"},{"name":"a","source":"a.wasm"}]`)
	if err != nil {
		t.Fatal(err)
	}
	two := one
	two.Metadata.Name = "two"
	set := policy.Set{{Policy: one}, {Policy: two}}
	var got []string
	for _, b := range set.Plugins() {
		got = append(got, b.Label())
	}
	if want := []string{"base/b", "base/a", "two/b", "two/a"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if !set.Allows(plugin.Facts{Name: "b", Digest: digest}) || set.Allows(plugin.Facts{Name: "a", Digest: digest}) || set.Allows(plugin.Facts{Name: "b"}) {
		t.Error("what may run is what a policy names with its digest")
	}
	if err := set.Plugins()[0].Admit(plugin.Facts{Name: "b", Digest: "sha256:other"}); err == nil {
		t.Error("another module is admitted")
	}
	if err := set.Plugins()[1].Admit(plugin.Facts{Name: "c"}); err == nil {
		t.Error("another plugin is admitted")
	}
}
