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
		"values.web": OriginFlag, "namespaceOverride": OriginFile,
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
	want := []string{"namespaceOverride", "setVariables.GONE", "setVariables.NEW", "setVariables.OTHER", "values.web"}
	if diff := cmp.Diff(want, Changed(&before, after)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := Changed(nil, after); got != nil {
		t.Errorf("nothing is known of the old configuration, but %v is named", got)
	}
}
