package toolchain

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

const getC = "on Debian and Ubuntu: apt-get install --no-install-recommends clang lld wasi-libc libclang-rt-dev-wasm32; " +
	"elsewhere: unpack wasi-sdk and set WASI_SDK_PATH to it"

// clang is a compiler for C with the C library for WASI that it is given.
type clang struct{ path, sysroot string }

// findClang takes wasi-sdk where WASI_SDK_PATH names one, and otherwise the distribution's packages.
func findClang() (clang, error) {
	if sdk := os.Getenv("WASI_SDK_PATH"); sdk != "" {
		c := clang{filepath.Join(sdk, "bin", "clang"), filepath.Join(sdk, "share", "wasi-sysroot")}
		if !exists(c.path) || !exists(c.sysroot) {
			return c, fmt.Errorf("WASI_SDK_PATH is %q, which has no bin/clang with a share/wasi-sysroot", sdk)
		}
		return c, nil
	}
	path, err := exec.LookPath("clang")
	if err != nil {
		return clang{}, &MissingError{C, "clang", getC}
	}
	if _, err := exec.LookPath("wasm-ld"); err != nil {
		return clang{}, &MissingError{C, "lld (wasm-ld)", getC}
	}
	for _, sysroot := range []string{"/usr", "/usr/share/wasi-sysroot"} {
		if exists(filepath.Join(sysroot, "include", "wasm32-wasi", "stdio.h")) || sysroot != "/usr" && exists(filepath.Join(sysroot, "include", "stdio.h")) {
			return clang{path, sysroot}, nil
		}
	}
	return clang{}, &MissingError{C, "wasi-libc", getC}
}

func buildC(ctx context.Context, j job) error {
	c, err := findClang()
	if err != nil {
		return err
	}
	sources, err := filepath.Glob(filepath.Join(escaped(j.dir), "*.c"))
	if err != nil {
		return fmt.Errorf("looking for C sources: %w", err)
	}
	for i, s := range sources {
		sources[i] = filepath.Base(s)
	}
	args := []string{"--target=wasm32-wasi", "--sysroot=" + c.sysroot, "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-Wl,--strip-all", "-o", j.out}
	_, err = j.run(ctx, c.path, append(args, sources...)...)
	return err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
