package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/object"
)

func pruning() Plan {
	return ForDeploy(newWorld("shop").
		deployed("web", "web", "ConfigMap/a", "ConfigMap/dropped").
		deployed("db", "db", "StatefulSet/db", "Service/db").
		wants("web", "web", "ConfigMap/a").prune().f)
}

func TestWithKept(t *testing.T) {
	set, release := ref("StatefulSet/db"), rel("db")
	tests := []struct {
		name string
		keep Keep
		want summary
	}{
		{
			name: "an object of a pruned release",
			keep: Keep{Object: &set},
			want: summary{
				Steps: []string{"upgrade web", "prune db"}, Uninstalled: []string{"db"},
				Deleted: []string{"ConfigMap/dropped (dropped)", "Service/db (component)"}, Kept: []string{`StatefulSet/db by plugin "guard"`},
			},
		},
		{
			name: "a release",
			keep: Keep{Release: &release},
			want: summary{Steps: []string{"upgrade web", "prune db"}, Deleted: []string{"ConfigMap/dropped (dropped)"}},
		},
		{
			name: "a component with its releases",
			keep: Keep{Component: "db"},
			want: summary{Steps: []string{"upgrade web", "keep db"}, Deleted: []string{"ConfigMap/dropped (dropped)"}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before := pruning()
			test.keep.By = `plugin "guard"`
			kept, changed, err := before.WithKept(test.keep)
			if err != nil || !changed {
				t.Fatalf("changed = %v, err = %v", changed, err)
			}
			if diff := cmp.Diff(test.want, summarise(kept)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(summarise(pruning()), summarise(before)); diff != "" {
				t.Errorf("the plan that was asked changed:\n%s", diff)
			}
			again, changed, err := kept.WithKept(test.keep)
			if err != nil || changed || again.Digest != kept.Digest {
				t.Errorf("keeping it twice: changed = %v, err = %v", changed, err)
			}
			replayed, _, err := pruning().WithKept(kept.Asked()...)
			if err != nil || replayed.Digest != kept.Digest {
				t.Errorf("asking the same of a new plan gives %s, want %s (err %v)", replayed.Digest, kept.Digest, err)
			}
		})
	}
}

func TestKeepingWhatIsNotPrunedIsAnError(t *testing.T) {
	elsewhere := ref("ConfigMap/elsewhere")
	for _, keep := range []Keep{
		{Object: &elsewhere, By: "x"},
		{Release: &object.Release{Namespace: "ns", Name: "web"}, By: "x"},
		{Component: "web", By: "x"},
		{Component: "nope", By: "x"},
	} {
		if _, _, err := pruning().WithKept(keep); err == nil {
			t.Errorf("keeping %s: no error, though the plan does not prune it", keep.subject())
		}
	}
}

func TestParseScopes(t *testing.T) {
	known := []Scope{ScopeClusterResources, ScopeImages}
	tests := []struct {
		value string
		want  Scopes
		fails bool
	}{
		{value: "all", want: Scopes{ScopeClusterResources, ScopeImages}},
		{value: "images,cluster-resources", want: Scopes{ScopeClusterResources, ScopeImages}},
		{value: "images, images", want: Scopes{ScopeImages}},
		{value: "", fails: true},
		{value: "images,", fails: true},
		{value: "everything", fails: true},
	}
	for _, test := range tests {
		got, err := ParseScopes(test.value, known...)
		if (err != nil) != test.fails || !cmp.Equal(got, test.want) {
			t.Errorf("ParseScopes(%q) = %v, %v", test.value, got, err)
		}
	}
	if _, err := ParseScopes("images", ScopeClusterResources); err == nil {
		t.Error("a scope that the command does not have is an error")
	}
}
