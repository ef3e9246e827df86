package guests

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/zarf-host/zarf-host/plugins/toolchain"
)

// Root returns the root of the module that the working directory is in.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the working directory: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("finding go.mod above the working directory: there is none")
		}
		dir = parent
	}
}

// Build compiles the command in a folder below the module's root, such as plugins/guard, to a WASI
// module and returns its bytes. What was built of the same Go sources by the same compiler is taken from
// the user's cache. Where the compiler of another language is not on this machine, toolchain.IsMissing is
// true of the error.
func Build(ctx context.Context, folder string) ([]byte, error) {
	root, err := Root()
	if err != nil {
		return nil, err
	}
	if language, err := toolchain.Detect(filepath.Join(root, folder)); err != nil {
		return nil, err
	} else if language != toolchain.Go {
		return buildOther(ctx, filepath.Join(root, folder))
	}
	key, err := sourceKey(filepath.Join(root, folder), filepath.Join(root, "plugins", "sdk"))
	if err != nil {
		return nil, err
	}
	cache := CacheDir()
	built := filepath.Join(cache, filepath.Base(folder)+"-"+key+".wasm")
	if data, err := os.ReadFile(built); err == nil {
		return data, nil
	}
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder for guests: %w", err)
	}
	// Several test binaries build the same guest at once: each into its own file, renamed when whole.
	out, err := os.MkdirTemp(cache, "build-")
	if err != nil {
		return nil, fmt.Errorf("making a folder to build in: %w", err)
	}
	defer os.RemoveAll(out)
	file := filepath.Join(out, "guest.wasm")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, "./"+filepath.ToSlash(folder))
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=")
	if msg, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building the guest %s: %w: %s", folder, err, msg)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the guest %s: %w", folder, err)
	}
	if err := os.Rename(file, built); err != nil {
		return nil, fmt.Errorf("keeping the guest %s: %w", folder, err)
	}
	return data, nil
}

// CompiledDir is a folder for the native code of guests, so that a test compiles a guest only once.
func CompiledDir() string { return filepath.Join(CacheDir(), "compiled") }

// CacheDir is where guests, and what they are built with, are kept for the user.
func CacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "zarf-host", "guests")
}

// sourceKey is a digest of the compiler's version and of every Go source in the folders.
func sourceKey(folders ...string) (string, error) {
	h := sha256.New()
	io.WriteString(h, runtime.Version())
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(h, "%s %d\n", filepath.Base(path), len(data))
			h.Write(data)
			return nil
		})
		if err != nil {
			return "", fmt.Errorf("reading the sources of a guest: %w", err)
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}
