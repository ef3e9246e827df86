package bundle_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host/bundle"
)

// Each package that Zarf built has the digest that Zarf reports for it.
func TestOpenComputesZarfsDigest(t *testing.T) {
	table, err := os.ReadFile(shared(t, "packages", "DIGESTS.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(table)), "\n")[1:]
	if len(lines) < 10 {
		t.Fatalf("DIGESTS.tsv names %d packages, want at least 10", len(lines))
	}
	for _, line := range lines {
		name, want, _ := strings.Cut(line, "\t")
		t.Run(name, func(t *testing.T) {
			b, err := bundle.Open(context.Background(), shared(t, "packages", name), bundle.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			if b.Digest() != want {
				t.Errorf("digest is %s, want %s", b.Digest(), want)
			}
			if !b.Verified() || !b.Integrity().OK || b.Integrity().Files == 0 || b.Integrity().Digest != want {
				t.Errorf("integrity is %+v, want it verified", b.Integrity())
			}
			if got, want := b.Signed(), strings.HasPrefix(name, "signed-"); got != want {
				t.Errorf("signed is %v, want %v", got, want)
			}
		})
	}
}
