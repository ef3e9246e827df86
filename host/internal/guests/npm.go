package guests

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// NodeModules has npm install what a package.json names and returns the folder with it, which is taken
// from the user's cache for the same package.json. An error says that it cannot be had on this machine.
func NodeModules(ctx context.Context, packageJSON string) (string, error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", fmt.Errorf("looking for npm: %w", err)
	}
	data, err := os.ReadFile(packageJSON)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	kept := filepath.Join(CacheDir(), "npm-"+hex.EncodeToString(sum[:8]))
	if _, err := os.Stat(kept); err == nil {
		return filepath.Join(kept, "node_modules"), nil
	}
	if err := os.MkdirAll(CacheDir(), 0o700); err != nil {
		return "", fmt.Errorf("making the folder for guests: %w", err)
	}
	// Installed under another name, so that what is kept is whole.
	dir, err := os.MkdirTemp(CacheDir(), "npm-")
	if err != nil {
		return "", fmt.Errorf("making a folder for npm: %w", err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "package.json"), data, 0o600); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, npm, "install", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm does not get the packages of %s: %w: %s", packageJSON, err, out)
	}
	if err := os.Rename(dir, kept); err != nil {
		if _, there := os.Stat(kept); there != nil { // and not by another process
			return "", fmt.Errorf("keeping what npm got: %w", err)
		}
	}
	return filepath.Join(kept, "node_modules"), nil
}
