package guests_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/internal/guests"
	"github.com/zarf-host/zarf-host/host/wasm"
	"github.com/zarf-host/zarf-host/plugins/toolchain"
)

// configs are configurations that a guard reads, and some that it refuses.
func configs() []map[string]any {
	rules := func(kv ...any) map[string]any {
		out := map[string]any{"data": false}
		for i := 0; i < len(kv); i += 2 {
			out[kv[i].(string)] = kv[i+1]
		}
		return out
	}
	out := []map[string]any{{}, {"action": "keep"}, {"data": false}, {"allow": []any{"*/db/*", "Namespace//prod-*"}},
		rules("labels", map[string]any{"tier": "gold", "a/b": ""}), rules("labels", map[string]any{"tier": "gold*"}),
		rules("labels", map[string]any{"": "x"}), rules("labels", map[string]any{"tier gold": "x"}), rules("namespaces", []any{"Prod"}), rules("kinds", []any{"apps/Deployment"}),
		{"allow": []any{"Secret"}}, {"allow": []any{"a/b/c/d"}}, {"allow": []any{"Secret//x"}, "kinds": []any{"secret"}},
		{"action": "keep", "kinds": []any{"*"}}, {"kinds": []any{"*"}}}
	for _, p := range []string{"prod", "prod-*", "*", "**", "p*d-*u", "*-*-*", "?b", "[a-d]b", "[^a-d]*", `p\rod`, `[\a-\d]b`, "d[b]", "d[^b]", "[a-dx]b",
		"[", "[a", "[a-", "[a-]b", "[]b", "[^]b", "[-a]b", `a\`, "]", "d*[", "x[", "[a-b-c]b", "d]"} {
		out = append(out, rules("namespaces", []any{p}))
	}
	for _, p := range []string{"sts", "STATEFULSETS", "policies", "Network*", "ing", "endpoints", "[S-T]tate*", "cm", "set", "*s"} {
		out = append(out, rules("kinds", []any{p}, "action", "keep"), map[string]any{"kinds": []any{"*"}, "allow": []any{p + "/*/*", p + "/prod"}})
	}
	return out
}

// objects are many, so that a list is longer than what a guard shows of it.
func objects(n int) []map[string]any {
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	var out []map[string]any
	for range n {
		o := map[string]any{"apiVersion": pick("v1", "apps/v1"), "kind": pick("ConfigMap", "StatefulSet", "NetworkPolicy", "Ingress", "Endpoints", "Namespace", "Secret", "Widget"),
			"name": pick("prod", "prod-eu", "db", "settings", `a"b`, `a\b`, "é", "a:b"), "holdsData": r.IntN(4) == 0}
		if ns := pick("", "prod", "prod-eu", "db", "ab", "xb", "d", "dc", "web"); ns != "" {
			o["namespace"] = ns
		}
		if r.IntN(2) == 0 {
			o["labels"] = map[string]any{"tier": pick("gold", "tin", ""), pick("a/b", "c"): pick("x", "")}
		}
		out = append(out, o)
	}
	return out
}

// TestGuardsAgree asks the guards in all languages the same and wants the same answers, or no answer from
// any.
func TestGuardsAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("it asks the guards many times")
	}
	root, err := guests.Root()
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(filepath.Join(root, "plugins", "guard", "plugin.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	meta, err := wasm.ParseManifest(manifest)
	if err != nil {
		t.Fatal(err)
	}
	type said struct {
		response hook.Response
		err      error
	}
	var reference []said
	module := guard(t, meta, "plugins/guard")
	refused := 0
	for _, config := range configs() {
		response, err := answer(t, module, config)
		reference = append(reference, said{response, err})
		if err != nil {
			refused++
		}
	}
	if refused < 10 || refused > len(configs())/2 {
		t.Errorf("%d of %d configurations are refused, so that little is compared", refused, len(configs()))
	}
	for _, folder := range []string{"guard-c", "guard-rust"} {
		t.Run(folder, func(t *testing.T) {
			own, err := os.ReadFile(filepath.Join(root, "plugins", folder, "plugin.yaml"))
			if err != nil || string(own) != string(manifest) {
				t.Errorf("its plugin.yaml is not the guard's: %v", err)
			}
			module := guard(t, meta, filepath.Join("plugins", folder))
			for i, config := range configs() {
				got, err := answer(t, module, config)
				if want := reference[i]; (want.err == nil) != (err == nil) {
					t.Errorf("%v: errors are %v and %v", config, want.err, err)
				} else if diff := cmp.Diff(want.response, got); diff != "" {
					t.Errorf("%v: %s", config, diff)
				}
			}
		})
	}
}

func guard(t *testing.T, meta hook.Metadata, folder string) []byte {
	t.Helper()
	code, err := guests.Build(t.Context(), folder)
	if toolchain.IsMissing(err) {
		t.Skipf("this lane does not run: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	module, err := wasm.Annotate(code, meta)
	if err != nil {
		t.Fatal(err)
	}
	return module
}

// answer asks a guard about a prune of many. An error is one of the plugin's own; others fail the test.
func answer(t *testing.T, module []byte, config map[string]any) (hook.Response, error) {
	t.Helper()
	p, err := wasm.Load(t.Context(), module, wasm.Options{Config: config, CacheDir: guests.CompiledDir(), Sandbox: wasm.SandboxInProcess})
	var failure *wasm.Error
	if errors.As(err, &failure) && failure.Kind == wasm.KindRequest {
		return hook.Response{}, err // its schema
	}
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(t.Context())
	plan, err := json.Marshal(map[string]any{"prune": map[string]any{"objects": objects(300)}})
	if err != nil {
		t.Fatal(err)
	}
	result, err := p.Call(t.Context(), hook.Request{ID: "r1", Hook: hook.PrePrune, Time: time.Unix(1, 0), Plan: plan, Config: config})
	if err != nil && !(errors.As(err, &failure) && failure.Kind == wasm.KindExitCode) {
		t.Fatal(fmt.Errorf("%v: %w", config, err))
	}
	return result.Response, err
}

// What `plugin init --lang c|rust` writes is what the guards in these languages are made with.
func TestGuardsUseTheStarters(t *testing.T) {
	root, err := guests.Root()
	if err != nil {
		t.Fatal(err)
	}
	for copied, from := range map[string]string{"guard-c/hook.c": "c/hook.c", "guard-c/hook.h": "c/hook.h", "guard-rust/src/hook.rs": "rust/src/hook.rs"} {
		a, err1 := os.ReadFile(filepath.Join(root, "plugins", copied))
		b, err2 := os.ReadFile(filepath.Join(root, "plugins", "starter", from))
		if err1 != nil || err2 != nil || string(a) != string(b) {
			t.Errorf("%s is not the starter's: %v", copied, errors.Join(err1, err2))
		}
	}
}
