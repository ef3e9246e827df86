package wasm

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// openCache returns the folder for one module's compiled code, below dir: what lies there is native code
// that is run without further question, so only this user may write to it, and a plugin's process, while
// it compiles, to that of its own module. An empty dir means the user's own cache, and an empty result
// that there is none.
func openCache(dir, digest string) (string, error) {
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return "", nil // a user without a home compiles each time
		}
		dir = filepath.Join(base, "zarf-host", "wasm")
	}
	dir, err := filepath.Abs(dir) // a plugin's process has another working directory
	if err != nil {
		return "", fmt.Errorf("finding the folder for compiled plugins: %w", err)
	}
	_, hash, _ := strings.Cut(digest, ":")
	for _, folder := range []string{dir, filepath.Join(dir, hash)} {
		if err := ownFolder(folder); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, hash), nil
}

// ownFolder makes sure that dir is a folder in which only this user can write.
func ownFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making the folder for compiled plugins: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("looking at the folder for compiled plugins: %w", err)
	}
	if !info.IsDir() {
		return &CacheError{Dir: dir, Reason: "it is not a folder"}
	}
	if info.Mode().Perm()&0o022 != 0 {
		return &CacheError{Dir: dir, Reason: fmt.Sprintf("others may write to it (mode %04o)", info.Mode().Perm())}
	}
	if !ownedByUs(info) {
		return &CacheError{Dir: dir, Reason: "it belongs to another user"}
	}
	return nil
}

// CacheError says why the folder for compiled plugins is not used.
type CacheError struct {
	Dir    string
	Reason string
}

// Error names the folder and the reason.
func (e *CacheError) Error() string {
	return fmt.Sprintf("refusing the folder for compiled plugins %s: %s", e.Dir, e.Reason)
}

// Hint says how to go on.
func (e *CacheError) Hint() string {
	return "remove the folder, or make it yours alone with chmod 0700; what lies in it is run as native code"
}
