package plugin

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/hook"
)

const (
	other = "sha256:ffff456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	head  = "apiVersion: zarf-host.dev/v1alpha1\nkind: PluginLock\n"
	entry = "plugins:\n- name: guard\n  source: guard.wasm\n  digest: " + sum + "\n"
)

func TestParseLock(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"one":                           {head + entry, ""},
		"JSON":                          {`{"apiVersion":"zarf-host.dev/v1alpha1","kind":"PluginLock","plugins":[]}`, ""},
		"a marker and a comment":        {"# locked\n---\n" + head + entry, ""},
		"grants":                        {head + entry + "  capabilities: [k8s:get, k8s:list]\n  grants: ['k8s:list@*']\n", ""},
		"an unknown key":                {head + entry + "  capabilitys: []\n", "capabilitys"},
		"a key twice":                   {head + entry + "  digest: " + other + "\n", "digest"},
		"a plugin twice":                {head + entry + strings.TrimPrefix(entry, "plugins:\n"), `"guard" is there twice`},
		"two documents":                 {head + entry + "---\n" + head + entry, "more than one document"},
		"another kind":                  {strings.ReplaceAll(head+entry, "PluginLock", "Policy"), `kind "PluginLock"`},
		"another version":               {strings.ReplaceAll(head+entry, "v1alpha1", "v2"), "zarf-host.dev/v1alpha1"},
		"a bad name":                    {strings.ReplaceAll(head+entry, "name: guard", "name: ../guard"), "lower-case"},
		"a bad digest":                  {strings.ReplaceAll(head+entry, sum, sum[:30]), "is not sha256:"},
		"digest in capitals":            {strings.ReplaceAll(head+entry, sum, "sha256:"+strings.ToUpper(sum[7:])), "is not sha256:"},
		"no source":                     {strings.ReplaceAll(head+entry, "source: guard.wasm", "source: ''"), "source of"},
		"an unknown capability":         {head + entry + "  capabilities: [k8s:delete]\n", "k8s:delete"},
		"a capability with a namespace": {head + entry + "  capabilities: ['k8s:list@*']\n", "k8s:list@*"},
		"an unknown grant":              {head + entry + "  grants: [k8s:delete]\n", "k8s:delete"},
		"a grant not asked for":         {head + entry + "  capabilities: [k8s:get]\n  grants: [k8s:list]\n", "not among its capabilities"},
		"nothing":                       {"", "kind"},
		"no YAML":                       {"\t", ""},
		"too large":                     {strings.Repeat(" ", MaxLock+1), "at most"},
	} {
		_, err := ParseLock([]byte(test.text))
		wanted := test.want != "" || name == "no YAML"
		if !wanted && err != nil || wanted && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

func lock(t *testing.T, text string) Lock {
	t.Helper()
	l, err := ParseLock([]byte(head + text))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func grants(t *testing.T, texts ...string) []hook.Grant {
	t.Helper()
	var out []hook.Grant
	for _, text := range texts {
		g, err := hook.ParseGrant(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, g)
	}
	return out
}

func facts(digest string, capabilities ...hook.Capability) Facts {
	return Facts{Name: "guard", Version: "0.2.0", Source: "oci://r.test/guard:0.2.0@" + sum, Digest: digest, Capabilities: capabilities}
}

// TestL1Admit: plugins are allowed by digest; one that nobody locked is refused (FAULTS L1).
func TestL1Admit(t *testing.T) {
	granting := entry + "  version: 0.1.0\n  capabilities: [k8s:get, k8s:list]\n  grants: ['k8s:list@a,b', 'k8s:get@*']\n"
	for name, test := range map[string]struct {
		lock    string
		facts   Facts
		flags   []string
		granted []string
		want    string // part of the error
	}{
		"what is locked":                {lock: entry, facts: facts(sum)},
		"with what it grants":           {lock: granting, facts: facts(sum, hook.K8sGet, hook.K8sList), granted: []string{"k8s:list@a,b", "k8s:get@*"}},
		"a part of what it grants":      {lock: granting, facts: facts(sum, hook.K8sGet, hook.K8sList), flags: []string{"k8s:list@b", "k8s:get@z"}, granted: []string{"k8s:list@b", "k8s:get@z"}},
		"not wider":                     {lock: granting, facts: facts(sum, hook.K8sGet, hook.K8sList), flags: []string{"k8s:list@c"}, want: "--grant guard=k8s:list@c is more than the lock file grants"},
		"not everywhere":                {lock: granting, facts: facts(sum, hook.K8sGet, hook.K8sList), flags: []string{"k8s:list@*"}, want: "is more"},
		"not something else":            {lock: granting, facts: facts(sum, hook.K8sGet, hook.K8sList), flags: []string{"secrets:read"}, want: "is more"},
		"nothing locked grants nothing": {lock: entry, facts: facts(sum), flags: []string{"k8s:get"}, want: "is more"},
		"a changed digest":              {lock: entry, facts: facts(other), want: "its digest is " + other + ", locked is " + sum},
		"another name":                  {lock: strings.ReplaceAll(entry, "guard", "watch"), facts: facts(sum), want: "the lock file does not have it"},
		"no plugins":                    {lock: "plugins: []\n", facts: facts(sum), want: "the lock file does not have it"},
		// Somebody put the new digest into the file, and did not look at what it asks for.
		"a grown capability": {lock: granting, facts: facts(sum, hook.K8sGet, hook.K8sList, hook.SecretsRead), want: "asks for secrets:read, which the lock file does not know of"},
	} {
		got, err := lock(t, test.lock).Admit(test.facts, grants(t, test.flags...))
		if test.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if diff := cmp.Diff(grants(t, test.granted...), got); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
			continue
		}
		var refused *LockError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), test.want) || refused.Hint() == "" || got != nil {
			t.Errorf("%s: %v, want %q with a hint", name, err, test.want)
		}
	}
	carried := Facts{Name: "guard", Source: "package:guard", Digest: sum}
	if err := Unlocked(carried); !strings.Contains(err.Error(), sum) || !strings.Contains(err.Hint(), "plugin lock --plugin package:guard --package PACKAGE") {
		t.Errorf("%v; hint %s", err, err.Hint())
	}
}

