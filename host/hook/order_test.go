package hook_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/zarf-host/zarf-host/host/hook"
)

// TestL16SameBytesEachTime: what a plugin is sent and what a recording keeps is digested, compared and
// replayed, so no map may decide its order. Each run makes its maps anew.
func TestL16SameBytesEachTime(t *testing.T) {
	object := func(kind string) map[string]any {
		labels, data := map[string]any{}, map[string]any{}
		for i := range 20 {
			labels[fmt.Sprintf("label-%d", i)] = fmt.Sprint(i)
			data[fmt.Sprintf("key-%d", i)] = "aHVudGVyMg=="
		}
		return map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": "a", "labels": labels}, "data": data}
	}
	marshal := func(v any) []byte {
		t.Helper()
		out, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	digests := map[string]int{}
	for range 100 {
		config, flags := map[string]any{}, map[string]string{}
		for i := range 20 {
			config[fmt.Sprintf("rule-%d", i)] = map[string]any{"b": i, "a": []any{i}}
			flags[fmt.Sprintf("flag-%d", i)] = "true"
		}
		document := marshal(hook.Request{ID: "r1", Hook: hook.PrePrune, Time: time.Unix(1, 0).UTC(), Config: config,
			Operation: hook.Operation{Name: hook.OperationDeploy, Flags: flags}, Plan: marshal(map[string]any{"prune": map[string]any{"objects": []any{object("ConfigMap")}}}),
			DeployConfig: &hook.DeployConfig{SetVariables: flags}})
		projected, err := hook.Project(document, hook.Inputs{"operation", "plan.prune.objects.metadata", "plan.prune.objects.data"})
		if err != nil {
			t.Fatal(err)
		}
		asked := hook.NewExchange([]byte(`{"op":"k8s.get/v1"}`), marshal(map[string]any{"object": object("Secret")}))
		request, answers, hidden, err := hook.Recordable(document, nil, []hook.Exchange{asked})
		if err != nil || !hidden {
			t.Fatalf("hidden is %v, %v", hidden, err)
		}
		sum := sha256.New()
		for _, part := range [][]byte{document, projected, request, answers[0].Answer} {
			sum.Write(part)
		}
		digests[hex.EncodeToString(sum.Sum(nil))]++
	}
	if len(digests) != 1 {
		t.Errorf("100 runs have %d digests: %v", len(digests), digests)
	}
}
