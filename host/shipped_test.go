package host

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/internal/guests"
	"github.com/zarf-host/zarf-host/host/recording"
	"github.com/zarf-host/zarf-host/host/wasm"
	"github.com/zarf-host/zarf-host/plugins/toolchain"
)

// TestShippedPlugins is `plugin test` over everything that the repository ships: each folder of plugins/
// that has a plugin.yaml, as the module that `make plugins` builds.
func TestShippedPlugins(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles all shipped plugins")
	}
	root, err := guests.Root()
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := filepath.Glob(filepath.Join(root, "plugins", "*", "plugin.yaml"))
	if err != nil || len(manifests) < 7 {
		t.Fatalf("the shipped plugins are %v, %v", manifests, err)
	}
	for _, manifest := range manifests {
		folder := filepath.Dir(manifest)
		t.Run(filepath.Base(folder), func(t *testing.T) {
			text, err := os.ReadFile(manifest)
			if err != nil {
				t.Fatal(err)
			}
			meta, err := wasm.ParseManifest(text)
			if err != nil {
				t.Fatal(err)
			}
			code, err := guests.Build(t.Context(), filepath.Join("plugins", filepath.Base(folder)))
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
			tests := []string{filepath.Join(folder, "tests")}
			if meta.Name != filepath.Base(folder) { // the same in another language says the same, for less fuel
				tests = append(tests, filepath.Join(filepath.Dir(folder), meta.Name, "tests"))
			}
			results, err := TestPlugin(t.Context(), PluginModule{Source: meta.Name, Bytes: module}, tests, TestPluginOptions{
				PluginOptions: PluginOptions{
					Sandbox: wasm.SandboxInProcess, CacheDir: guests.CompiledDir(), Limits: wasm.Limits{Compile: 5 * time.Minute, Run: time.Minute},
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range results {
				for _, problem := range r.Problems {
					t.Errorf("%s: %s", filepath.Base(r.Call), problem)
				}
				if r.Fuel > 0 && r.MaxFuel == 0 {
					t.Errorf("%s has no ceiling for its fuel", filepath.Base(r.Call))
				}
			}
			for _, use := range meta.Hooks {
				if !asked(t, results, use.Name) {
					t.Errorf("no test asks it at %s", use.Name)
				}
			}
		})
	}
}

// asked says whether one of the tests is a request of the hook.
func asked(t *testing.T, results []Tested, name hook.Name) bool {
	for _, r := range results {
		call, err := recording.Read(r.Call)
		if err != nil {
			t.Fatal(err)
		}
		if request, err := hook.ParseRequest(call.Request); err == nil && request.Hook == name {
			return true
		}
	}
	return false
}
