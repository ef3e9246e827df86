package validate

import (
	"strings"
	"testing"
)

const cuePolicy = `apiVersion: "zarf-host.dev/v1alpha1"
kind:       "Policy"
metadata: name: "baseline"
sources: ["oci://registry.example.com/**"]
package: {
	metadata: vendor!: string @message("every package names its vendor")
	components: [...{
		images?: [...=~"^registry1[.]example[.]com/"] @message("images come from registry1.example.com")
		charts?: [...{namespace?: !="kube-system"}]
	}]
}
deployConfig: setVariables?: DOMAIN?: =~"[.]example[.]com$" @message("domains are ours")
`

const yamlPolicy = `apiVersion: zarf-host.dev/v1alpha1
kind: Policy
metadata: {name: baseline}
sources: ["oci://registry.example.com/**"]
package: |
  metadata: vendor!: string @message("every package names its vendor")
  components: [...{
    images?: [...=~"^registry1[.]example[.]com/"] @message("images come from registry1.example.com")
    charts?: [...{namespace?: !="kube-system"}]
  }]
deployConfig: |
  setVariables?: DOMAIN?: =~"[.]example[.]com$" @message("domains are ours")
`

const judged = `kind: ZarfPackageConfig
metadata:
  name: shop
components:
  - name: web
    images:
      - registry1.example.com/web:1
      - docker.io/web:1
    charts:
      - {name: a, namespace: kube-system, version: 1.10, localPath: x}
`

