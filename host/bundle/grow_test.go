package bundle

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file that changes its size while it is read is noticed before its bytes are handed on.
func TestFilesThatChangeTheirSizeAreRefused(t *testing.T) {
	part := filepath.Join(t.TempDir(), "x.part001")
	if err := os.WriteFile(part, []byte("longer"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		r      io.Reader
		reason string
	}{
		"file that grew":   {&exactReader{ctx: context.Background(), r: strings.NewReader("longer"), name: "x", left: 3}, "size over the declared one"},
		"file that shrank": {&exactReader{ctx: context.Background(), r: strings.NewReader("short"), name: "x", left: 9}, "shorter"},
		"part that grew":   {&partsReader{part: func(int) string { return part }, count: 1, left: 3}, "size over the declared one"},
	} {
		_, err := io.ReadAll(c.r)
		var refused *RefusedError
		if !errors.As(err, &refused) || !strings.Contains(refused.Reason, c.reason) {
			t.Errorf("%s: error is %v, want %q", name, err, c.reason)
		}
	}
}
