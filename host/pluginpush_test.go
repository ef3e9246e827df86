package host

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/internal/testregistry"
	"github.com/zarf-host/zarf-host/host/plugin"
	"github.com/zarf-host/zarf-host/host/registry"
	"github.com/zarf-host/zarf-host/host/signature"
	"github.com/zarf-host/zarf-host/host/wasm"
)

// tiny is a module that does nothing, with metadata.
func tiny(t *testing.T, name string) []byte {
	t.Helper()
	code := "\x00asm\x01\x00\x00\x00" + // a module with
		"\x01\x04\x01\x60\x00\x00" + "\x03\x02\x01\x00" + // a function,
		"\x05\x03\x01\x00\x01" + // a page of memory,
		"\x07\x13\x02\x06memory\x02\x00\x06_start\x00\x00" + // both exported,
		"\x0a\x04\x01\x02\x00\x0b" // and nothing in the function
	module, err := wasm.Annotate([]byte(code), hook.Metadata{
		Name: name, Version: "1.0.0", ABI: []string{hook.ABI}, Hooks: []hook.Use{{Name: hook.PreDeploy}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return module
}

func reference(t *testing.T, text string) plugin.Reference {
	t.Helper()
	ref, err := plugin.ParseReference(text)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// What was pushed is had again, and a certificate that nobody knows is accepted only where that was asked
// for.
func TestPluginsOverTLS(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{TLS: true})
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	module := tiny(t, "tiny")
	ref := reference(t, "oci://"+r.Address()+"/tiny:1")
	if _, err := PushPlugin(t.Context(), module, ref, PushPluginOptions{}); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("pushing to a registry of an unknown authority: %v", err)
	}
	insecure := PluginSource{InsecureSkipTLSVerify: true}
	pushed, err := PushPlugin(t.Context(), module, ref, PushPluginOptions{PluginSource: insecure})
	if err != nil {
		t.Fatal(err)
	}
	if want := r.Digest(t, "tiny", "1"); pushed.Reference.Digest != want {
		t.Errorf("the reference is pinned to %s, the registry has %s", pushed.Reference.Digest, want)
	}
	if _, err := FetchPlugin(t.Context(), ref, nil, PluginSource{PlainHTTP: true}); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("plain HTTP is no way around a certificate: %v", err)
	}
	fetched, err := FetchPlugin(t.Context(), reference(t, pushed.Source), nil, insecure)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(pushed, fetched); diff != "" {
		t.Error(diff)
	}
	if string(fetched.Bytes) != string(module) {
		t.Error("it is not the same module")
	}
	for _, bad := range []string{ref.String() + "@" + pushed.Reference.Digest, "oci://" + r.Address() + "/tiny@" + pushed.Reference.Digest, "tiny.wasm"} {
		if _, err := PushPlugin(t.Context(), module, reference(t, bad), PushPluginOptions{PluginSource: insecure}); err == nil {
			t.Errorf("pushed under %s", bad)
		}
	}
}

// A registry as cosign 3 left it: what it signed counts as signed, by that key alone, also where the
// registry lists what refers to a manifest itself. The module comes after the signature.
func TestASignatureOfCosign3(t *testing.T) {
	const (
		manifest = "sha256:63fadb37062c7e147b05e1cf65ff48757741d6388ec40c4520310eac64fa6d21"
		signed   = "sha256:5d55f43204ed7c30ecd0789cc42120c7ebbd36a3d34e2c29d3077809d946ba3f"
		bundle   = "sha256:838a53d94ff7e1c45423d196c5327d227ba0cd5e34740736ee9b68403e6f613e"
	)
	answers := map[string]string{
		"/v2/plugins/window/manifests/0.1.0":                                     "testdata/cosign3/manifest.json",
		"/v2/plugins/window/manifests/" + strings.Replace(manifest, ":", "-", 1): "testdata/cosign3/referrers.json",
		"/v2/plugins/window/referrers/" + manifest:                               "testdata/cosign3/referrers.json",
		"/v2/plugins/window/manifests/" + signed:                                 "testdata/cosign3/signature.json",
		"/v2/plugins/window/blobs/" + bundle:                                     "signature/testdata/artifact.sigstore.json",
	}
	for _, knowsReferrers := range []bool{false, true} {
		asked := map[string]bool{}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked[r.URL.Path] = true
			file, ok := answers[r.URL.Path]
			switch {
			case r.URL.Path == "/v2/":
				return
			case !ok, !knowsReferrers && strings.Contains(r.URL.Path, "/referrers/"):
				w.WriteHeader(http.StatusNotFound)
				return
			}
			data, err := os.ReadFile(filepath.FromSlash(file))
			if err != nil {
				t.Error(err)
			}
			mediaType := "application/vnd.oci.image.manifest.v1+json"
			if strings.Contains(file, "referrers") {
				mediaType = "application/vnd.oci.image.index.v1+json"
			}
			w.Header().Set("Content-Type", mediaType)
			_, _ = w.Write(data)
		}))
		ref := reference(t, "oci://"+strings.TrimPrefix(server.URL, "http://")+"/plugins/window:0.1.0")
		key := publicKey(t, "signature/testdata/cosign.pub")
		if _, err := FetchPlugin(t.Context(), ref, nil, PluginSource{Keys: []signature.PublicKey{key}}); !errors.Is(err, registry.ErrNotFound) {
			t.Errorf("what cosign signed, whose module is not there: %v", err)
		}
		if module := "/v2/plugins/window/blobs/sha256:1ce6a55534e1d75fe4aed2ed271612839afa2028ce298c972d79812b41088371"; !asked[module] {
			t.Error("the registry was not asked for the module")
		}
		if by := "/v2/plugins/window/referrers/" + manifest; !asked[by] {
			t.Error("the registry was not asked what refers to the manifest")
		}
		clear(asked)
		var refused *PluginSignatureError
		other := publicKey(t, "../../shared/packages/signed-yolo-demo.pub")
		if _, err := FetchPlugin(t.Context(), ref, nil, PluginSource{Keys: []signature.PublicKey{other}}); !errors.As(err, &refused) || refused.Found != 1 {
			t.Errorf("another key: %v", err)
		}
		server.Close()
	}
}

func publicKey(t *testing.T, path string) signature.PublicKey {
	t.Helper()
	data, err := os.ReadFile(filepath.FromSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	key, err := signature.ParsePublicKey(data)
	if err != nil {
		t.Fatal(err)
	}
	return key
}
