package main

import (
	"strings"
	"testing"
	"time"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/plugins/internal/plugintest"
)

func TestJudgePackage(t *testing.T) {
	names := map[string]any{"names": []any{"shop-*", "base"}}
	sources := map[string]any{"sources": []any{"oci://registry.example/**", "/srv/packages/*"}}
	known := map[string]any{"known": map[string]any{"shop-*": []any{"oci://registry.example/shop/*"}, "base": []any{"/srv/**"}}}
	both := map[string]any{"names": []any{"base"}, "sources": []any{"/srv/**"}}
	tests := map[string]struct {
		config       map[string]any
		name, source string
		found        []string
	}{
		"name":                      {names, "shop-web", "a.tar.zst", nil},
		"whole name":                {names, "base", "a.tar.zst", nil},
		"another name":              {names, "web-shop", "a.tar.zst", []string{`no package may be called "web-shop": allowed are shop-*, base`}},
		"source":                    {sources, "x", "oci://registry.example/a/b:1.0", nil},
		"another registry":          {sources, "x", "oci://registry.example.org/a/b:1.0", []string{`comes from "oci://registry.example.org/a/b:1.0", which is none`}},
		"allowed name inside":       {sources, "x", "oci://evil.org/registry.example/a:1", []string{"none of the allowed"}},
		"file":                      {sources, "x", "/srv/packages/x.tar.zst", nil},
		"file below":                {sources, "x", "/srv/packages/old/x.tar.zst", []string{"none of the allowed"}},
		"file by a detour":          {sources, "x", "/srv/packages/../x.tar.zst", []string{"none of the allowed"}},
		"no source":                 {sources, "x", "", []string{`comes from "", which`}},
		"known":                     {known, "shop-web", "oci://registry.example/shop/web:1.0", nil},
		"known, from elsewhere":     {known, "shop-web", "oci://registry.example/other/web:1.0", []string{"is known to come from oci://registry.example/shop/*"}},
		"not known, from elsewhere": {known, "other", "/tmp/x", nil},
		"name and source":           {both, "x", "/tmp/x", []string{"no package may be called", "comes from"}},
		"only verdicts":             {map[string]any{"verdicts": map[string]any{"object": "deny"}}, "x", "/tmp/x", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			res := plugintest.Judge(judge).Ask(t, hook.Request{ID: "r1", Hook: hook.PreDeploy, Time: time.Unix(1, 0), Config: tt.config,
				Package: &hook.Package{Metadata: spec.Metadata{Name: tt.name}, Source: tt.source}})
			if want := len(tt.found) > 0; (res.Verdict == hook.Deny) != want || (res.Verdict == hook.Allow) == want {
				t.Errorf("verdict is %s", res.Verdict)
			}
			if len(res.Findings) != len(tt.found) {
				t.Fatalf("findings are %+v, wanted %q", res.Findings, tt.found)
			}
			for i, want := range tt.found {
				if f := res.Findings[i]; !strings.Contains(f.Message, want) || f.Remedy == "" || f.Path == "" {
					t.Errorf("finding is %+v, wanted %q with path and remedy", f, want)
				}
			}
		})
	}
}

func TestJudgeCollisions(t *testing.T) {
	config := map[string]any{"verdicts": map[string]any{"package-name": "deny", "downgrade": "warn", "object": "allow", "flavor-change": "deny"}}
	res := plugintest.Judge(judge).Ask(t, hook.Request{ID: "r1", Hook: hook.Collision, Time: time.Unix(1, 0), Config: config, Collisions: []hook.Conflict{
		{ID: "package-name/shop", Kind: "package-name", Verdict: hook.Warn},
		{ID: "downgrade/shop", Kind: "downgrade", Verdict: hook.Warn},
		{ID: "release-name/web/front", Kind: "release-name", Verdict: hook.Deny},
		{ID: "object/v1/ConfigMap/a/b", Kind: "object", Verdict: hook.Deny},
		{ID: "flavor-change/shop", Kind: "flavor-change", Verdict: hook.Allow, Accepted: true},
	}})
	if res.Verdict != hook.Allow {
		t.Errorf("verdict on the whole is %s, wanted allow: the single ones decide", res.Verdict)
	}
	var got []string
	for _, a := range res.Collisions {
		got = append(got, a.ID+" "+string(a.Verdict)+": "+a.Message)
	}
	want := `package-name/shop deny: collisions of kind package-name are denied here
downgrade/shop warn: collisions of kind downgrade are warned of here
object/v1/ConfigMap/a/b allow: collisions of kind object are allowed here
flavor-change/shop deny: collisions of kind flavor-change are denied here, and not accepted by a flag`
	if strings.Join(got, "\n") != want {
		t.Errorf("answers are\n%s\nwanted\n%s", strings.Join(got, "\n"), want)
	}
}

// The kinds here are those that a plan has: one that were missing could not be judged.
func TestKinds(t *testing.T) {
	var want []string
	for _, k := range plan.CollisionKinds() {
		want = append(want, string(k))
	}
	if strings.Join(kinds(), " ") != strings.Join(want, " ") {
		t.Errorf("kinds are %q, a plan's are %q", kinds(), want)
	}
}

func TestJudgeRefusesBadConfig(t *testing.T) {
	for config, want := range map[string]string{
		`{}`:                                     "has no rule",
		`{"known":{}}`:                           "has no rule",
		`{"name":["a"]}`:                         "unknown field",
		`{"names":[]}`:                           "names is empty",
		`{"names":[""]}`:                         "fits no package",
		`{"names":["Shop"]}`:                     "no package can be called",
		`{"names":["[a"]}`:                       "syntax error",
		`{"sources":[]}`:                         "allows no package at all",
		`{"sources":[""]}`:                       "an empty source",
		`{"sources":["oci://registry.example"]}`: "names no repository",
		`{"sources":["oci://r.example/Apps/*"]}`: "repositories are lower-case",
		`{"sources":["oci://r.example/**/a"]}`:   "only be the last part",
		`{"sources":["oci://r.example**"]}`:      "a part of its own",
		`{"sources":["/srv/../x"]}`:              "never known",
		`{"sources":["/srv/[a"]}`:                "syntax error",
		`{"known":{"shop":[]}}`:                  `known "shop": an empty list`,
		`{"known":{"Shop":["/srv/*"]}}`:          "known: no package can be called",
		`{"verdicts":{"objects":"deny"}}`:        `no collision of kind "objects"`,
		`{"verdicts":{"object":"Deny"}}`:         "none of allow, warn and deny",
	} {
		plugintest.Judge(judge).Refuses(t, `{"apiVersion":"hooks.zarf-host.dev/v1","id":"r1","hook":"pre-deploy","package":{"metadata":{"name":"a"}},"config":`+config+`}`, want)
	}
	const fine = `"config":{"names":["a"]}}`
	plugintest.Judge(judge).Refuses(t, `{"apiVersion":"hooks.zarf-host.dev/v1","id":"r1","hook":"pre-deploy",`+fine, "names no package")
	plugintest.Judge(judge).Refuses(t, `{"apiVersion":"hooks.zarf-host.dev/v1","id":"r1","hook":"pre-prune",`+fine, "is not judged here")
}

// A tag may have capitals, a repository may not.
func TestCheckSource(t *testing.T) {
	for _, p := range []string{"oci://r.example/apps/*:V1*", "oci://**", "oci://*/apps/*", "/srv/Packages/*", "https://r.example/**"} {
		if err := checkSource(p); err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
}
