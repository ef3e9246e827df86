package archive_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/zarf-host/zarf-host/host/archive"
)

// noise is n bytes that compress to about half.
func noise(seed byte, n int) []byte {
	out := make([]byte, n)
	r := rand.New(rand.NewChaCha8([32]byte{seed}))
	for i := range out {
		out[i] = byte(r.IntN(16))
	}
	return out
}

func framed(t *testing.T, cache archive.FrameCache, pieces ...[]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := archive.NewFrameWriter(&out, cache)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pieces {
		if _, err := w.Write(p); err != nil {
			t.Fatal(err)
		}
		if err := w.Cut(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestFramesTileTheFileAndStandAlone(t *testing.T) {
	pieces := [][]byte{noise(1, 100), noise(2, archive.MaxFrame), noise(3, 2*archive.MaxFrame+7), {}, noise(4, 1)}
	data := framed(t, nil, pieces...)
	whole := bytes.Join(pieces, nil)

	all, err := zstd.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	if got, err := io.ReadAll(all); err != nil || !bytes.Equal(got, whole) {
		t.Fatalf("a plain reader reads %d bytes (%v), want %d", len(got), err, len(whole))
	}
	// The seek table by the letter of the format.
	footer := data[len(data)-9:]
	if magic := binary.LittleEndian.Uint32(footer[5:]); magic != 0x8F92EAB1 || footer[4] != 0 {
		t.Fatalf("the file ends in %x", footer)
	}
	count := int(binary.LittleEndian.Uint32(footer))
	if count != 6 { // 100 B, 4 MiB, 4+4 MiB and 7 B, 1 B
		t.Fatalf("%d frames, want 6", count)
	}
	table := data[len(data)-9-8*count:]
	at, from := 0, 0
	for i := range count {
		size, plain := int(binary.LittleEndian.Uint32(table[8*i:])), int(binary.LittleEndian.Uint32(table[8*i+4:]))
		one, err := zstd.NewReader(bytes.NewReader(data[at : at+size]))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(one)
		one.Close()
		if err != nil || !bytes.Equal(got, whole[from:from+plain]) {
			t.Errorf("frame %d holds %d bytes (%v), which are not those at %d", i, len(got), err, from)
		}
		at, from = at+size, from+plain
	}
	if at+8+8*count+9 != len(data) || from != len(whole) {
		t.Errorf("the frames end at %d of %d, and hold %d of %d", at, len(data), from, len(whole))
	}
}

func TestFramesAreTheSameEachTime(t *testing.T) {
	pieces := [][]byte{noise(1, 3*archive.MaxFrame), noise(2, 1000)}
	if !bytes.Equal(framed(t, nil, pieces...), framed(t, nil, pieces...)) {
		t.Error("the same bytes were written in two ways")
	}
}

// remembering is a cache that may lie.
type remembering struct {
	mu   sync.Mutex
	kept map[[sha256.Size]byte][]byte
	hits int
}

func (r *remembering) Get(key [sha256.Size]byte) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept[key] != nil {
		r.hits++
	}
	return r.kept[key]
}

func (r *remembering) Put(key [sha256.Size]byte, frame []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept[key] = bytes.Clone(frame)
}

func TestFramesComeFromTheCache(t *testing.T) {
	cache := &remembering{kept: map[[sha256.Size]byte][]byte{}}
	same := noise(1, archive.MaxFrame)
	first := framed(t, cache, same, noise(2, 50))
	second := framed(t, cache, same, noise(3, 50))
	if cache.hits != 1 {
		t.Errorf("%d frames came from the cache, want the one that did not change", cache.hits)
	}
	if want := framed(t, nil, same, noise(3, 50)); !bytes.Equal(second, want) {
		t.Error("with a cache another archive is written than without")
	}
	for key := range cache.kept { // somebody else's frame, and a broken one
		cache.kept[key] = framed(t, nil, noise(9, archive.MaxFrame))
	}
	if !bytes.Equal(framed(t, cache, same, noise(2, 50)), first) {
		t.Error("a cache that lies gets into the archive")
	}
}

func TestFramesReportAWriteThatFails(t *testing.T) {
	full := errors.New("disk full")
	w, err := archive.NewFrameWriter(failing{full}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		_, _ = w.Write(noise(1, archive.MaxFrame)) // the error may come later
	}
	if err := w.Close(); !errors.Is(err, full) {
		t.Errorf("got %v, want %v", err, full)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
