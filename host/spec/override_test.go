package spec

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestOverrideNamespace(t *testing.T) {
	yes, no := true, false
	wait := func(namespace string) Actions {
		return Actions{OnDeploy: ActionSet{After: []Action{{Wait: &ActionWait{Cluster: &WaitCluster{Namespace: namespace}}}}}}
	}
	tests := []struct {
		name string
		pkg  Package
		want string // the components' JSON holds this
		err  string
	}{
		{
			name: "one namespace",
			pkg: Package{Kind: KindPackage, Components: []Component{
				{Charts: []Chart{{Namespace: "a"}}, Manifests: []Manifest{{Namespace: "a"}}},
			}},
			want: `"manifests":[{"name":"","namespace":"team"}],"charts":[{"name":"","namespace":"team"}]`,
		},
		{
			name: "allowed by name",
			pkg:  Package{Kind: KindPackage, Metadata: Metadata{AllowNamespaceOverride: &yes}, Components: []Component{{Charts: []Chart{{Namespace: "a"}}}}},
			want: `"namespace":"team"`,
		},
		{
			name: "a wait for the same namespace moves along",
			pkg:  Package{Kind: KindPackage, Components: []Component{{Charts: []Chart{{Namespace: "a"}}, Actions: wait("a")}}},
			want: `"cluster":{"kind":"","name":"","namespace":"team"}`,
		},
		{
			name: "a wait for another namespace stays",
			pkg:  Package{Kind: KindPackage, Components: []Component{{Charts: []Chart{{Namespace: "a"}}, Actions: wait("kube-system")}}},
			want: `"cluster":{"kind":"","name":"","namespace":"kube-system"}`,
		},
		{
			name: "manifests without a namespace",
			pkg:  Package{Kind: KindPackage, Components: []Component{{Manifests: []Manifest{{}}}}},
			want: `"manifests":[{"name":"","namespace":"team"}]`,
		},
		{
			name: "health checks and data injections stay",
			pkg: Package{Kind: KindPackage, Components: []Component{{
				Charts:         []Chart{{Namespace: "a"}},
				HealthChecks:   []ObjectReference{{Namespace: "a"}},
				DataInjections: []DataInjection{{Target: ContainerTarget{Namespace: "a"}}},
			}}},
			want: `"healthChecks":[{"apiVersion":"","kind":"","namespace":"a","name":""}]`,
		},
		{
			name: "two namespaces",
			pkg:  Package{Kind: KindPackage, Components: []Component{{Charts: []Chart{{Namespace: "a"}}}, {Charts: []Chart{{Namespace: "b"}}}}},
			err:  `use 2 namespaces ("a", "b")`,
		},
		{
			name: "an empty manifest namespace is one of its own",
			pkg:  Package{Kind: KindPackage, Components: []Component{{Charts: []Chart{{Namespace: "a"}}, Manifests: []Manifest{{}}}}},
			err:  "use 2 namespaces",
		},
		{
			name: "forbidden by the author",
			pkg:  Package{Kind: KindPackage, Metadata: Metadata{AllowNamespaceOverride: &no}, Components: []Component{{Charts: []Chart{{Namespace: "a"}}}}},
			err:  "allowNamespaceOverride is false",
		},
		{
			name: "init package",
			pkg:  Package{Kind: KindInit, Components: []Component{{Charts: []Chart{{Namespace: "a"}}}}},
			err:  "this is a ZarfInitConfig",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before, _ := json.Marshal(test.pkg)
			err := test.pkg.OverrideNamespace("team")
			after, _ := json.Marshal(test.pkg)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("got error %v, want one with %q", err, test.err)
				}
				if string(before) != string(after) {
					t.Errorf("the package was changed:\n%s\n%s", before, after)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(after), test.want) {
				t.Errorf("got %s, want it to hold %s", after, test.want)
			}
		})
	}
}
