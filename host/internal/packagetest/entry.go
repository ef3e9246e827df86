package packagetest

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Entry is an entry of a tar.
type Entry struct {
	// Name ends in a slash if the entry is a folder and Type is not set.
	Name string
	// Type is tar's; zero is a file or a folder by the name.
	Type byte
	Mode int64
	// Link is the target of a link.
	Link string
	Body []byte
	// Open makes the content instead of Body, for what is too large to be held: Size bytes whose
	// SHA-256 is Sum, in hex, each time.
	Open func() io.Reader
	Size int64
	Sum  string
	// PAX are extended header records.
	PAX map[string]string
	// Raw is written as it is in place of the entry: whole blocks that Go's writer refuses to make.
	Raw []byte
}

func (e Entry) isFile() bool {
	return e.Raw == nil && (e.Type == 0 && !strings.HasSuffix(e.Name, "/") || e.Type == tar.TypeReg)
}

// content is a reader of what the entry holds, and how much that is.
func (e Entry) content() (io.Reader, int64) {
	if e.Open != nil {
		return e.Open(), e.Size
	}
	return bytes.NewReader(e.Body), int64(len(e.Body))
}

// sum is the SHA-256 of the content, in hex.
func (e Entry) sum() string {
	if e.Open != nil {
		return e.Sum
	}
	return hashOf(e.Body)
}

func (e Entry) header() *tar.Header {
	h := &tar.Header{Typeflag: e.Type, Name: e.Name, Mode: e.Mode, Linkname: e.Link, PAXRecords: e.PAX}
	if e.Type == 0 {
		h.Typeflag = tar.TypeReg
		if strings.HasSuffix(e.Name, "/") {
			h.Typeflag = tar.TypeDir
			h.Name = strings.TrimSuffix(e.Name, "/") // as Zarf writes folders
		}
	}
	if h.Typeflag == tar.TypeReg {
		_, h.Size = e.content()
	}
	return h
}

// place writes the entry below a folder on disk.
func (e Entry) place(folder string) error {
	name := filepath.Join(folder, filepath.FromSlash(e.Name))
	switch h := e.header(); h.Typeflag {
	case tar.TypeDir:
		return os.MkdirAll(name, 0o700)
	case tar.TypeSymlink:
		return os.Symlink(e.Link, name)
	case tar.TypeReg:
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		return e.write(name)
	default:
		return fmt.Errorf("a folder cannot hold an entry of type %q", h.Typeflag)
	}
}

func (e Entry) write(name string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	content, _ := e.content()
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}

// Tar is a tar of entries as Zarf writes them: no times, no owners.
func Tar(entries []Entry) ([]byte, error) {
	var out bytes.Buffer
	if err := writeTar(&out, entries); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// Archive writes entries as the archive of a package: a single zstd frame, or a plain tar.
func Archive(w io.Writer, entries []Entry, uncompressed bool) error {
	if uncompressed {
		return writeTar(w, entries)
	}
	// One encoder, so that the same entries always give the same bytes.
	encoder, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	if err := writeTar(encoder, entries); err != nil {
		encoder.Close()
		return err
	}
	return encoder.Close()
}

func writeTar(w io.Writer, entries []Entry) error {
	tw := tar.NewWriter(w)
	for _, e := range entries {
		if err := writeEntry(tw, w, e); err != nil {
			return fmt.Errorf("writing entry %q: %w", e.Name, err)
		}
	}
	return tw.Close()
}

func writeEntry(tw *tar.Writer, w io.Writer, e Entry) error {
	if err := tw.Flush(); err != nil {
		return err
	}
	if e.Raw != nil {
		_, err := w.Write(e.Raw)
		return err
	}
	h := e.header()
	if err := tw.WriteHeader(h); err != nil {
		return err
	}
	if h.Typeflag != tar.TypeReg {
		return nil
	}
	content, _ := e.content()
	_, err := io.Copy(tw, content)
	return err
}
