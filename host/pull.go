package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/create"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/source"
)

// PullOptions say which package is fetched.
type PullOptions struct {
	Common
	// Source is an oci:// reference, or an https:// address with a checksum in Open.SHA256.
	Source string
	// Output is the folder that the archive is written into. Default: the current one.
	Output string
}

// Pulled is a package that was fetched.
type Pulled struct {
	// File is the archive.
	File string
	// Bytes is how large it is.
	Bytes int64
	// Digest is the package's, "sha256:…".
	Digest string
}

// Pull writes the archive of a package that lies elsewhere. Its files are those that were published, so
// its digest and its signature are too; what an archive of that name held is replaced when all is there.
func Pull(ctx context.Context, o PullOptions) (Pulled, error) {
	o.Common = o.defaulted()
	ctx, cancel := o.bounded(ctx)
	defer cancel()
	folder := cmp.Or(o.Output, ".")
	if err := errors.Join(o.checkTempDir(), isFolder(folder)); err != nil {
		return Pulled{}, err
	}
	options := o.openOptions()
	b, err := source.Open(ctx, o.Source, source.Options{
		Bundle:       bundle.Options{Limits: options.Limits, SHA256: options.SHA256, Concurrency: options.Concurrency},
		Architecture: options.Architecture, PlainHTTP: o.PlainHTTP, InsecureSkipTLSVerify: o.InsecureSkipTLSVerify, Sink: o.Sink,
	})
	if err != nil {
		return Pulled{}, err
	}
	defer func() { _ = b.Close() }() // only read from
	if signer, err := options.Verification.check(ctx, b); err != nil {
		return Pulled{}, err
	} else if b.Signed() && signer == "" {
		o.say(event.Warn, "open", "the package is signed, and its signature was not verified")
	}
	if !b.Verified() {
		return Pulled{}, &PreflightError{Problems: []string{"the package cannot be verified: " + b.Integrity().Reason}}
	}
	work, err := os.MkdirTemp(o.TempDir, "zarf-host-pull-")
	if err != nil {
		return Pulled{}, fmt.Errorf("making a folder for temporary files: %w", err)
	}
	defer func() {
		if err := os.RemoveAll(work); err != nil {
			o.say(event.Warn, "pull", fmt.Sprintf("deleting temporary files: %v", err))
		}
	}()
	o.say(event.Info, "pull", "fetching "+source.Clean(o.Source))
	contents, err := fetched(ctx, b, create.Store{Dir: work})
	if err != nil {
		return Pulled{}, err
	}
	pkg := b.Definition()
	out := Pulled{File: filepath.Join(folder, bundle.FileName(&pkg)), Digest: b.Digest()}
	out.Bytes, err = writeWhole(ctx, out.File, contents, pkg.Metadata.Uncompressed)
	return out, err
}

// fetched brings the files of a package to disk, those that it is read by into memory.
func fetched(ctx context.Context, b *bundle.Bundle, store create.Store) ([]bundle.Content, error) {
	var out []bundle.Content
	have := map[string]bool{}
	err := b.Walk(ctx, func(string) bool { return true }, func(f bundle.File, r io.Reader) error {
		if !strings.Contains(f.Path, "/") && f.Size < 1<<20 {
			data, err := io.ReadAll(r)
			out = append(out, bundle.Content{File: f, Data: append([]byte{}, data...)})
			return err
		}
		d := digest.NewDigestFromEncoded(digest.SHA256, f.SHA256)
		out = append(out, bundle.Content{File: f, Source: store.Path(d)})
		if have[f.SHA256] {
			return nil
		}
		have[f.SHA256] = true
		return store.Put(ctx, d, f.Size, r)
	})
	if err != nil {
		return nil, fmt.Errorf("fetching the package: %w", err)
	}
	return out, nil
}

// writeWhole writes the archive of a package, and puts it where it is to be when it is complete.
func writeWhole(ctx context.Context, target string, contents []bundle.Content, uncompressed bool) (size int64, err error) {
	f, err := os.CreateTemp(filepath.Dir(target), ".zarf-host-*")
	if err != nil {
		return 0, fmt.Errorf("writing the package: %w", err)
	}
	defer func() { _ = os.Remove(f.Name()) }() // it is gone where all went well
	err = bundle.WriteArchive(ctx, f, contents, uncompressed, nil)
	if err == nil {
		size, err = f.Seek(0, io.SeekEnd)
	}
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), target)
	}
	if err != nil {
		return 0, fmt.Errorf("writing package %q: %w", target, err)
	}
	return size, nil
}