func TestAdd(t *testing.T) {
	before := entry + "  version: 0.1.0\n  capabilities: [k8s:list]\n  grants: ['k8s:list@a']\n"
	for name, test := range map[string]struct {
		lock   string
		facts  Facts
		flags  []string
		update bool
		grants []string // that are locked in the end
		want   string   // part of the error
	}{
		"the first":                          {lock: "plugins: []\n", facts: facts(sum, hook.K8sGet)},
		"the first, granted":                 {lock: "plugins: []\n", facts: facts(sum, hook.K8sGet), flags: []string{"k8s:get"}, grants: []string{"k8s:get"}},
		"granted what it does not ask for":   {lock: "plugins: []\n", facts: facts(sum), flags: []string{"k8s:get"}, want: "does not ask for k8s:get"},
		"the same again":                     {lock: before, facts: facts(sum, hook.K8sList), grants: []string{"k8s:list@a"}},
		"the same, granted more":             {lock: before, facts: facts(sum, hook.K8sList), flags: []string{"k8s:list@*"}, grants: []string{"k8s:list@*"}},
		"changed":                            {lock: before, facts: facts(other, hook.K8sList), want: "locked is " + sum},
		"changed and meant":                  {lock: before, facts: facts(other, hook.K8sList), update: true, grants: []string{"k8s:list@a"}},
		"asks for less":                      {lock: before, facts: facts(other), update: true},
		"asks for more":                      {lock: before, facts: facts(other, hook.K8sList, hook.SecretsRead), update: true, want: "it asks for secrets:read, which version 0.1.0 did not"},
		"asks for more and gets it":          {lock: before, facts: facts(other, hook.K8sList, hook.K8sGet), update: true, flags: []string{"k8s:get"}, grants: []string{"k8s:get", "k8s:list@a"}},
		"asks for more and gets some":        {lock: before, facts: facts(other, hook.K8sGet, hook.SecretsRead), update: true, flags: []string{"k8s:get"}, want: "secrets:read"},
		"asks for more, not meant to change": {lock: before, facts: facts(other, hook.K8sGet), flags: []string{"k8s:get"}, want: "locked is"},
	} {
		l, err := lock(t, test.lock).Add(test.facts, grants(t, test.flags...), test.update)
		if test.want != "" {
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v, want %q", name, err, test.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		p, ok := l.Find("guard")
		if !ok || len(l.Plugins) != 1 || p.Digest != test.facts.Digest {
			t.Errorf("%s: locked are %+v", name, l.Plugins)
		}
		if diff := cmp.Diff(test.grants, p.Grants); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		data, err := l.Format()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseLock(data)
		if err != nil {
			t.Errorf("%s: what is written is not read: %v\n%s", name, err, data)
		}
		if _, err := again.Admit(test.facts, nil); err != nil {
			t.Errorf("%s: what is locked is not let in: %v", name, err)
		}
	}
}

// What is read and written again is the same, and lets in nothing that it did not.
func FuzzParseLock(f *testing.F) {
	f.Add([]byte(head + entry))
	f.Add([]byte(head + entry + "  capabilities: [k8s:get]\n  grants: ['k8s:get@*']\n"))
	f.Add([]byte(`{"apiVersion":"zarf-host.dev/v1alpha1","kind":"PluginLock","plugins":[]}`))
	f.Add([]byte("---\n" + head + "---\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := ParseLock(data)
		if err != nil {
			return
		}
		written, err := l.Format()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseLock(written)
		if err != nil {
			t.Fatalf("%v\n%s", err, written)
		}
		for _, p := range l.Plugins {
			if q, ok := again.Find(p.Name); !ok || q.Digest != p.Digest || q.Source != p.Source || !cmp.Equal(q.Grants, p.Grants) && len(p.Grants)+len(q.Grants) > 0 {
				t.Errorf("%+v became %+v", p, q)
			}
		}
		if _, err := l.Admit(Facts{Name: "guard", Digest: "sha256:none"}, nil); err == nil {
			t.Error("a module with no digest is let in")
		}
	})
}
