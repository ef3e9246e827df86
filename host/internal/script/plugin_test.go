package script_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/rogpeppe/go-internal/testscript"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/zarf-host/zarf-host/host/signature"
)

// layouts are the ways in which tools keep a WASM module in a registry: the types of the configuration
// and of the layers, of which the last is the module.
var layouts = map[string][]string{
	"wasm-to-oci": {"application/vnd.wasm.config.v1+json", "application/vnd.wasm.content.layer.v1+wasm"},
	"solo": {"application/vnd.oci.image.config.v1+json", "application/vnd.module.wasm.config.v1+json",
		"application/vnd.module.wasm.content.layer.v1+wasm"},
	"image": {"application/vnd.oci.image.config.v1+json", "application/vnd.oci.image.layer.v1.tar+gzip"},
}

// scriptLayout pushes a file into the script's registry in a layout, or with -index as the one WASM module
// of an index.
func scriptLayout(ts *testscript.TestScript, neg bool, args []string) {
	index := len(args) > 0 && args[0] == "-index"
	if index {
		args = args[1:]
	}
	usage(ts, neg, len(args) == 4 && layouts[args[0]] != nil, "layout [-index] LAYOUT FILE REPOSITORY TAG")
	module, err := os.ReadFile(ts.MkAbs(args[1]))
	ts.Check(err)
	repository, err := remote.NewRepository(ts.Getenv("REGISTRY") + "/" + args[2])
	ts.Check(err)
	repository.PlainHTTP = true
	push := func(mediaType, tag string, data []byte) ocispec.Descriptor {
		d := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}
		if tag != "" {
			ts.Check(repository.PushReference(context.Background(), d, bytes.NewReader(data), tag))
			return d
		}
		ts.Check(repository.Push(context.Background(), d, bytes.NewReader(data)))
		return d
	}
	marshal := func(v any) []byte {
		data, err := json.Marshal(v)
		ts.Check(err)
		return data
	}
	types := layouts[args[0]]
	manifest := ocispec.Manifest{MediaType: ocispec.MediaTypeImageManifest, Config: push(types[0], "", []byte("{}"))}
	manifest.SchemaVersion = 2
	for i, mediaType := range types[1:] {
		data := module
		if i+2 < len(types) {
			data = []byte(`{"abi_version":"none"}`)
		}
		manifest.Layers = append(manifest.Layers, push(mediaType, "", data))
	}
	if !index {
		push(ocispec.MediaTypeImageManifest, args[3], marshal(manifest))
		return
	}
	d := push(ocispec.MediaTypeImageManifest, "", marshal(manifest))
	d.Platform = &ocispec.Platform{OS: "wasip1", Architecture: "wasm"}
	all := ocispec.Index{MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{d}}
	all.SchemaVersion = 2
	push(ocispec.MediaTypeImageIndex, args[3], marshal(all))
}

// scriptSignFile signs a file as `cosign sign-blob --key KEY --bundle FILE.sigstore.json FILE` does.
func scriptSignFile(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 3, "sign-file KEY PASSWORD FILE")
	data, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	key, err := signature.ParsePrivateKey(data, []byte(args[1]))
	ts.Check(err)
	content, err := os.ReadFile(ts.MkAbs(args[2]))
	ts.Check(err)
	bundle, err := key.SignFile(content)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[2]+".sigstore.json"), bundle, 0o600))
}
