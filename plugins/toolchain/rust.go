package toolchain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const getRust = "with rustup: rustup target add wasm32-wasip1; on Debian 12: apt-get install --no-install-recommends " +
	"rustc cargo libstd-rust-dev-wasm32 librust-serde-json-dev librust-serde-dev librust-serde-derive-dev"

// debianCrates is where Debian's packages put the sources of crates.
const debianCrates = "/usr/share/cargo/registry"

// rustCompiler is a compiler that has a standard library for WASI.
type rustCompiler struct{ cargo, rustc, target string }

// findRust takes the first compiler with a standard library for WASI: the one in the PATH, or the
// distribution's, which a rustup before it in the PATH hides.
func findRust(ctx context.Context) (rustCompiler, error) {
	installed := false
	for _, dir := range []string{"", "/usr/bin"} {
		cargo, err1 := exec.LookPath(filepath.Join(dir, "cargo"))
		rustc, err2 := exec.LookPath(filepath.Join(dir, "rustc"))
		if err1 != nil || err2 != nil {
			continue
		}
		installed = true
		sysroot, err := exec.CommandContext(ctx, rustc, "--print", "sysroot").Output()
		if err != nil {
			continue // a rustup without a toolchain
		}
		for _, target := range []string{"wasm32-wasip1", "wasm32-wasi"} {
			if exists(filepath.Join(strings.TrimSpace(string(sysroot)), "lib", "rustlib", target, "lib")) {
				return rustCompiler{cargo, rustc, target}, nil
			}
		}
	}
	if installed {
		return rustCompiler{}, &MissingError{Rust, "Rust's standard library for WASI", getRust}
	}
	return rustCompiler{}, &MissingError{Rust, "cargo and rustc", getRust}
}

func buildRust(ctx context.Context, j job) error {
	r, err := findRust(ctx)
	if err != nil {
		return err
	}
	args := []string{"build", "--release", "--target", r.target, "--message-format", "json-render-diagnostics"}
	if r.rustc == "/usr/bin/rustc" && exists(debianCrates) {
		// Debian's compiler is older than what newer crates ask for; its packages have those that fit.
		args = append(args, "--offline", "--config", `source.crates-io.replace-with="debian"`,
			"--config", fmt.Sprintf("source.debian.directory=%q", debianCrates))
	}
	j.env = append(j.env, "RUSTC="+r.rustc)
	messages, err := j.run(ctx, r.cargo, args...)
	if err != nil {
		return err
	}
	built, err := rustModule(messages)
	if err != nil {
		return err
	}
	module, err := os.ReadFile(built)
	if err != nil {
		return fmt.Errorf("reading what cargo made: %w", err)
	}
	if err := os.WriteFile(j.out, module, 0o600); err != nil {
		return fmt.Errorf("copying what cargo made: %w", err)
	}
	return nil
}

// rustModule finds the one module among cargo's messages, of which each is a line of JSON.
func rustModule(messages []byte) (string, error) {
	var found []string
	for line := range bytes.Lines(messages) {
		var m struct {
			Reason    string   `json:"reason"`
			Filenames []string `json:"filenames"`
		}
		if json.Unmarshal(line, &m) != nil || m.Reason != "compiler-artifact" {
			continue // a build script may print what it likes
		}
		for _, f := range m.Filenames {
			if strings.HasSuffix(f, ".wasm") {
				found = append(found, f)
			}
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", errors.New("cargo built no module: a plugin is a binary crate, with src/main.rs")
	default:
		return "", fmt.Errorf("cargo built %d modules: a plugin is a crate with one binary", len(found))
	}
}
