package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// A manifest is refused, or names files that stay inside, each once.
func FuzzParseManifest(f *testing.F) {
	for _, sample := range []string{"oci-demo-0.1.0.manifest.json", "oci-demo-diff.manifest.json"} {
		data, err := os.ReadFile("../../../shared/samples/" + sample)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.zarf.config.v1+json"},"layers":[]}`))
	limits := Limits{Bytes: 1 << 30, Entries: 1000}.withDefaults()
	f.Fuzz(func(t *testing.T, data []byte) {
		files, err := parseManifest(data, limits)
		if err != nil {
			var refused *RefusedError
			if !errors.As(err, &refused) {
				t.Errorf("error is %v, want a refusal", err)
			}
			return
		}
		seen := map[string]bool{}
		for _, file := range files {
			if !filepath.IsLocal(file.Path) || strings.ContainsAny(file.Path, "\\\x00\n") || seen[fold(file.Path)] {
				t.Errorf("accepted the name %q", file.Path)
			}
			seen[fold(file.Path)] = true
			if file.Size < 0 || file.Size > limits.Bytes || !isSHA256(file.SHA256) {
				t.Errorf("accepted %+v", file)
			}
		}
	})
}

func FuzzFindManifest(f *testing.F) {
	data, err := os.ReadFile("../../../shared/samples/oci-demo-0.1.0.index.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data, "amd64")
	f.Add(data, "arm64")
	f.Fuzz(func(t *testing.T, data []byte, architecture string) {
		sum, size, err := FindManifest(data, architecture)
		if err == nil && (!isSHA256(strings.TrimPrefix(sum, "sha256:")) || size < 0) {
			t.Errorf("accepted %q of %d bytes", sum, size)
		}
	})
}

func TestFindManifest(t *testing.T) {
	data, err := os.ReadFile("../../../shared/samples/oci-demo-0.1.0.index.json")
	if err != nil {
		t.Fatal(err)
	}
	sum, size, err := FindManifest(data, "amd64")
	if want := "sha256:ec03d45f448063f91a6d72624d30aba1a01d56d6b921208d073988de3a374f5a"; sum != want || size != 6281 || err != nil {
		t.Errorf("got %s, %d, %v; want %s", sum, size, err, want)
	}
	var missing *ArchitectureError
	if _, _, err := FindManifest(data, "arm64"); !errors.As(err, &missing) || !strings.Contains(err.Error(), "only for amd64") || !strings.Contains(missing.Hint(), "amd64") {
		t.Errorf("error is %v", err)
	}
	image := strings.Replace(string(data), `"multi"`, `"linux"`, 1)
	if _, _, err := FindManifest([]byte(image), "amd64"); !errors.As(err, &missing) || !strings.Contains(missing.Hint(), "container image") {
		t.Errorf("error is %v", err)
	}
}

// noise serves files of pseudo-random bytes that lie nowhere.
type noise struct{ closed bool }

func (n *noise) Open(_ context.Context, f File) (io.ReadCloser, error) {
	var seed [32]byte
	copy(seed[:], f.Path)
	return io.NopCloser(io.LimitReader(rand.NewChaCha8(seed), f.Size)), nil
}

func (n *noise) Close() error {
	n.closed = true
	return nil
}

// However large the files of a remote package are, reading them takes little memory.
func TestRemoteMemoryStaysFlat(t *testing.T) {
	var wanted []File
	for i := range 12 {
		wanted = append(wanted, File{Path: fmt.Sprintf("images/blobs/sha256/%d", i), Size: 16 << 20})
	}
	r := &remote{source: &noise{}, concurrency: 6, memory: 32 << 20, read: map[string][]byte{}}
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var most uint64
	var total int64
	err := r.walk(context.Background(), wanted, func(_ File, body io.Reader) error {
		for buf := make([]byte, 1<<20); ; {
			n, err := io.ReadFull(body, buf)
			total += int64(n)
			if err != nil {
				break
			}
		}
		time.Sleep(20 * time.Millisecond) // let the next ones be fetched as far as they may
		var now runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&now)
		most = max(most, now.HeapAlloc-min(now.HeapAlloc, before.HeapAlloc))
		return nil
	})
	if err != nil || total != 12*16<<20 {
		t.Fatalf("read %d bytes, %v", total, err)
	}
	if most > 16<<20 {
		t.Errorf("%d bytes in memory", most)
	}
	if len(r.read) > 0 || r.memory != 32<<20 {
		t.Errorf("blobs of images were kept")
	}
}

// A checksum that is given is that of the archive, or of all parts together.
func TestOpenWithChecksum(t *testing.T) {
	archive := "../../../shared/packages/zarf-package-yolo-demo-amd64-0.1.0.tar.zst"
	data, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	split := filepath.Join(dir, "x.tar.zst.part000")
	header := fmt.Sprintf(`{"Sha256Sum":%q,"Bytes":%d,"Count":1}`, hashOf(data), len(data))
	for path, content := range map[string][]byte{split: []byte(header), filepath.Join(dir, "x.tar.zst.part001"): data} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wrong := strings.Repeat("0", 64)
	for _, c := range []struct{ path, sum, want string }{
		{archive, hashOf(data), ""}, {split, hashOf(data), ""},
		{archive, wrong, "expected was " + wrong}, {split, wrong, "expected was " + wrong},
		{archive, "abc", "not a sha256"}, {dir, wrong, "a folder has no checksum"},
	} {
		b, err := Open(context.Background(), c.path, Options{SHA256: c.sum})
		if c.want == "" && err == nil {
			if err := b.Close(); err != nil {
				t.Error(err)
			}
			continue
		}
		if c.want == "" || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Open(%q) with %s: %v, want %q", c.path, c.sum, err, c.want)
		}
	}
}
