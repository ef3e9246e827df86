package airgap_test

import (
	"archive/tar"
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/internal/testregistry"
)

// BenchmarkOpenLarge opens a package of 1 GB, which reads and hashes all of it, as an archive and as
// a folder. Beside it is the limit that the machine sets: decompressing the same bytes and hashing
// them are each done alone, and the slower of the two cannot be beaten where they run at once.
func BenchmarkOpenLarge(b *testing.B) {
	archive := largePackage(b, 1000, false)
	folder := unpack(b, archive)
	for name, source := range map[string]string{"archive": archive, "folder": folder} {
		b.Run(name, func(b *testing.B) {
			var opened, decompressed, hashed time.Duration
			for b.Loop() {
				opened += timed(func() {
					p, err := host.Open(b.Context(), source, host.OpenOptions{})
					if err != nil {
						b.Fatal(err)
					}
					if err := p.Close(); err != nil {
						b.Fatal(err)
					}
				})
				if name == "archive" {
					decompressed += timed(func() { decompress(b, archive, io.Discard) })
				}
				hashed += timed(func() { hashAll(b, folder) })
			}
			n := float64(b.N)
			b.ReportMetric(opened.Seconds()/n, "open-s")
			b.ReportMetric(hashed.Seconds()/n, "sha256-s")
			if name == "archive" {
				b.ReportMetric(decompressed.Seconds()/n, "zstd-s")
			}
			b.ReportMetric(opened.Seconds()/max(hashed, decompressed).Seconds(), "limit-ratio")
		})
	}
}

// BenchmarkRedeploy deploys what is deployed already, 250 MB of images, beside opening the package
// alone, which has to be done in any case: what is left is talk with the API server and the registry.
func BenchmarkRedeploy(b *testing.B) {
	r := testregistry.Start(b, testregistry.Options{})
	s := newSite(b)
	s.init(r.Address(), "u", "p")
	file := largePackage(b, 250, false)
	s.mustDeploy(file)
	var redeployed, opened time.Duration
	for b.Loop() {
		redeployed += timed(func() {
			if _, err := host.Deploy(b.Context(), host.DeployOptions{Common: s.options(), Source: file}); err != nil {
				b.Fatal(err)
			}
		})
		opened += timed(func() {
			p, err := host.Open(b.Context(), file, host.OpenOptions{})
			if err != nil {
				b.Fatal(err)
			}
			_ = p.Close() // only read from
		})
	}
	n := float64(b.N)
	b.ReportMetric(redeployed.Seconds()/n, "redeploy-s")
	b.ReportMetric(opened.Seconds()/n, "open-s")
	b.ReportMetric(redeployed.Seconds()/opened.Seconds(), "limit-ratio")
}

func timed(do func()) time.Duration {
	began := time.Now()
	do()
	return time.Since(began)
}

func decompress(b *testing.B, archive string, into io.Writer) {
	b.Helper()
	f, err := os.Open(archive)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	decoder, err := zstd.NewReader(f)
	if err != nil {
		b.Fatal(err)
	}
	defer decoder.Close()
	if _, err := io.Copy(into, decoder); err != nil {
		b.Fatal(err)
	}
}

// hashAll hashes the files of a folder one after the other.
func hashAll(b *testing.B, folder string) {
	b.Helper()
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.Copy(sha256.New(), f)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
}

// unpack writes what is in an archive to a folder.
func unpack(b *testing.B, archive string) string {
	b.Helper()
	dir := b.TempDir()
	reader, writer := io.Pipe()
	go func() {
		decompress(b, archive, writer)
		_ = writer.Close() // the reader sees the end
	}()
	in := tar.NewReader(reader)
	for {
		h, err := in.Next()
		if err == io.EOF {
			return dir
		}
		if err != nil {
			b.Fatal(err)
		}
		name := filepath.Join(dir, filepath.FromSlash(h.Name))
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			b.Fatal(err)
		}
		f, err := os.Create(name)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(f, in); err != nil {
			b.Fatal(err)
		}
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
