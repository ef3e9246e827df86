package toolchain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Options say how a plugin is built.
type Options struct {
	// Env is what the compiler is given beside this program's environment, each NAME=VALUE.
	Env []string
}

// Build compiles the plugin in a folder and returns the module, which has no metadata yet. What the
// compiler says is in the error. A compiler that is not there is a MissingError.
func Build(ctx context.Context, dir string, o Options) ([]byte, error) {
	language, err := Detect(dir)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, fmt.Errorf("finding the plugin's folder: %w", err)
	}
	work, err := os.MkdirTemp("", "zarf-host-build-")
	if err != nil {
		return nil, fmt.Errorf("making a folder to build in: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	out := filepath.Join(work, "plugin.wasm")
	compile := map[Language]func(context.Context, job) error{
		Go: buildGo, C: buildC, Rust: buildRust, AssemblyScript: buildAssemblyScript,
	}[language]
	if err := compile(ctx, job{dir: dir, out: out, env: append(os.Environ(), o.Env...)}); err != nil {
		return nil, err
	}
	module, err := os.ReadFile(out)
	if err != nil {
		return nil, fmt.Errorf("reading what the compiler for %s made: %w", language, err)
	}
	return module, nil
}

// job is what a compiler is asked to do.
type job struct {
	dir, out string
	env      []string
}

func buildGo(ctx context.Context, j job) error {
	compiler, err := exec.LookPath("go")
	if err != nil {
		return &MissingError{Go, "Go", "install Go 1.22 or newer: every distribution has it, and so has the project's own site"}
	}
	j.env = append(j.env, "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	_, err = j.run(ctx, compiler, "build", "-trimpath", "-ldflags=-s -w", "-o", j.out, ".")
	return err
}

// run runs a compiler in the folder and returns its output; what it says beside is in the error.
func (j job) run(ctx context.Context, compiler string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, compiler, args...)
	cmd.Dir, cmd.Env = j.dir, j.env
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err == nil {
		return out, nil
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("building the plugin: %w", context.Cause(ctx))
	}
	if text := strings.TrimSpace(said.String()); text != "" && errors.As(err, new(*exec.ExitError)) {
		return nil, fmt.Errorf("building the plugin with %s: %s", filepath.Base(compiler), text)
	}
	return nil, fmt.Errorf("building the plugin with %s: %w", filepath.Base(compiler), err)
}
