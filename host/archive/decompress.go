package archive

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// maxWindow is the largest zstd window that is accepted, the most that zstd's own tool decompresses
// unasked.
const maxWindow = 128 << 20

// Decompress unpacks an archive into a folder, which is made if need be. What kind it is, tar, tar.gz,
// tar.zst or zip, its first bytes tell, whatever its name.
func Decompress(ctx context.Context, archive, folder string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("unpacking %q: %w", archive, err)
		}
	}()
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read from
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	dir, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }() // its files are closed
	head := make([]byte, 4)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("reading what kind of archive it is: %w", err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if bytes.HasPrefix(head[:n], []byte("PK")) {
		return extractZip(ctx, f, dir)
	}
	r, err := decompressor(head[:n], f)
	if err != nil {
		return err
	}
	if err := ExtractTar(ctx, r, dir, nil); err != nil {
		return err
	}
	// What follows the tar is read too: a checksum may come at its end.
	_, err = io.Copy(io.Discard, r)
	return err
}

// decompressor returns what a compressed tar holds.
func decompressor(head []byte, r io.Reader) (io.Reader, error) {
	r = bufio.NewReader(r)
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return gzip.NewReader(r)
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		// Without goroutines of its own there is nothing to close.
		return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	}
	return r, nil
}

// maxLinkTarget is how long the target of a symbolic link in a zip may be.
const maxLinkTarget = 4096

func extractZip(ctx context.Context, f *os.File, dir *os.Root) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	z, err := zip.NewReader(f, info.Size())
	if err != nil {
		return fmt.Errorf("reading the zip: %w", err)
	}
	for _, file := range z.File {
		if err := extractZipped(ctx, file, dir); err != nil {
			return err
		}
	}
	return nil
}

func extractZipped(ctx context.Context, file *zip.File, dir *os.Root) error {
	e := entry{name: file.Name, mode: file.Mode()}
	content, err := file.Open()
	if err != nil {
		return fmt.Errorf("reading %q: %w", file.Name, err)
	}
	defer func() { _ = content.Close() }() // only read from
	switch {
	case e.mode&fs.ModeSymlink != 0:
		target, err := io.ReadAll(io.LimitReader(content, maxLinkTarget))
		if err != nil {
			return fmt.Errorf("reading %q: %w", file.Name, err)
		}
		e.link = string(target)
	case !e.mode.IsDir() && !e.mode.IsRegular():
		return &UnsafeError{Entry: e.name, Reason: "neither a file nor a folder nor a link"}
	}
	return e.place(ctx, dir, nil, content)
}

// DecompressNested unpacks every .tar below a folder where it lies, and deletes it. The SBOMs of a
// package have no folder in their tar, so they get one.
func DecompressNested(ctx context.Context, folder string) error {
	dir, err := os.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("unpacking the archives in %q: %w", folder, err)
	}
	defer func() { _ = dir.Close() }() // its files are closed
	var nested []string
	err = fs.WalkDir(dir.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(name, ".tar") {
			nested = append(nested, name)
		}
		return err
	})
	for _, name := range nested {
		if err == nil {
			err = decompressNested(ctx, dir, name)
		}
	}
	if err != nil {
		return fmt.Errorf("unpacking the archives in %q: %w", folder, err)
	}
	return nil
}

func decompressNested(ctx context.Context, dir *os.Root, name string) error {
	into := path.Dir(name)
	if path.Base(name) == "sboms.tar" {
		into = strings.TrimSuffix(name, ".tar")
	}
	if err := dir.MkdirAll(into, 0o755); err != nil {
		return err
	}
	below, err := dir.OpenRoot(into)
	if err != nil {
		return err
	}
	defer func() { _ = below.Close() }() // its files are closed
	f, err := dir.Open(name)
	if err != nil {
		return err
	}
	if err := errors.Join(ExtractTar(ctx, f, below, nil), f.Close()); err != nil {
		return fmt.Errorf("unpacking %q: %w", name, err)
	}
	return dir.Remove(name)
}
