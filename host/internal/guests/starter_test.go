package guests_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/internal/guests"
	"github.com/zarf-host/zarf-host/host/wasm"
	"github.com/zarf-host/zarf-host/plugins/starter"
	"github.com/zarf-host/zarf-host/plugins/toolchain"
)

func TestMain(m *testing.M) {
	wasm.ChildMain() // the plugins run in children of this program
	os.Exit(m.Run())
}

// Each language's plugin is written, built offline where it can be, and says to the requests of its own
// tests what they want, within their fuel.
func TestStarters(t *testing.T) {
	for _, language := range toolchain.Languages() {
		t.Run(string(language), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "prod")
			started, err := starter.Write(dir, starter.Options{Language: language})
			if err != nil {
				t.Fatal(err)
			}
			if started.Name != "prod" || !slices.Contains(started.Files, "README.md") || !slices.Contains(started.Files, ".gitignore") {
				t.Errorf("it started %+v", started)
			}
			prepare(t, language, dir)
			module, err := toolchain.Build(t.Context(), dir, toolchain.Options{Env: []string{guests.CargoEnv()}})
			if toolchain.IsMissing(err) {
				t.Skipf("this lane does not run: %v", err)
			}
			if err != nil {
				t.Fatal(err)
			}
			manifest, err := os.ReadFile(filepath.Join(dir, "plugin.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			meta, err := wasm.ParseManifest(manifest)
			if err != nil {
				t.Fatal(err)
			}
			annotated, err := wasm.Annotate(module, meta)
			if err != nil {
				t.Fatal(err)
			}
			tests, err := filepath.Glob(filepath.Join(dir, "tests", "*"))
			if err != nil || len(tests) < 2 {
				t.Fatalf("its tests are %q, %v", tests, err)
			}
			plugin, err := wasm.Load(t.Context(), annotated, wasm.Options{Config: map[string]any{"namespaces": []any{"prod"}}, CacheDir: guests.CompiledDir()})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = plugin.Close(context.Background()) })
			for _, test := range tests {
				t.Run(filepath.Base(test), func(t *testing.T) { ask(t, plugin, test) })
			}
			// Without its configuration it must not look like a guard that has nothing against it.
			for _, config := range []map[string]any{{"namespaces": []any{}}, {}, {"namespace": []any{"prod"}}} {
				if p, err := wasm.Load(t.Context(), annotated, wasm.Options{Config: config, CacheDir: guests.CompiledDir()}); err == nil {
					_ = p.Close(t.Context())
					t.Errorf("its schema accepts %v, which protects nothing", config)
				}
			}
		})
	}
}

// prepare cuts the Go plugin off from every network, and gets what AssemblyScript's is built with.
func prepare(t *testing.T, language toolchain.Language, dir string) {
	t.Helper()
	switch language {
	case toolchain.Go:
		t.Setenv("GOPROXY", "off")
		t.Setenv("GOFLAGS", "")
		test := exec.Command("go", "test", "./...")
		test.Dir = dir
		if out, err := test.CombinedOutput(); err != nil {
			t.Errorf("its own tests fail: %v\n%s", err, out)
		}
	case toolchain.AssemblyScript:
		modules, err := guests.NodeModules(t.Context(), filepath.Join(dir, "package.json"))
		if err != nil {
			t.Skipf("this lane does not run: %v", err)
		}
		if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
			t.Fatal(err)
		}
	}
}

// ask puts a test's request to a plugin and holds the answer against what is wanted.
func ask(t *testing.T, plugin *wasm.Plugin, dir string) {
	t.Helper()
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	request, err := hook.ParseRequest(read("request.json"))
	if err != nil {
		t.Fatal(err)
	}
	var call struct {
		MaxFuel uint64 `json:"maxFuel"`
	}
	if err := json.Unmarshal(read("call.json"), &call); err != nil {
		t.Fatal(err)
	}
	var want hook.Response
	if err := json.Unmarshal(read("response.json"), &want); err != nil {
		t.Fatal(err)
	}
	result, err := plugin.Call(t.Context(), request)
	if err != nil {
		t.Fatalf("%v\n%s", err, result.Log)
	}
	if diff := cmp.Diff(want, result.Response); diff != "" {
		t.Error(diff)
	}
	if result.Fuel > call.MaxFuel {
		t.Errorf("it takes %d fuel, at most %d are wanted", result.Fuel, call.MaxFuel)
	}
}
