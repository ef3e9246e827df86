package airgap_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/zarf-host/zarf-host/host/internal/packagetest"
	"github.com/zarf-host/zarf-host/host/internal/testregistry"
)

const (
	// largeEnv names how many megabytes the large package of TestJ1LargePackage has, such as 2000.
	largeEnv = "ZARF_HOST_LARGE_MB"
	// programVariable names a program to test instead of the one that is built of the sources.
	programVariable = "ZARF_HOST_TEST_PROGRAM"
)

// program is the real command.
func program(t testing.TB) string {
	t.Helper()
	if path := os.Getenv(programVariable); path != "" {
		return path
	}
	path := filepath.Join(t.TempDir(), "zarf-host")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, "./cmd/zarf-host")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the program: %v\n%s", err, out)
	}
	return path
}

// largePackage has so many megabytes of images: half of the bytes in layers that are uploaded from
// memory, half in ones that stream, of which one has 200 MB where there is room for it.
func largePackage(t testing.TB, megabytes int, uncompressed bool) string {
	t.Helper()
	var images []packagetest.Image
	var names []string
	for i := 0; megabytes > 0; i++ {
		large := int64(32_000_000)
		if i == 0 && megabytes > 500 {
			large = 200_000_000
		}
		name := fmt.Sprintf("example.test/large/image-%03d:1.0.0", i)
		names = append(names, strconv.Quote(name))
		images = append(images, packagetest.Image{Reference: name, Layers: []packagetest.Layer{
			{Seed: byte(3 * i), Size: min(large, int64(megabytes)*1_000_000)}, {Seed: byte(3*i + 1), Size: 15_000_000 - int64(i)}, {Seed: byte(3*i + 2), Size: 16_000_000 - int64(i)},
		}})
		megabytes -= int(large/1_000_000) + 31
	}
	definition := fmt.Sprintf("kind: ZarfPackageConfig\nmetadata: {name: large, version: 1.0.0, uncompressed: %v}\ncomponents:\n  - {name: all, required: true, images: [%s]}\n",
		uncompressed, strings.Join(names, ", "))
	return pack(t, definition, nil, images...)
}

// usage is what a run of the program took.
type usage struct {
	resident int64 // the most memory at once
	temp     int64 // the most bytes in temporary files at once
	took     time.Duration
}

// measure runs the program with a folder for temporary files of its own.
func (s *site) measure(program string, args ...string) usage {
	s.t.Helper()
	temp := s.t.TempDir()
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.kubeconfig, "TMPDIR="+temp, "HOME="+s.t.TempDir(), "XDG_CACHE_HOME=")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	var peak int64
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		ticker := time.NewTicker(20 * time.Millisecond)
		defer ticker.Stop()
		for {
			peak = max(peak, bytesIn(temp))
			select {
			case <-done:
				return
			case <-ticker.C:
			}
		}
	})
	began := time.Now()
	err := cmd.Run()
	took := time.Since(began)
	close(done)
	watching.Wait()
	if err != nil {
		s.t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out.Bytes())
	}
	if left := bytesIn(temp); left > 0 {
		s.t.Errorf("%d bytes of temporary files are left", left)
	}
	used := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	resident := used.Maxrss // kilobytes on Linux, bytes on macOS
	if runtime.GOOS == "linux" {
		resident <<= 10
	}
	return usage{resident: resident, temp: peak, took: took}
}

// bytesIn is what the files of a folder have together. Those that go meanwhile count nothing.
func bytesIn(dir string) (sum int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
		return nil
	})
	return sum
}

// TestJ1LargePackage deploys a package many times larger than what the program may hold in memory or
// in temporary files: neither grows with it.
func TestJ1LargePackage(t *testing.T) {
	const (
		tempLimit   = 64 << 20
		memoryLimit = 128 << 20 // more than a small package takes
	)
	megabytes := 256
	if v := os.Getenv(largeEnv); v != "" {
		var err error
		if megabytes, err = strconv.Atoi(v); err != nil {
			t.Fatalf("%s: %v", largeEnv, err)
		}
	}
	r := testregistry.Start(t, testregistry.Options{})
	s := newSite(t)
	binary := program(t)
	s.measure(binary, "init", "--registry-url", r.Address(), "--registry-push-username", "u", "--registry-push-password", "p", "--confirm")
	small := s.measure(binary, "deploy", largePackage(t, 1, false), "--confirm")
	file := largePackage(t, megabytes, false)
	t.Cleanup(func() { s.remove(file) })
	for _, run := range []string{"first", "again"} {
		large := s.measure(binary, "deploy", file, "--confirm")
		t.Logf("%s: %d MB in %v with %d MiB of memory and %d bytes of temporary files; a small package took %d MiB",
			run, megabytes, large.took.Round(10*time.Millisecond), large.resident>>20, large.temp, small.resident>>20)
		if large.temp >= tempLimit {
			t.Errorf("it had %d MiB of temporary files, allowed are %d", large.temp>>20, tempLimit>>20)
		}
		if large.resident-small.resident >= memoryLimit {
			t.Errorf("it took %d MiB of memory, and a small package %d", large.resident>>20, small.resident>>20)
		}
	}
}
