package plugin

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const sum = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestParseReference(t *testing.T) {
	for text, want := range map[string]Reference{
		"guard.wasm":              {Kind: File, Path: "guard.wasm"},
		"./a/b@c.wasm":            {Kind: File, Path: "./a/b@c.wasm"},
		"package:guard":           {Kind: Package, Name: "guard"},
		"oci://r.test/guard:0.1":  {Kind: Registry, Host: "r.test", Repository: "guard", Tag: "0.1"},
		"oci://r.test:5000/a/b:1": {Kind: Registry, Host: "r.test:5000", Repository: "a/b", Tag: "1"},
		"oci://localhost/b:1":     {Kind: Registry, Host: "localhost", Repository: "b", Tag: "1"},
		"oci://r.test/b@" + sum:   {Kind: Registry, Host: "r.test", Repository: "b", Digest: sum},
		"oci://r.test/b:1@" + sum: {Kind: Registry, Host: "r.test", Repository: "b", Tag: "1", Digest: sum},
		"oci://[::1]:5000/b:1":    {Kind: Registry, Host: "[::1]:5000", Repository: "b", Tag: "1"},
	} {
		got, err := ParseReference(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
		if got.String() != text {
			t.Errorf("%s is written as %s", text, got)
		}
	}
	pinned, err := ParseReference("oci://r.test/b:1@" + sum)
	if err != nil {
		t.Fatal(err)
	}
	if want := "r.test/b@" + sum; pinned.By() != want {
		t.Errorf("a registry is asked for %q, want %q: the digest counts", pinned.By(), want)
	}
}

func TestRefusedReferences(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "no plugin is named",
		"https://r.test/g.wasm":  "do not come by https://",
		"package:":               "does not name a plugin",
		"package:../x":           "does not name a plugin",
		"package:Guard":          "does not name a plugin",
		"oci://guard:0.1":        "names no registry",
		"oci://r.test/guard":     "neither a tag nor a digest",
		"oci://r.test/guard@":    "without a sha256",
		"oci://r.test/Guard:1":   "must be lowercase",
		"oci://r.test/g@md5:abc": "holds no user",
		"oci://r.test/g@sha512:" + strings.Repeat("ab", 64): "holds no user",
		"oci://u:sesame@r.test/g:1":                         "holds no user",
		"oci://u:ses/sesame@r.test/g:1":                     "holds no user",
		"oci://u:sesame@r.test/g@" + sum:                    "holds no user",
		"oci://":                                            "",
	} {
		_, err := ParseReference(text)
		var form *FormError
		if !errors.As(err, &form) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "sesame") {
			t.Errorf("%s: the error tells the password: %v", text, err)
		}
	}
	if _, err := ParseRegistryReference("guard.wasm"); err == nil {
		t.Error("a file is taken for something in a registry")
	}
}
