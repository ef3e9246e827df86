package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/state"
)

func TestResolveLaterLayersWinKeyByKey(t *testing.T) {
	got := Resolve(
		Layer{OriginStored, state.DeployConfig{
			SetVariables: map[string]string{"A": "stored", "b": "stored"},
			Values:       state.Values{"web": map[string]any{"name": "old", "replicas": 1}},
		}},
		Layer{OriginFile, state.DeployConfig{NamespaceOverride: "team-a", SetVariables: map[string]string{"B": "file"}}},
		Layer{OriginFlag, state.DeployConfig{Values: state.Values{"web": map[string]any{"name": "new"}}}},
	)
	want := state.DeployConfig{
		SetVariables:      map[string]string{"A": "stored", "B": "file"},
		Values:            state.Values{"web": map[string]any{"name": "new", "replicas": 1}},
		NamespaceOverride: "team-a",
	}
	// DeployConfig prints nothing, so compare its parts.
	if diff := cmp.Diff(want.SetVariables, got.Config.SetVariables); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.Values, got.Config.Values); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if got.Config.NamespaceOverride != want.NamespaceOverride {
		t.Errorf("namespace override = %q", got.Config.NamespaceOverride)
	}
	origins := map[string]string{
		"setVariables.A": OriginStored, "setVariables.B": OriginFile,
		"values.web.name": OriginFlag, "values.web.replicas": OriginStored, "namespaceOverride": OriginFile,
	}
	if diff := cmp.Diff(origins, got.Origins); diff != "" {
		t.Errorf("origins (-want +got):\n%s", diff)
	}
}

func TestChangedNamesKeysOnly(t *testing.T) {
	before := state.DeployConfig{
		SetVariables: map[string]string{"SAME": "1", "GONE": "hunter2", "OTHER": "a"},
		Values:       state.Values{"web": map[string]any{"n": 1}},
	}
	after := state.DeployConfig{
		SetVariables:      map[string]string{"SAME": "1", "OTHER": "b", "NEW": "c"},
		Values:            state.Values{"web": map[string]any{"n": 2}},
		NamespaceOverride: "x",
	}
	want := []string{"namespaceOverride", "setVariables.GONE", "setVariables.NEW", "setVariables.OTHER", "values.web.n"}
	if diff := cmp.Diff(want, Changed(&before, after)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := Changed(nil, after); got != nil {
		t.Errorf("nothing is known of the old configuration, but %v is named", got)
	}
}

// G2: a weaker layer is never dropped because a stronger one sets something else, and the origin of
// each value is told. The package's own defaults lie below all of this and are no layer, so that a
// new version's defaults are never hidden by what was not supplied.
func TestG2EachCombinationOfLayers(t *testing.T) {
	from := func(origin string) Layer {
		return Layer{origin, state.DeployConfig{Values: state.Values{"web": map[string]any{"shared": origin, "of " + origin: true}}}}
	}
	for bits := range 8 {
		var layers []Layer
		wanted := map[string]any{}
		origins := map[string]string{}
		for i, origin := range []string{OriginFile, OriginEnvironment, OriginFlag} {
			if bits&(1<<i) == 0 {
				continue
			}
			layers = append(layers, from(origin))
			wanted["shared"], wanted["of "+origin] = origin, true
			origins["values.web.shared"], origins["values.web.of "+origin] = origin, origin
		}
		got := Resolve(layers...)
		web, _ := got.Config.Values["web"].(map[string]any)
		if len(layers) == 0 && got.Config.Values == nil {
			web = map[string]any{}
		}
		if diff := cmp.Diff(wanted, web); diff != "" {
			t.Errorf("combination %03b: values (-want +got):\n%s", bits, diff)
		}
		if diff := cmp.Diff(origins, got.Origins); diff != "" {
			t.Errorf("combination %03b: origins (-want +got):\n%s", bits, diff)
		}
	}
}

func TestOriginsOfValuesThatChangeShape(t *testing.T) {
	values := func(web any) state.DeployConfig { return state.DeployConfig{Values: state.Values{"web": web}} }
	got := Resolve(Layer{OriginFile, values(map[string]any{"a": 1, "b": 2})}, Layer{OriginFlag, values("off")})
	if diff := cmp.Diff(map[string]string{"values.web": OriginFlag}, got.Origins); diff != "" {
		t.Errorf("a map that became a word (-want +got):\n%s", diff)
	}
	got = Resolve(Layer{OriginFile, values("off")}, Layer{OriginFlag, values(map[string]any{"a": 1})})
	if diff := cmp.Diff(map[string]string{"values.web.a": OriginFlag}, got.Origins); diff != "" {
		t.Errorf("a word that became a map (-want +got):\n%s", diff)
	}
}
