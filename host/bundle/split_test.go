package bundle_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/internal/packagetest"
)

func TestOpenRefusesHostileSplits(t *testing.T) {
	part := func(header string, n int) string {
		return strings.TrimSuffix(header, "000") + fmt.Sprintf("%03d", n)
	}
	write := func(t *testing.T, path string, data string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func(t *testing.T, path string) string {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for _, c := range []struct {
		kind         string
		change       func(t *testing.T, header string)
		file, reason string
	}{
		{"header that is none", func(t *testing.T, h string) { write(t, h, "part") }, "part000", "not the header"},
		{"header with trailing data", func(t *testing.T, h string) { write(t, h, read(t, h)+"{}") }, "part000", "trailing data"},
		{"header over 64 KiB", func(t *testing.T, h string) { write(t, h, strings.Repeat(" ", 70<<10)+read(t, h)) }, "part000", "over 65536 bytes"},
		{"header with an unknown key", func(t *testing.T, h string) { write(t, h, strings.Replace(read(t, h), "{", `{"Path":"/etc",`, 1)) }, "part000", "not the header"},
		{"header without a sum", func(t *testing.T, h string) { write(t, h, `{"Bytes":1,"Count":1}`) }, "part000", "no sha256"},
		{"header with no parts", func(t *testing.T, h string) { write(t, h, strings.Replace(read(t, h), `"Count":`, `"Count":-`, 1)) }, "part000", "parts, allowed"},
		{"header with too many parts", func(t *testing.T, h string) { write(t, h, strings.Replace(read(t, h), `"Count":`, `"Count":1000`, 1)) }, "part000", "parts, allowed"},
		{"part missing", func(t *testing.T, h string) {
			if err := os.Remove(part(h, 2)); err != nil {
				t.Fatal(err)
			}
		}, "part002", "missing"},
		{"part too many", func(t *testing.T, h string) {
			for n := 1; ; n++ {
				if _, err := os.Stat(part(h, n)); err != nil {
					write(t, part(h, n), "more")
					return
				}
			}
		}, "part", "one part more"},
		{"part that is a folder", func(t *testing.T, h string) {
			if err := os.Remove(part(h, 2)); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(part(h, 2), 0o700); err != nil {
				t.Fatal(err)
			}
		}, "part002", "not a plain file"},
		{"size over the declared one", func(t *testing.T, h string) { write(t, part(h, 2), read(t, part(h, 2))+strings.Repeat("x", 1000)) }, "part", "size over the declared one"},
		{"truncated", func(t *testing.T, h string) { write(t, part(h, 2), "x") }, "part000", "truncated"},
		{"parts that are not those of the header", func(t *testing.T, h string) {
			// A skippable frame changes the bytes and nothing that they decompress to.
			extra := "\x50\x2a\x4d\x18\x00\x00\x00\x00"
			write(t, part(h, 1), extra+read(t, part(h, 1)))
			var header struct {
				Sha256Sum    string
				Bytes, Count int
			}
			if err := json.Unmarshal([]byte(read(t, h)), &header); err != nil {
				t.Fatal(err)
			}
			header.Bytes += len(extra)
			data, err := json.Marshal(header)
			if err != nil {
				t.Fatal(err)
			}
			write(t, h, string(data))
		}, "part000", "its sha256 is"},
	} {
		t.Run(c.kind, func(t *testing.T) {
			header := packagetest.BuildSplit(t, t.TempDir(), plainDefinition, plainFiles, 300)
			b, err := bundle.Open(context.Background(), header, bundle.Options{})
			if err != nil {
				t.Fatalf("the package that the case changes is refused itself: %v", err)
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
			c.change(t, header)
			refusal(t, header, bundle.Options{}, c.file, c.reason)
		})
	}
}
