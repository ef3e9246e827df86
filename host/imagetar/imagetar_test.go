package imagetar_test

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/zarf-host/zarf-host/host/image"
	"github.com/zarf-host/zarf-host/host/imagetar"
)

// checking is a store that takes only what is what its digest says.
type checking struct{ t testing.TB }

func (c checking) Put(_ context.Context, d digest.Digest, size int64, content io.Reader) error {
	verifier := d.Verifier()
	n, err := io.Copy(verifier, io.LimitReader(content, size+1))
	if err != nil {
		return err
	}
	if n != size || !verifier.Verified() {
		return fmt.Errorf("%s is something else", d)
	}
	return nil
}

func layout(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for name, content := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Whatever an archive holds, what comes out of it is what its digests say, or an error.
func FuzzRead(f *testing.F) {
	manifest := `{"config":{"digest":"` + digest.FromString("{}").String() + `","size":2},"layers":[]}`
	index := fmt.Sprintf(`{"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":%q,"size":%d,"annotations":{"org.opencontainers.image.ref.name":"a.test/x:1"}}]}`,
		digest.FromString(manifest), len(manifest))
	f.Add(layout(f, map[string]string{
		"index.json": index, "blobs/sha256/" + digest.FromString(manifest).Encoded(): manifest, "blobs/sha256/" + digest.FromString("{}").Encoded(): "{}",
	}))
	f.Add(layout(f, map[string]string{"manifest.json": `[{"Config":"c","RepoTags":["a.test/x:1"],"Layers":["l"]}]`, "c": "{}", "l": ""}))
	f.Add([]byte{0x1f, 0x8b, 8})
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd})
	ref, err := image.Parse("a.test/x:1")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file := filepath.Join(t.TempDir(), "a.tar")
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := imagetar.Read(t.Context(), file, ref, "amd64", checking{t})
		if err == nil && d.Digest.Validate() != nil {
			t.Errorf("the manifest is %+v", d)
		}
	})
}

func TestReadRefusesABlobThatIsSomethingElse(t *testing.T) {
	manifest := `{"config":{"digest":"` + digest.FromString("{}").String() + `","size":2},"layers":[]}`
	index := fmt.Sprintf(`{"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":%q,"size":%d,"annotations":{"org.opencontainers.image.ref.name":"a.test/x:1"}}]}`,
		digest.FromString(manifest), len(manifest))
	ref, err := image.Parse("a.test/x:1")
	if err != nil {
		t.Fatal(err)
	}
	blob := "blobs/sha256/" + digest.FromString("{}").Encoded()
	for name, files := range map[string]map[string]string{
		"another manifest":      {"index.json": index, "blobs/sha256/" + digest.FromString(manifest).Encoded(): "{}"},
		"another configuration": {"index.json": index, "blobs/sha256/" + digest.FromString(manifest).Encoded(): manifest, blob: "[]"},
		"no configuration":      {"index.json": index, "blobs/sha256/" + digest.FromString(manifest).Encoded(): manifest},
		"no index":              {"blob": ""},
	} {
		file := filepath.Join(t.TempDir(), "a.tar")
		if err := os.WriteFile(file, layout(t, files), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := imagetar.Read(t.Context(), file, ref, "amd64", checking{t}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
