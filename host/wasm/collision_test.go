package wasm_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/internal/guests"
	"github.com/zarf-host/zarf-host/host/wasm"
)

// arbiter is a plugin that judges collisions, written with the SDK.
func arbiter(t *testing.T) []byte {
	t.Helper()
	root, err := guests.Root()
	if err != nil {
		t.Fatal(err)
	}
	const folder = "host/internal/guests/arbiter"
	manifest, err := os.ReadFile(filepath.Join(root, folder, "plugin.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	meta, err := wasm.ParseManifest(manifest)
	if err != nil {
		t.Fatal(err)
	}
	out, err := wasm.Annotate(built(t, folder), meta)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestCollisionsAreJudged(t *testing.T) {
	module, cache := arbiter(t), guests.CompiledDir()
	request := hook.Request{ID: "r1", Hook: hook.Collision, Time: time.Unix(1, 0), Collisions: []hook.Conflict{
		{ID: "object/v1/ConfigMap/web/a", Kind: "object", Verdict: hook.Deny, Message: "it exists"},
		{ID: "downgrade/shop", Kind: "downgrade", Verdict: hook.Warn, Message: "it is lower"},
	}}
	tests := map[string]struct {
		config map[string]any
		want   string // what counts of each collision that was judged
		err    string
	}{
		"silence leaves the built-in verdicts": {nil, "", ""},
		"one is allowed": {map[string]any{"kinds": map[string]any{"object": "allow"}},
			"object/v1/ConfigMap/web/a allow: the arbiter says allow where deny counts", ""},
		"one is raised": {map[string]any{"kinds": map[string]any{"downgrade": "deny"}},
			"downgrade/shop deny: the arbiter says deny where warn counts", ""},
		"an id that nobody asked about": {map[string]any{"stray": "object/v1/ConfigMap/web/b"}, "", "is none of the request's"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := load(t, module, wasm.Options{Config: tt.config, CacheDir: cache})
			if err != nil {
				t.Fatal(err)
			}
			response, err := p.Call(t.Context(), request)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error is %v, wanted %q in it", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range hook.Judge(request.Collisions, []hook.Answer{{Plugin: "arbiter", Response: response.Response}}) {
				got = append(got, c.ID+" "+string(c.Verdict)+": "+c.Message)
			}
			if strings.Join(got, "; ") != tt.want {
				t.Errorf("judged %q, want %q", got, tt.want)
			}
		})
	}
}
