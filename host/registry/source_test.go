package registry_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/image"
	"github.com/zarf-host/zarf-host/host/registry"
)

// source is a package with images whose blobs are made as they are read.
type source struct {
	files []bundle.File
	open  map[string]func() io.Reader
	index ocispec.Index
	walks int
}

func newSource() *source {
	return &source{open: map[string]func() io.Reader{}}
}

func (s *source) Files() []bundle.File { return s.files }

// Walk goes through the files by name, as Zarf's archives do.
func (s *source) Walk(ctx context.Context, want func(string) bool, fn func(bundle.File, io.Reader) error) error {
	s.walks++
	slices.SortFunc(s.files, func(a, b bundle.File) int { return strings.Compare(a.Path, b.Path) })
	for _, f := range s.files {
		if !want(f.Path) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := fn(f, s.open[f.Path]()); err != nil {
			return err
		}
	}
	return nil
}

func (s *source) add(path, sum string, size int64, open func() io.Reader) {
	if s.open[path] == nil {
		s.files = append(s.files, bundle.File{Path: path, Size: size, SHA256: sum})
	}
	s.open[path] = open
}

func (s *source) bytes(mediaType string, data []byte) ocispec.Descriptor {
	d := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}
	s.add(image.BlobPath(d), d.Digest.Encoded(), d.Size, func() io.Reader { return bytes.NewReader(data) })
	return d
}

func (s *source) json(t testing.TB, mediaType string, v any) ocispec.Descriptor {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return s.bytes(mediaType, data)
}

// noise is as many bytes as it says, always the same ones for a seed.
func noise(seed byte, size int64) io.Reader {
	return io.LimitReader(rand.NewChaCha8([32]byte{seed, byte(size)}), size)
}

// layer is a layer of so many bytes; equal seeds and sizes are the same layer.
func (s *source) layer(t testing.TB, seed byte, size int64) ocispec.Descriptor {
	t.Helper()
	sum := sha256.New()
	if _, err := io.Copy(sum, noise(seed, size)); err != nil {
		t.Fatal(err)
	}
	d := ocispec.Descriptor{
		MediaType: ocispec.MediaTypeImageLayerGzip, Size: size,
		Digest: digest.NewDigestFromEncoded(digest.SHA256, hex.EncodeToString(sum.Sum(nil))),
	}
	s.add(image.BlobPath(d), d.Digest.Encoded(), size, func() io.Reader { return noise(seed, size) })
	return d
}

// manifest is an image that is in the package under no name.
func (s *source) manifest(t testing.TB, comment string, layers ...ocispec.Descriptor) ocispec.Descriptor {
	t.Helper()
	config := s.json(t, ocispec.MediaTypeImageConfig, map[string]any{"architecture": "amd64", "os": "linux", "comment": comment})
	m := ocispec.Manifest{MediaType: ocispec.MediaTypeImageManifest, Config: config, Layers: layers}
	m.SchemaVersion = 2
	return s.json(t, ocispec.MediaTypeImageManifest, m)
}

func (s *source) indexOf(t testing.TB, children ...ocispec.Descriptor) ocispec.Descriptor {
	t.Helper()
	x := ocispec.Index{MediaType: ocispec.MediaTypeImageIndex, Manifests: children}
	x.SchemaVersion = 2
	return s.json(t, ocispec.MediaTypeImageIndex, x)
}

// name gives a manifest the name of an image.
func (s *source) name(t testing.TB, ref string, d ocispec.Descriptor) image.Reference {
	t.Helper()
	parsed := parse(t, ref)
	d.Annotations = map[string]string{ocispec.AnnotationBaseImageName: parsed.String(), ocispec.AnnotationRefName: parsed.String()}
	s.index.Manifests = append(s.index.Manifests, d)
	return parsed
}

func (s *source) image(t testing.TB, ref string, layers ...ocispec.Descriptor) image.Reference {
	t.Helper()
	return s.name(t, ref, s.manifest(t, ref, layers...))
}

func (s *source) content(t testing.TB) *registry.Content {
	t.Helper()
	data, err := json.Marshal(s.index)
	if err != nil {
		t.Fatal(err)
	}
	sum := digest.FromBytes(data).Encoded()
	s.add("images/index.json", sum, int64(len(data)), func() io.Reader { return bytes.NewReader(data) })
	content, err := registry.ReadContent(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func parse(t testing.TB, ref string) image.Reference {
	t.Helper()
	parsed, err := image.Parse(ref)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// open opens a client whose limits are those of a test.
func open(t testing.TB, opts registry.Options) *registry.Client {
	t.Helper()
	if opts.Backoff == 0 {
		opts.Backoff = 10 * time.Millisecond
	}
	client, err := registry.Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Errorf("closing the client: %v", err)
		}
	})
	return client
}

// push pushes and fails the test if that fails.
func push(t testing.TB, client *registry.Client, content *registry.Content, refs ...image.Reference) registry.PushResult {
	t.Helper()
	result, err := client.Push(t.Context(), registry.PushOptions{Images: refs, Content: content})
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Images) != len(refs) {
		t.Fatalf("pushed %d images of %d: %+v", len(result.Images), len(refs), result)
	}
	return result
}

// messages collects what a client says.
func messages(into *[]string) event.Sink {
	return event.Func(func(e event.Event) { *into = append(*into, e.Message) })
}

// shared is a file of the folder beside the repository that holds what Zarf made.
func shared(t testing.TB, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("there is no go.mod above the tests")
		}
		dir = filepath.Dir(dir)
	}
	file := filepath.Join(filepath.Dir(dir), "shared", name)
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
	return file
}

func sample(t testing.TB, name string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(shared(t, name))
	if err != nil {
		t.Fatal(err)
	}
	tags := map[string]string{}
	for line := range strings.Lines(string(data)) {
		var tag, sum string
		if _, err := fmt.Sscan(line, &tag, &sum); err != nil {
			t.Fatal(err)
		}
		tags[tag] = sum
	}
	return tags
}

func (s *source) remove(path string) {
	s.files = slices.DeleteFunc(s.files, func(f bundle.File) bool { return f.Path == path })
}

// place writes a file of the package to disk.
func (s *source) place(t testing.TB, file, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.Copy(f, s.open[path]()); err != nil {
		t.Fatal(err)
	}
}

// cache lets the blobs be read from an OCI layout in place of being made.
func (s *source) cache(t testing.TB, layout string) {
	t.Helper()
	for _, f := range s.files {
		file := filepath.Join(filepath.Dir(layout), f.Path)
		s.open[f.Path] = func() io.Reader {
			data, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { data.Close() })
			return data
		}
	}
}
