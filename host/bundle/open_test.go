package bundle_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/internal/packagetest"
	"github.com/zarf-host/zarf-host/host/spec"
)

func open(t testing.TB, path string, o bundle.Options) *bundle.Bundle {
	t.Helper()
	b, err := bundle.Open(context.Background(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// The digest does not depend on the form in which a package lies on disk.
func TestOpenEveryForm(t *testing.T) {
	def := strings.Replace(plainDefinition, "metadata:\n", "metadata:\n  uncompressed: true\n", 1)
	plain := packagetest.Build(t, t.TempDir(), def, plainFiles)
	data, err := os.ReadFile(plain)
	if err != nil {
		t.Fatal(err)
	}
	compressed, padded := filepath.Join(t.TempDir(), "x.tar.zst"), filepath.Join(t.TempDir(), "x.tar")
	split := packagetest.BuildSplit(t, t.TempDir(), def, plainFiles, 1000)
	folder := packagetest.BuildFolder(t, t.TempDir(), def, plainFiles)
	var frames []byte
	for part := range slices.Chunk(data, 700) {
		frames = append(frames, frame(string(part))...)
		// A skippable frame of 4 bytes, such as seek tables are.
		frames = append(frames, 0x5e, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 'n', 'o', 'n', 'e')
	}
	if err := os.WriteFile(compressed, frames, 0o600); err != nil {
		t.Fatal(err)
	}
	// GNU tar pads with zeros to 10 KiB.
	if err := os.WriteFile(padded, append(data, make([]byte, 10240)...), 0o600); err != nil {
		t.Fatal(err)
	}
	want := open(t, plain, bundle.Options{}).Digest()
	for _, path := range []string{compressed, padded, split, folder} {
		if got := open(t, path, bundle.Options{}).Digest(); got != want {
			t.Errorf("digest of %s is %s, want %s", path, got, want)
		}
	}
}

// A tar made with "tar -C folder ." names its entries "./…".
func TestOpenTakesLeadingDots(t *testing.T) {
	dotted := packagetest.Options{Entries: func(entries []packagetest.Entry) []packagetest.Entry {
		for i := range entries {
			entries[i].Name = "./" + entries[i].Name
		}
		return append([]packagetest.Entry{{Name: "./", Mode: 0o700}}, entries...)
	}}
	want := open(t, packagetest.Build(t, t.TempDir(), plainDefinition, plainFiles), bundle.Options{})
	got := open(t, packagetest.BuildWith(t, t.TempDir(), plainDefinition, plainFiles, dotted), bundle.Options{})
	if got.Digest() != want.Digest() || !got.Verified() {
		t.Errorf("integrity is %+v, want digest %s", got.Integrity(), want.Digest())
	}
}

// FAULTS I3: what was checked can be shown.
func TestI3IntegrityCountsWhatWasChecked(t *testing.T) {
	b := open(t, shared(t, "packages", "zarf-package-yolo-demo-amd64-0.1.0.tar.zst"), bundle.Options{})
	want := bundle.Integrity{Files: 3, OK: true, Digest: "sha256:a9d5809f8fda87950ee1ee9dd792836b407ce443cd371c5eb939fbf4f72a6f0d"}
	if diff := cmp.Diff(want, b.Integrity()); diff != "" {
		t.Errorf("integrity differs (-want +got):\n%s", diff)
	}
}

// FAULTS I4: a package from before there were checksums can be looked at, and is not verified.
func TestI4OldPackageOpensUnverified(t *testing.T) {
	for name, o := range map[string]packagetest.Options{
		"no checksums.txt": {
			Built: func(p *spec.Package) { p.Metadata.AggregateChecksum = "" },
			Entries: func(entries []packagetest.Entry) []packagetest.Entry {
				return slices.DeleteFunc(entries, func(e packagetest.Entry) bool { return e.Name == "checksums.txt" })
			},
		},
		"no aggregateChecksum": {Built: func(p *spec.Package) { p.Metadata.AggregateChecksum = "" }},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, packagetest.BuildWith(t, t.TempDir(), plainDefinition, plainFiles, o), bundle.Options{})
			if b.Verified() || b.Integrity().Reason == "" {
				t.Errorf("integrity is %+v, want it unverified, with a reason", b.Integrity())
			}
			if got := b.Definition().Metadata.Name; got != "hostile" {
				t.Errorf("name is %q", got)
			}
		})
	}
}

