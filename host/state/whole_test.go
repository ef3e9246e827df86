package state_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/state"
)

// TestE9_DefineWhole records of a differential package that says what it is in full just that: what the
// record had of it before is not taken for used. Of one that does not say, it is.
func TestE9_DefineWhole(t *testing.T) {
	before := state.Package{
		Name:               "shop",
		Data:               spec.Package{Components: []spec.Component{{Name: "web", Images: []string{"a:1", "b:1"}}}},
		DeployedComponents: []state.Component{{Name: "web", Status: state.StatusSucceeded}},
	}
	next := spec.Package{
		Build:      spec.Build{Differential: true},
		Components: []spec.Component{{Name: "web", Images: []string{"a:1", "b:2"}}},
	}
	if got := before.Define(next, "web").Data.Components[0].Images; !slices.Equal(got, []string{"a:1", "b:2", "b:1"}) {
		t.Errorf("of one that does not say: %v", got)
	}
	next.Extension = &spec.Extension{Base: &spec.ExtensionBase{}, Components: []spec.FullComponent{{Name: "web", Images: []string{"a:1", "b:2"}}}}
	after := before.Define(next, "web")
	if got := after.Data.Components[0].Images; !slices.Equal(got, []string{"a:1", "b:2"}) {
		t.Errorf("of one that says: %v", got)
	}
	data, err := json.Marshal(after)
	if err != nil || after.Data.Extension != nil || strings.Contains(string(data), "xtension") {
		t.Errorf("the record has the extension: %s, %v", data, err)
	}
}
