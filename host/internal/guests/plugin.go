package guests

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/zarf-host/zarf-host/plugins/toolchain"
)

// CargoEnv has cargo keep what it compiles in the user's cache, so that a machine compiles crates once.
func CargoEnv() string { return "CARGO_TARGET_DIR=" + filepath.Join(CacheDir(), "cargo") }

// buildOther compiles a plugin in another language than Go. A compiler that is not there is an error of
// which toolchain.IsMissing is true.
func buildOther(ctx context.Context, dir string) ([]byte, error) {
	if err := os.MkdirAll(CacheDir(), 0o700); err != nil {
		return nil, fmt.Errorf("making the folder for guests: %w", err)
	}
	return toolchain.Build(ctx, dir, toolchain.Options{Env: []string{CargoEnv()}})
}
