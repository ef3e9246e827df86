package spec

import (
	"slices"
	"testing"
)

func TestRequiresCluster(t *testing.T) {
	yes := true
	tests := []struct {
		name      string
		component Component
		want      bool
	}{
		{"empty", Component{}, false},
		{"files", Component{Files: []File{{}}}, false},
		{"actions, even one that waits for the cluster", Component{Required: &yes, Actions: Actions{OnDeploy: ActionSet{
			Before: []Action{{Wait: &ActionWait{Cluster: &WaitCluster{}}}},
		}}}, false},
		{"images", Component{Images: []string{"a"}}, true},
		{"imageArchives", Component{ImageArchives: []ImageArchive{{}}}, true},
		{"charts", Component{Charts: []Chart{{}}}, true},
		{"manifests", Component{Manifests: []Manifest{{}}}, true},
		{"repos", Component{Repos: []string{"a"}}, true},
		{"dataInjections", Component{DataInjections: []DataInjection{{}}}, true},
		{"healthChecks", Component{HealthChecks: []ObjectReference{{}}}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.component.RequiresCluster(); got != test.want {
				t.Errorf("component: got %v, want %v", got, test.want)
			}
			pkg := Package{Components: []Component{{}, test.component}}
			if got := pkg.RequiresCluster(); got != test.want {
				t.Errorf("package: got %v, want %v", got, test.want)
			}
		})
	}
}

func TestIsRequired(t *testing.T) {
	yes, no := true, false
	tests := []struct {
		required *bool
		want     bool
	}{{nil, false}, {&no, false}, {&yes, true}}
	for _, test := range tests {
		c := Component{Required: test.required}
		if got := c.IsRequired(); got != test.want {
			t.Errorf("required %v: got %v, want %v", test.required, got, test.want)
		}
	}
}

func TestComponentByName(t *testing.T) {
	p := Package{Components: []Component{{Name: "a"}, {Name: "b"}}}
	if c, ok := p.Component("b"); !ok || c != &p.Components[1] {
		t.Errorf("got %v, %v, want the second component itself", c, ok)
	}
	if _, ok := p.Component("c"); ok {
		t.Error("found a component that is not there")
	}
}

func TestAllImages(t *testing.T) {
	c := Component{Images: []string{"a"}, ImageArchives: []ImageArchive{{Images: []string{"b", "c"}}}}
	if got, want := c.AllImages(), []string{"a", "b", "c"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if len(c.Images) != 1 {
		t.Error("the component was changed")
	}
}

func TestReleaseName(t *testing.T) {
	if got := (&Chart{Name: "a"}).Release(); got != "a" {
		t.Errorf("without releaseName: got %q", got)
	}
	if got := (&Chart{Name: "a", ReleaseName: "b"}).Release(); got != "b" {
		t.Errorf("with releaseName: got %q", got)
	}
}
