package testregistry

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/zarf-host/zarf-host/host/bundle"
)

// Publish publishes a package that lies on disk as Zarf does, below pkg/, and returns its reference.
func (r *Registry) Publish(t testing.TB, path string) (ref string) {
	t.Helper()
	ctx := t.Context()
	b, err := bundle.Open(ctx, path, bundle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	pkg := b.Definition()
	ref = r.Address() + "/pkg/" + pkg.Metadata.Name
	repo, err := remote.NewRepository(ref)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	if repo.PlainHTTP = r.url.Scheme == "http"; !repo.PlainHTTP {
		transport.TLSClientConfig = r.TLS(t)
	}
	repo.Client = &auth.Client{
		Client:     &http.Client{Transport: transport},
		Credential: auth.StaticCredential(r.Address(), auth.Credential{Username: r.opts.User, Password: r.opts.Password}),
	}
	push := func(mediaType, sum string, size int64, content io.Reader) {
		t.Helper()
		if err := repo.Push(ctx, ocispec.Descriptor{MediaType: mediaType, Digest: digest.Digest(sum), Size: size}, content); err != nil {
			t.Fatal(err)
		}
	}
	const blob = "application/octet-stream"
	manifest, config, err := b.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	push(blob, sumOf(config), int64(len(config)), bytes.NewReader(config))
	err = b.Walk(ctx, func(string) bool { return true }, func(f bundle.File, content io.Reader) error {
		push(blob, "sha256:"+f.SHA256, f.Size, content)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	push(bundle.ManifestMediaType, b.Digest(), int64(len(manifest)), bytes.NewReader(manifest))
	index := indexOf(t, b.Digest(), len(manifest), pkg.Build.Architecture)
	top := ocispec.Descriptor{MediaType: bundle.IndexMediaType, Digest: digest.FromBytes(index), Size: int64(len(index))}
	if err := repo.PushReference(ctx, top, bytes.NewReader(index), pkg.Metadata.Version); err != nil {
		t.Fatal(err)
	}
	return ref + ":" + pkg.Metadata.Version
}

// indexOf is the index that Zarf puts under the tag of a package.
func indexOf(t testing.TB, sum string, size int, architecture string) []byte {
	t.Helper()
	index := ocispec.Index{MediaType: bundle.IndexMediaType, Manifests: []ocispec.Descriptor{{
		MediaType: bundle.ManifestMediaType, Digest: digest.Digest(sum), Size: int64(size),
		Platform: &ocispec.Platform{Architecture: architecture, OS: "multi"},
	}}}
	index.SchemaVersion = 2
	data, err := json.Marshal(index)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}
