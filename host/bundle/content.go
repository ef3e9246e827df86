package bundle

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/definition"
	"github.com/zarf-host/zarf-host/host/spec"
)

// Content is a file that goes into a package.
type Content struct {
	// File is its path in the package, its size and its checksum.
	File
	// Data is what it holds; nil means what lies on disk at Source.
	Data   []byte
	Source string
}

// NewContent is a file of a package that is held in memory.
func NewContent(path string, data []byte) Content {
	if data == nil {
		data = []byte{}
	}
	return Content{File: File{Path: path, Size: int64(len(data)), SHA256: hashOf(data)}, Data: data}
}

// ReadContent is a file of a package that lies on disk, which it reads once.
func ReadContent(ctx context.Context, path, source string) (Content, error) {
	f, err := os.Open(source)
	if err != nil {
		return Content{}, err
	}
	defer func() { _ = f.Close() }() // only read from
	sum := sha256.New()
	n, err := io.Copy(sum, contextReader{ctx, f})
	if err != nil {
		return Content{}, fmt.Errorf("reading %q: %w", source, err)
	}
	return Content{File: File{Path: path, Size: n, SHA256: hex.EncodeToString(sum.Sum(nil))}, Source: source}, nil
}

// write writes what the file holds. It fails if that is no longer what it was.
func (c Content) write(ctx context.Context, out io.Writer) (err error) {
	var in io.Reader = bytes.NewReader(c.Data)
	if c.Data == nil {
		f, err := os.Open(c.Source)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }() // only read from
		in = f
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(out, sum), io.LimitReader(contextReader{ctx, in}, c.Size+1))
	if err != nil {
		return err
	}
	if n != c.Size || hex.EncodeToString(sum.Sum(nil)) != c.SHA256 {
		return fmt.Errorf("%q changed while the package was written", c.Source)
	}
	return nil
}

// contextReader ends with its context.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.r.Read(p)
}

// Checksums is checksums.txt for the files of a package.
func Checksums(files []Content) []byte {
	var lines []string
	for _, f := range files {
		lines = append(lines, f.SHA256+" "+f.Path)
	}
	slices.Sort(lines)
	return []byte(strings.Join(lines, "\n") + "\n")
}

// AggregateChecksum is the checksum of checksums.txt, by which a definition vouches for it.
func AggregateChecksum(checksums []byte) string { return hashOf(checksums) }

// checkContents refuses what no reader of packages would accept.
func checkContents(files []Content) error {
	seen := newNames(Limits{}.withDefaults(), "")
	for _, f := range files {
		clean, reason := seen.add(f.Path, false)
		if reason == "" {
			reason = plainName(f.Path)
		}
		if reason == "" && clean != f.Path {
			reason = "path is not in its shortest form"
		}
		if reason != "" {
			return fmt.Errorf("writing %q: %s", f.Path, reason)
		}
	}
	return nil
}

// Digest is the digest that Zarf gives the package which consists of these files, "sha256:…".
func Digest(files []Content) (string, error) {
	var pkg *spec.Package
	var all []File
	for _, f := range files {
		all = append(all, f.File)
		if f.Path != DefinitionPath {
			continue
		}
		var err error
		if pkg, err = definition.Parse(f.Data); err != nil {
			return "", err
		}
	}
	if pkg == nil {
		return "", refuse(DefinitionPath, "missing: this is no package")
	}
	return packageDigest(pkg, all)
}
