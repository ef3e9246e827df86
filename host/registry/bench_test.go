package registry_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/zarf-host/zarf-host/host/image"
	"github.com/zarf-host/zarf-host/host/internal/testregistry"
	"github.com/zarf-host/zarf-host/host/registry"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/oci"
	"oras.land/oras-go/v2/registry/remote"
)

// BenchmarkPush pushes 20 images of 8 MB over a shared layer of 50 MB to an empty registry on
// loopback, and again, beside oras.Copy of the same from an unpacked OCI layout. Both set two tags.
func BenchmarkPush(b *testing.B) {
	s := newSource()
	base := s.layer(b, 100, 50_000_000)
	var refs []image.Reference
	for i := range 20 {
		refs = append(refs, s.image(b, fmt.Sprintf("a.test/bench/image-%02d:1", i), base, s.layer(b, byte(i), 8_000_000)))
	}
	content := s.content(b)
	dir := s.unpack(b)
	// Both read from the page cache: making the bytes anew would be a cost that a package has not.
	s.cache(b, dir)
	var first, again, orasFirst, orasAgain time.Duration
	timed := func(sum *time.Duration, do func()) {
		began := time.Now()
		do()
		*sum += time.Since(began)
	}
	for b.Loop() {
		b.StopTimer()
		ours, theirs := testregistry.Start(b, testregistry.Options{}), testregistry.Start(b, testregistry.Options{})
		b.StartTimer()
		for _, sum := range []*time.Duration{&first, &again} {
			timed(sum, func() {
				client := open(b, registry.Options{Address: ours.Address()})
				push(b, client, content, refs...)
			})
		}
		for _, sum := range []*time.Duration{&orasFirst, &orasAgain} {
			timed(sum, func() { orasCopy(b, dir, theirs.Address(), refs) })
		}
		b.StopTimer()
		ours.Kill()
		theirs.Kill()
		b.StartTimer()
	}
	n := float64(b.N)
	b.ReportMetric(first.Seconds()/n, "first-s")
	b.ReportMetric(orasFirst.Seconds()/n, "oras-first-s")
	b.ReportMetric(again.Seconds()/n, "again-s")
	b.ReportMetric(orasAgain.Seconds()/n, "oras-again-s")
	b.ReportMetric(orasFirst.Seconds()/first.Seconds(), "first-ratio")
	b.ReportMetric(orasAgain.Seconds()/again.Seconds(), "again-ratio")
}

// orasCopy is what a program does that copies image by image, tag by tag.
func orasCopy(b *testing.B, dir, address string, refs []image.Reference) {
	b.Helper()
	layout, err := oci.NewWithContext(b.Context(), dir)
	if err != nil {
		b.Fatal(err)
	}
	for _, ref := range refs {
		for _, target := range image.Transform(address, ref).All() {
			repository, err := remote.NewRepository(target)
			if err != nil {
				b.Fatal(err)
			}
			repository.PlainHTTP = true
			if _, err := oras.Copy(b.Context(), layout, ref.String(), repository, repository.Reference.Reference, oras.DefaultCopyOptions); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// unpack writes the images as an OCI layout.
func (s *source) unpack(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range s.files {
		s.place(t, filepath.Join(dir, f.Path), f.Path)
	}
	root := filepath.Join(dir, "images")
	if err := os.WriteFile(filepath.Join(root, "oci-layout"), []byte(`{"imageLayoutVersion":"1.0.0"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return root
}
