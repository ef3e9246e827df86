package script_test

import (
	"context"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/internal/guests"
	"github.com/zarf-host/zarf-host/host/wasm"
)

// scriptGuest makes a guest of host/internal/guests as an author makes a plugin: a folder of it, or one of
// guests.Failing, which is asked at pre-deploy unless other metadata is named.
func scriptGuest(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 1 || len(args) == 3, "guest NAME [METADATA FILE]")
	root, err := guests.Root()
	ts.Check(err)
	folder := filepath.Join("host", "internal", "guests", args[0])
	described, out := filepath.Join(root, folder, "plugin.yaml"), ts.MkAbs(args[0]+".wasm")
	if len(args) == 3 {
		described, out = ts.MkAbs(args[1]), ts.MkAbs(args[2])
	}
	module, failing := guests.Failing(args[0])
	if !failing {
		module, err = guests.Build(context.Background(), folder)
		ts.Check(err)
	}
	meta := hook.Metadata{Name: args[0], Version: "0.0.1", ABI: []string{"v1"}, Hooks: []hook.Use{{Name: hook.PreDeploy}}}
	if args[0] == "calling" {
		meta.Capabilities = []hook.Capability{hook.PackageFile}
	}
	if !failing || len(args) == 3 {
		manifest, err := os.ReadFile(described)
		ts.Check(err)
		meta, err = wasm.ParseManifest(manifest)
		ts.Check(err)
	}
	annotated, err := wasm.Annotate(module, meta)
	ts.Check(err)
	ts.Check(os.WriteFile(out, annotated, 0o600))
}
