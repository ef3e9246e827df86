package main

import (
	"encoding/json"
	"testing"

	"github.com/zarf-host/zarf-host/plugins/sdk"
)

func TestJudge(t *testing.T) {
	for name, tt := range map[string]struct {
		namespace string
		want      sdk.Verdict
	}{
		"protected": {"prod", sdk.Deny},
		"another":   {"staging", sdk.Allow},
		"longer":    {"prod-2", sdk.Allow},
	} {
		t.Run(name, func(t *testing.T) {
			var r sdk.Request
			r.Config = json.RawMessage(`{"namespaces":["prod"]}`)
			r.Plan.Prune.Objects = []sdk.Object{{APIVersion: "v1", Kind: "ConfigMap", Namespace: tt.namespace, Name: "settings"}}
			if got := judge(r); got.Verdict != tt.want {
				t.Errorf("verdict is %q, want %q", got.Verdict, tt.want)
			}
		})
	}
}
