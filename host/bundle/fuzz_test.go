package bundle

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// bytesTree makes an archive of bytes.
func bytesTree(data []byte, limits Limits) *archive {
	return &archive{
		name: "fuzz.tar", limits: limits, close: func() error { return nil },
		open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil },
	}
}

// Whatever the bytes are, an archive is refused or every name in it is one that stays inside.
func FuzzArchive(f *testing.F) {
	seeds, err := filepath.Glob("../../../shared/packages/*demo-amd64-0.*.tar.zst")
	if err != nil || len(seeds) == 0 {
		f.Fatal("no packages to start from", err)
	}
	decoder, err := zstd.NewReader(nil)
	if err != nil {
		f.Fatal(err)
	}
	defer decoder.Close()
	for _, seed := range seeds {
		data, err := os.ReadFile(seed)
		if err != nil {
			f.Fatal(err)
		}
		if len(data) > 10_000 {
			continue
		}
		f.Add(data)
		// Without the checksums of zstd in their way, changes reach the tar.
		plain, err := decoder.DecodeAll(data, nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(plain)
	}
	limits := Limits{Bytes: 1 << 20, Entries: 1000}.withDefaults()
	f.Fuzz(func(t *testing.T, data []byte) {
		s := newScan(limits, 1<<20)
		if err := bytesTree(data, limits).each(context.Background(), true, s.file); err != nil {
			return
		}
		for _, file := range s.files {
			if !filepath.IsLocal(file.Path) || strings.ContainsAny(file.Path, "\\\x00\n") {
				t.Errorf("accepted the name %q", file.Path)
			}
			if kept, ok := s.kept[file.Path]; ok && hashOf(kept) != file.SHA256 {
				t.Errorf("%q was kept as something else than was hashed", file.Path)
			}
		}
	})
}

// A component's tar is refused, or its paths and links stay inside.
func FuzzComponent(f *testing.F) {
	data, err := os.ReadFile("../../../shared/packages/zarf-package-yolo-demo-amd64-0.1.0.tar.zst")
	if err != nil {
		f.Fatal(err)
	}
	limits := Limits{Bytes: 1 << 20, Entries: 1000}.withDefaults()
	s := newScan(limits, 1<<20)
	if err := bytesTree(data, limits).each(context.Background(), true, s.file); err != nil {
		f.Fatal(err)
	}
	f.Add("first", s.kept["components/first.tar"])
	f.Add("second", s.kept["components/second.tar"])
	f.Fuzz(func(t *testing.T, component string, data []byte) {
		var entries []Entry
		err := eachComponentEntry(component, bytes.NewReader(data), limits, func(e Entry, r io.Reader) error {
			entries = append(entries, e)
			_, err := io.Copy(io.Discard, r)
			return err
		})
		if err != nil {
			return
		}
		for _, e := range entries {
			if !filepath.IsLocal(e.Path) {
				t.Errorf("accepted the name %q", e.Path)
			}
			if e.Link != "" && !filepath.IsLocal(filepath.Join(filepath.Dir(e.Path), e.Link)) {
				t.Errorf("accepted the link %q -> %q", e.Path, e.Link)
			}
		}
	})
}

func FuzzChecksums(f *testing.F) {
	sum := strings.Repeat("a", 64)
	f.Add([]byte("\n"))
	f.Add([]byte(sum + " components/web.tar\n"))
	f.Add([]byte(sum + " ../x\n" + sum + " x\n" + sum + " X"))
	f.Fuzz(func(t *testing.T, data []byte) {
		sums, err := parseChecksums(data, Limits{}.withDefaults())
		if err != nil {
			return
		}
		for path, sum := range sums {
			if !filepath.IsLocal(path) || !isSHA256(sum) {
				t.Errorf("accepted %q with %q", path, sum)
			}
			if !bytes.Contains(data, []byte(sum+" "+path)) {
				t.Errorf("made up %q", path)
			}
		}
	})
}

func FuzzSplitHeader(f *testing.F) {
	f.Add([]byte(`{"Sha256Sum":"51c505d6335e32d452b1860e23d52f0babde5be195d5faca6e930d8509961d05","Bytes":4891586,"Count":5}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := parseSplitHeader(data)
		if err == nil && (h.Count < 1 || h.Count > maxParts || h.Bytes < 1 || !isSHA256(h.Sha256Sum)) {
			t.Errorf("accepted %+v", h)
		}
	})
}
