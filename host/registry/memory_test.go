package registry_test

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/zarf-host/zarf-host/host/image"
	"github.com/zarf-host/zarf-host/host/internal/testregistry"
	"github.com/zarf-host/zarf-host/host/registry"
)

// largeEnv names how many megabytes of images TestMemoryStaysFlat pushes, such as 2000.
const largeEnv = "ZARF_HOST_LARGE_MB"

// TestMemoryStaysFlat pushes many times more than it may hold in memory, and writes no file.
func TestMemoryStaysFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("pushes hundreds of megabytes")
	}
	const limit = 160 << 20
	megabytes := 400
	if v := os.Getenv(largeEnv); v != "" {
		var err error
		if megabytes, err = strconv.Atoi(v); err != nil {
			t.Fatalf("%s: %v", largeEnv, err)
		}
	}
	r := testregistry.Start(t, testregistry.Options{})
	s := newSource()
	var refs []image.Reference
	// Half of the bytes in layers that go through memory, half in some that stream.
	for i := 0; megabytes > 0; i++ {
		refs = append(refs, s.image(t, fmt.Sprintf("a.test/large/image-%02d:1", i),
			s.layer(t, byte(2*i), 32_000_000), s.layer(t, byte(2*i+1), 15_000_000), s.layer(t, byte(2*i+1), 16_000_000)))
		megabytes -= 63
	}
	content := s.content(t)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	debug.FreeOSMemory()
	peak, stop := watchMemory()
	result := push(t, open(t, registry.Options{Address: r.Address()}), content, refs...)
	stop()
	if *peak > limit {
		t.Errorf("pushing %d MB took %d MiB of memory, allowed are %d", result.UploadedBytes/1e6, *peak>>20, limit>>20)
	}
	t.Logf("pushed %d MB with %d MiB of memory", result.UploadedBytes/1e6, *peak>>20)
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("files were written: %v, %v", left, err)
	}
}

// watchMemory notes the most memory that the process had from the system for its heap.
func watchMemory() (peak *uint64, stop func()) {
	peak = new(uint64)
	done := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		ticker := time.NewTicker(50 * time.Millisecond)
		defer ticker.Stop()
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			*peak = max(*peak, m.HeapSys-m.HeapReleased)
			select {
			case <-ticker.C:
			case <-done:
				return
			}
		}
	})
	return peak, func() { close(done); group.Wait() }
}
