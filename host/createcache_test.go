package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The cache keeps what was used within a month, and nothing else; what is compressed well is in it.
func TestCreateTrimsItsCache(t *testing.T) {
	cache := t.TempDir()
	dir := authored(t, head+"components: [{name: a, files: [{source: f, target: f}]}]\n", map[string]string{"f": strings.Repeat("abc", 100_000)})
	old := filepath.Join(cache, "blobs", "sha256", "old")
	put(t, old, "x")
	before := time.Now().Add(-31 * 24 * time.Hour)
	if err := os.Chtimes(old, before, before); err != nil {
		t.Fatal(err)
	}
	made(t, CreateOptions{Dir: dir, CacheDir: cache, BuildTime: fixedTime})
	if _, err := os.Stat(old); err == nil {
		t.Error("what nobody used for a month is still there")
	}
	frames, err := filepath.Glob(filepath.Join(cache, "frames", "*", "*"))
	if err != nil || len(frames) == 0 {
		t.Fatalf("no frame was kept, %v", err)
	}
	// Used again, a frame is as good as new.
	for _, f := range frames {
		if err := os.Chtimes(f, before, before); err != nil {
			t.Fatal(err)
		}
	}
	made(t, CreateOptions{Dir: dir, CacheDir: cache, BuildTime: fixedTime})
	if again, err := filepath.Glob(filepath.Join(cache, "frames", "*", "*")); err != nil || len(again) != len(frames) {
		t.Errorf("%d frames are left of %d, %v", len(again), len(frames), err)
	}
}