// FAULTS N19: reading never changes, moves or deletes a package, nor leaves anything beside it.
func TestN19InputIsLeftAlone(t *testing.T) {
	big := packagetest.Package{Definition: plainDefinition, Files: map[string]string{"one.yaml": strings.Repeat("a: b\n", 1000)}}
	dir := t.TempDir()
	var paths []string
	archive, err := packagetest.Write(dir, big, packagetest.Options{})
	paths = append(paths, archive)
	if err == nil {
		var split string
		split, err = packagetest.WriteSplit(dir, big, packagetest.Options{Name: "split"}, 300)
		paths = append(paths, split)
	}
	if err == nil {
		var folder string
		folder, err = packagetest.WriteFolder(dir, big, packagetest.Options{Name: "folder"})
		paths = append(paths, folder)
	}
	if err != nil {
		t.Fatal(err)
	}
	// FAULTS J3: nothing is spooled anywhere either.
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	readOnly(t, dir)
	before := snapshot(t, dir)
	for _, path := range paths {
		b, err := bundle.Open(context.Background(), path, bundle.Options{MemoryBytes: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range b.Files() {
			if _, err := b.ReadFile(context.Background(), f.Path); err != nil {
				t.Error(err)
			}
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		_, err = bundle.Open(context.Background(), path, bundle.Options{Limits: bundle.Limits{Entries: 1}})
		if err == nil {
			t.Error("a package over the limit was opened")
		}
	}
	if diff := cmp.Diff(before, snapshot(t, dir)); diff != "" {
		t.Errorf("the input changed (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{}, snapshot(t, temp)); diff != "" {
		t.Errorf("something was left in the temporary folder:\n%s", diff)
	}
}

// readOnly takes the right to write from everything in dir, until the test ends.
func readOnly(t *testing.T, dir string) {
	t.Helper()
	set := func(files, dirs fs.FileMode) {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() {
				return os.Chmod(path, dirs)
			}
			return os.Chmod(path, files)
		})
		if err != nil {
			t.Error(err)
		}
	}
	set(0o400, 0o500)
	t.Cleanup(func() { set(0o600, 0o700) })
}

// snapshot is every file below dir with its mode, time and content.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		out[path] = info.Mode().String() + info.ModTime().String() + string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What a signed definition calls provenance need not be in checksums.txt; in an unsigned one it has to.
func TestProvenanceFilesNeedASignature(t *testing.T) {
	o := packagetest.Options{
		Signed:  true,
		Built:   func(p *spec.Package) { p.Build.ProvenanceFiles = append(p.Build.ProvenanceFiles, "provenance.json") },
		Entries: appendEntry(file("provenance.json")),
	}
	b := open(t, packagetest.BuildWith(t, t.TempDir(), plainDefinition, plainFiles, o), bundle.Options{})
	if !b.Verified() || !b.Signed() {
		t.Errorf("integrity is %+v, signed is %v", b.Integrity(), b.Signed())
	}
	o.Signed = false
	refusal(t, packagetest.BuildWith(t, t.TempDir(), plainDefinition, plainFiles, o), bundle.Options{}, "provenance.json", "not listed")
}

func TestDefinitionIsACopy(t *testing.T) {
	b := open(t, packagetest.Build(t, t.TempDir(), plainDefinition, plainFiles), bundle.Options{})
	digest := b.Digest()
	pkg := b.Definition()
	pkg.Components[0].Name = "changed"
	raw := b.DefinitionBytes()
	raw[0] = 'X'
	if b.Definition().Components[0].Name != "web" || b.DefinitionBytes()[0] == 'X' || b.Digest() != digest {
		t.Error("the package changed with what it handed out")
	}
}

// Memory stays flat: opening and streaming a package takes a small part of its size.
func TestMemoryStaysFlat(t *testing.T) {
	const size = 64 << 20
	path := largePackage(t, size)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	b := open(t, path, bundle.Options{})
	err := b.Walk(context.Background(), func(p string) bool { return strings.HasPrefix(p, "images/") }, func(_ bundle.File, r io.Reader) error {
		_, err := io.Copy(io.Discard, r)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	// Everything that was allocated, freed or not.
	if used := after.TotalAlloc - before.TotalAlloc; used > size/2 {
		t.Errorf("%d MiB were allocated for a package of %d MiB", used>>20, size>>20)
	}
}

// largePackage has image layers of incompressible data that add up to size.
func largePackage(t testing.TB, size int) string {
	t.Helper()
	const layer = 16 << 20
	random := rand.NewChaCha8([32]byte{1})
	o := packagetest.Options{Content: func(entries []packagetest.Entry) []packagetest.Entry {
		for n := range size / layer {
			body := make([]byte, layer)
			random.Read(body)
			// Half of it compresses, as layers that were not compressed do.
			copy(body[layer/2:], bytes.Repeat([]byte("uncompressed layers have text and code\n"), layer))
			entries = append(entries, packagetest.Entry{Name: "images/blobs/sha256/" + strings.Repeat("0", 63) + string(rune('a'+n%26)), Mode: 0o400, Body: body})
		}
		return entries
	}}
	return packagetest.BuildWith(t, t.TempDir(), plainDefinition, plainFiles, o)
}

func TestOpenStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, path := range []string{
		packagetest.Build(t, t.TempDir(), plainDefinition, plainFiles),
		packagetest.BuildSplit(t, t.TempDir(), plainDefinition, plainFiles, 500),
		packagetest.BuildFolder(t, t.TempDir(), plainDefinition, plainFiles),
	} {
		_, err := bundle.Open(ctx, path, bundle.Options{})
		var refused *bundle.RefusedError
		if !errors.Is(err, context.Canceled) || errors.As(err, &refused) {
			t.Errorf("opening %s gives %v, want that the context was cancelled", filepath.Base(path), err)
		}
	}
}

func TestOpenNamesWhatIsNoPackage(t *testing.T) {
	_, err := bundle.Open(context.Background(), filepath.Join(t.TempDir(), "gone.tar.zst"), bundle.Options{})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("opening a file that is not there gives %v", err)
	}
	refusal(t, emptyFolder(t), bundle.Options{}, "zarf.yaml", "missing")
}

func emptyFolder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "empty")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func BenchmarkOpen(b *testing.B) {
	path := largePackage(b, 64<<20)
	size := decompressed(b, path)
	b.SetBytes(size)
	for b.Loop() {
		p, err := bundle.Open(context.Background(), path, bundle.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if err := p.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDecompress is the limit that BenchmarkOpen is measured against: zstd alone.
func BenchmarkDecompress(b *testing.B) {
	path := largePackage(b, 64<<20)
	b.SetBytes(decompressed(b, path))
	for b.Loop() {
		decompressed(b, path)
	}
}

func decompressed(t testing.TB, path string) int64 {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	decoder, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer decoder.Close()
	n, err := io.Copy(io.Discard, decoder)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