// A violation has the place in the package and the words of the policy, in CUE and in YAML.
func TestConstraintsOfAPolicy(t *testing.T) {
	v, err := New()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"p.cue": cuePolicy, "p.yaml": yamlPolicy} {
		p, err := v.PolicyFile(name, []byte(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got []string
		for _, d := range p.Package.Definition("zarf.yaml", []byte(judged)).Errors() {
			got = append(got, d.String())
		}
		want := []string{
			"zarf.yaml:2:1: metadata.vendor: every package names its vendor",
			"zarf.yaml:8:9: components[0].images[1]: images come from registry1.example.com",
			`zarf.yaml:10:19: components[0].charts[0].namespace: the policy wants !="kube-system"`,
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: got\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		fixed := strings.NewReplacer("name: shop", "name: shop\n  vendor: acme", "docker.io", "registry1.example.com", "kube-system", "shop").Replace(judged)
		if got := p.Package.Definition("zarf.yaml", []byte(fixed)); !got.Valid() {
			t.Errorf("%s: a package that keeps to the policy is refused: %v", name, got.Err())
		}
		refused, err := p.DeployConfig.Value("configuration", map[string]any{"setVariables": map[string]string{"DOMAIN": "sesame.test"}})
		if err != nil {
			t.Fatal(err)
		}
		if text := refused.Err(); text == nil || text.Error() != "configuration: setVariables.DOMAIN: domains are ours" {
			t.Errorf("%s: got %v", name, text)
		}
		allowed, err := p.DeployConfig.Value("configuration", map[string]any{})
		if err != nil || !allowed.Valid() {
			t.Errorf("%s: an empty configuration is refused: %v, %v", name, allowed.Err(), err)
		}
		if strings.Contains(string(p.JSON), "vendor") || !strings.Contains(string(p.JSON), `"sources"`) {
			t.Errorf("%s: the rest is %s", name, p.JSON)
		}
	}
}

// No value of a configuration gets into an error, also where the policy has no words of its own.
func TestConstraintsTellNoConfiguration(t *testing.T) {
	c, err := newConstraint(`setVariables?: [string]: =~"^x", values?: {a?: int, b: a}`)
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Value("configuration", map[string]any{
		"setVariables": map[string]string{"PASSWORD": "sesame"}, "values": map[string]any{"a": "sesame"},
	})
	if err != nil || r.Valid() {
		t.Fatalf("got %v, %v", r, err)
	}
	if strings.Contains(r.Err().Error(), "sesame") {
		t.Errorf("the error tells a value: %v", r.Err())
	}
}

// What a constraint fixes has to be there: it is not filled in.
func TestConstraintsDemand(t *testing.T) {
	for _, c := range []struct{ constraint, document, want string }{
		{`metadata: vendor: "acme"`, "kind: x\n", "zarf.yaml:1:1: metadata.vendor: the policy wants \"acme\""},
		{`metadata: vendor: "acme"`, "metadata: {vendor: other}\n", "zarf.yaml:1:12: metadata.vendor: the policy wants \"acme\""},
		{`metadata: vendor: "acme"`, "metadata: {vendor: acme}\n", ""},
		{`metadata: vendor: string`, "metadata: {}\n", "zarf.yaml:1:1: metadata.vendor: the policy wants string"},
		{`metadata: uncompressed: *false | bool`, "metadata: {}\n", ""},
		{`metadata?: vendor!: string`, "kind: x\n", ""},
		{`metadata?: vendor!: string`, "metadata: {}\n", "zarf.yaml:1:1: metadata.vendor: the policy wants string"},
		{`components: [...{name!: string}]`, "components: [{name: a}, {}]\n", "zarf.yaml:1:25: components[1].name: the policy wants string"},
		{`import "strings", metadata: name: strings.HasPrefix("acme-")`, "metadata: {name: acme-shop}\n", ""},
		{`import "strings", metadata: name: strings.HasPrefix("acme-")`, "metadata: {name: shop}\n", "zarf.yaml:1:12: metadata.name: "},
		{`metadata: vendor: "acme"`, "metadata: nothing\n", "zarf.yaml:1:1: metadata: "},
		{`metadata: version: !="0.0.0"`, "metadata: {version: 1.10}\n", "zarf.yaml:1:12: metadata.version: "},
	} {
		constraint, err := newConstraint(c.constraint)
		if err != nil {
			t.Errorf("%s: %v", c.constraint, err)
			continue
		}
		got := ""
		if err := constraint.Definition("zarf.yaml", []byte(c.document)).Err(); err != nil {
			got = err.Error()
		}
		if c.want == "" && got != "" || !strings.HasPrefix(strings.TrimPrefix(got, "2 faults:\n  "), c.want) {
			t.Errorf("%s on %q: got %q, want %q", c.constraint, c.document, got, c.want)
		}
	}
}

// What is wrong with a policy is said at its place.
func TestPolicyFileFaults(t *testing.T) {
	v, err := New()
	if err != nil {
		t.Fatal(err)
	}
	const head = "apiVersion: zarf-host.dev/v1alpha1\nkind: Policy\nmetadata: {name: a}\n"
	const cueHead = "apiVersion: \"zarf-host.dev/v1alpha1\"\nkind: \"Policy\"\nmetadata: name: \"a\"\n"
	for _, c := range []struct{ name, text, want string }{
		{"p.yaml", head + "plugin: []\n", `p.yaml:4:1: plugin: unknown key "plugin"`},
		{"p.yaml", head + "collisions: {neverAccept: [objects]}\n", `did you mean "object"`},
		{"p.yaml", head + "package: |\n  a: {\n", "p.yaml:4:1: package: this is no CUE"},
		{"p.yaml", head + "package: 3\n", "want CUE in a string, or a map of values"},
		{"p.yaml", strings.Replace(head, "name: a", "name: A", 1), "p.yaml:3:18: metadata.name"},
		{"p.yaml", head + "---\n" + head, "want one"},
		{"p.yaml", "", "the file is empty"},
		{"p.yaml", head + "sources: []\n", "p.yaml:4:10: sources: want at least 1 item"},
		{"p.cue", cueHead + "plugin: []\n", `p.cue:4:1: plugin: unknown key "plugin"`},
		{"p.cue", cueHead + "sources: [3]\n", `p.cue:4:11: sources[0]: want a string`},
		{"p.cue", cueHead + "package: {\n", "p.cue:4:12: expected"},
		{"p.cue", cueHead + "sources: [string]\n", "p.cue:4:11: "},
		{"p.cue", cueHead + "package: a: 1 & 2\n", "conflicting values"},
		{"p.cue", "kind: \"Policy\"\n", `missing key "apiVersion"`},
	} {
		_, err := v.PolicyFile(c.name, []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n%s: got %v, want %q", c.name, c.text, err, c.want)
		}
	}
}

func FuzzPolicyFile(f *testing.F) {
	v, err := New()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(true, cuePolicy)
	f.Add(false, yamlPolicy)
	f.Add(true, "package: x: y, y: x")
	f.Fuzz(func(t *testing.T, isCUE bool, text string) {
		name := "p.yaml"
		if isCUE {
			name = "p.cue"
		}
		p, err := v.PolicyFile(name, []byte(text))
		if err == nil && p.Package != nil {
			p.Package.Definition("zarf.yaml", []byte(judged))
		}
	})
}
