package source_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/internal/packagetest"
	"github.com/zarf-host/zarf-host/host/source"
)

var quietLog = log.New(io.Discard, "", 0)

// document is a manifest that a test changes.
type document struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	Config        layer             `json:"config"`
	Layers        []layer           `json:"layers"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

type layer struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

const title = "org.opencontainers.image.title"

func (d *document) layer(path string) *layer {
	for i := range d.Layers {
		if d.Layers[i].Annotations[title] == path {
			return &d.Layers[i]
		}
	}
	return nil
}

// add adds a file to the package and the registry.
func (d *document) add(f *fake, path, content string) {
	d.Layers = append(d.Layers, layer{
		MediaType: "application/vnd.zarf.layer.v1.blob", Digest: f.putBlob([]byte(content)), Size: int64(len(content)),
		Annotations: map[string]string{title: path},
	})
}

// A registry that lies is refused, by the name of what it lies about.
func TestOCIHostileRegistry(t *testing.T) {
	const web = "components/first.tar"
	path := writeForms(t, packagetest.Options{})
	blobOf := func(f *fake, d *document, path string) []byte { return f.blobs[d.layer(path).Digest] }
	for _, c := range []struct {
		kind         string
		manifest     func(f *fake, d *document)
		registry     func(f *fake, d *document)
		file, reason string
	}{
		{kind: "another config", manifest: func(_ *fake, d *document) { d.Config.MediaType = "application/vnd.oci.image.config.v1+json" },
			file: "manifest", reason: "no Zarf package"},
		{kind: "another media type of a layer", manifest: func(_ *fake, d *document) { d.layer(web).MediaType = "application/octet-stream" },
			file: web, reason: "media type"},
		{kind: "dot-dot", manifest: func(f *fake, d *document) { d.add(f, "components/../../evil", "x") },
			file: "components/../../evil", reason: `".."`},
		{kind: "absolute title", manifest: func(f *fake, d *document) { d.add(f, "/etc/passwd", "x") }, file: "/etc/passwd", reason: "absolute"},
		{kind: "backslash", manifest: func(f *fake, d *document) { d.add(f, `a\b`, "x") }, file: `a\b`, reason: "backslash"},
		{kind: "no title", manifest: func(_ *fake, d *document) { d.layer(web).Annotations = nil }, file: "layer", reason: "without a title"},
		{kind: "duplicate title", manifest: func(f *fake, d *document) { d.add(f, web, "x") }, file: web, reason: "duplicate"},
		{kind: "duplicate title by case", manifest: func(f *fake, d *document) { d.add(f, strings.ToUpper(web), "x") },
			file: strings.ToUpper(web), reason: "by case only"},
		{kind: "file below a file", manifest: func(f *fake, d *document) { d.add(f, web+"/x", "x") }, file: web, reason: "not a folder"},
		{kind: "digest of another kind", manifest: func(_ *fake, d *document) { d.layer(web).Digest = "md5:" + strings.Repeat("a", 32) },
			file: web, reason: "not a sha256"},
		{kind: "negative size", manifest: func(_ *fake, d *document) { d.layer(web).Size = -1 }, file: web, reason: "-1 bytes"},
		{kind: "too much in all", manifest: func(_ *fake, d *document) { d.layer(web).Size = 1 << 60 }, file: web, reason: "more than the allowed"},
		{kind: "definition too large", manifest: func(_ *fake, d *document) { d.layer("zarf.yaml").Size = 2 << 20 }, file: "zarf.yaml", reason: "allowed are"},
		{kind: "no definition", manifest: func(_ *fake, d *document) { d.layer("zarf.yaml").Annotations[title] = "other.yaml" },
			file: "zarf.yaml", reason: "missing"},
		{kind: "no checksums", manifest: func(_ *fake, d *document) { d.layer("checksums.txt").Annotations[title] = "other.txt" },
			file: "checksums.txt", reason: "missing"},
		{kind: "layer that checksums.txt lacks", manifest: func(f *fake, d *document) { d.add(f, "components/extra.tar", "x") },
			file: "components/extra.tar", reason: "not listed"},
		{kind: "layer that the manifest lacks", manifest: func(_ *fake, d *document) {
			for i := range d.Layers {
				if d.Layers[i].Annotations[title] == web {
					d.Layers = append(d.Layers[:i], d.Layers[i+1:]...)
					return
				}
			}
		}, file: web, reason: "listed in checksums.txt but missing"},
		{kind: "another file in its place", manifest: func(f *fake, d *document) { d.layer(web).Digest = d.layer("components/second.tar").Digest },
			file: web, reason: "checksum is"},
		{kind: "another size", manifest: func(_ *fake, d *document) { d.layer(web).Size++ }, file: web, reason: "the manifest declares"},
		{kind: "another annotation", manifest: func(_ *fake, d *document) { d.Annotations["own"] = "1" }, file: "manifest", reason: "its digest is"},

		{kind: "blob is gone", registry: func(f *fake, d *document) { delete(f.blobs, d.layer(web).Digest) }, file: web, reason: "not there"},
		{kind: "definition is gone", registry: func(f *fake, d *document) { delete(f.blobs, d.layer("zarf.yaml").Digest) }, file: "zarf.yaml", reason: "not there"},
		{kind: "other bytes", registry: func(f *fake, d *document) {
			f.blobs[d.layer(web).Digest] = bytes.Repeat([]byte{0}, len(blobOf(f, d, web)))
		}, file: web, reason: "changed since"},
		{kind: "changed byte", registry: func(f *fake, d *document) {
			data := bytes.Clone(blobOf(f, d, web))
			data[600] ^= 1
			f.blobs[d.layer(web).Digest] = data
		}, file: web},
		{kind: "changed definition", registry: func(f *fake, d *document) {
			f.blobs[d.layer("zarf.yaml").Digest] = bytes.Replace(blobOf(f, d, "zarf.yaml"), []byte("name: forms"), []byte("name: farms"), 1)
		}, file: "zarf.yaml", reason: "changed since"},
		{kind: "longer", registry: func(f *fake, d *document) {
			f.blobs[d.layer(web).Digest] = append(bytes.Clone(blobOf(f, d, web)), 0)
		}, file: web, reason: "the manifest declares"},
		{kind: "shorter", registry: func(f *fake, d *document) {
			f.blobs[d.layer(web).Digest] = blobOf(f, d, web)[:100]
		}, file: web, reason: "the manifest declares"},
		{kind: "endless", registry: func(f *fake, d *document) {
			f.answer = func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.HasSuffix(r.URL.Path, d.layer(web).Digest) {
					return false
				}
				_, _ = w.Write(blobOf(f, d, web))
				for zeros := make([]byte, 32<<10); r.Context().Err() == nil; {
					if _, err := w.Write(zeros); err != nil {
						break
					}
				}
				return true
			}
		}, file: web, reason: "size over the declared one"},
		{kind: "another manifest", registry: func(f *fake, d *document) {
			for name, data := range f.manifests {
				if strings.HasPrefix(name, "sha256:") {
					f.manifests[name] = bytes.Replace(data, []byte("1.0.0"), []byte("1.0.1"), 1)
					f.manifests[name] = append(f.manifests[name], ' ')
				}
			}
		}, file: "sha256:", reason: "has the digest"},
		{kind: "no index", registry: func(f *fake, _ *document) {
			f.manifests["1.0.0"] = []byte(`{"mediaType":"application/vnd.oci.image.index.v1+json","manifests":1}`)
		}, file: "index", reason: "not an OCI index"},
		{kind: "two packages for one architecture", registry: func(f *fake, _ *document) {
			f.manifests["1.0.0"] = bytes.Replace(f.manifests["1.0.0"], []byte(`"manifests":[`), []byte(
				`"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:`+strings.Repeat("a", 64)+`","size":1,"platform":{"architecture":"amd64","os":"multi"}},`), 1)
		}, file: "index", reason: "two packages"},
		{kind: "size of the manifest", registry: func(f *fake, _ *document) {
			for name, data := range f.manifests {
				if strings.HasPrefix(name, "sha256:") {
					f.manifests["1.0.0"] = index(name, len(data)+1)
				}
			}
		}, file: "sha256:", reason: "the index declares"},
		{kind: "manifest without end", registry: func(f *fake, _ *document) {
			f.answer = func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.Contains(r.URL.Path, "/manifests/") {
					return false
				}
				for spaces := bytes.Repeat([]byte{' '}, 1<<20); r.Context().Err() == nil; {
					if _, err := w.Write(spaces); err != nil {
						break
					}
				}
				return true
			}
		}, file: "1.0.0", reason: "a manifest of more than"},
	} {
		t.Run(c.kind, func(t *testing.T) {
			f := newFake(t)
			digest := f.publish(t, path)
			var d document
			if err := json.Unmarshal(f.manifests[digest], &d); err != nil {
				t.Fatal(err)
			}
			if c.manifest != nil {
				c.manifest(f, &d)
				data, err := json.Marshal(d)
				if err != nil {
					t.Fatal(err)
				}
				delete(f.manifests, digest)
				f.putManifest(data)
			}
			if c.registry != nil {
				c.registry(f, &d)
			}
			err := readAll(f.ref())
			var refused *bundle.RefusedError
			if !errors.As(err, &refused) || !strings.Contains(refused.File, c.file) || !strings.Contains(refused.Reason, c.reason) {
				t.Errorf("error is %v\nwant the refusal of %q for %q", err, c.file, c.reason)
			}
		})
	}
}

// readAll opens a package and reads every component.
func readAll(ref string) error {
	b, err := source.Open(context.Background(), ref, quick)
	if err != nil {
		return err
	}
	for _, c := range b.Definition().Components {
		if _, err := b.ReadComponent(context.Background(), c.Name, func(string) bool { return true }); err != nil {
			return errors.Join(err, b.Close())
		}
	}
	return b.Close()
}
