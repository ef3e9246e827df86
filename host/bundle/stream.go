package bundle

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"strconv"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
)

// stream is the decompressed form of an archive, read from its start.
type stream struct {
	name  string // of the archive
	meter *meter
	close func() error
	// sum is what the archive's own bytes must hash to, where something declares it.
	sum string
	raw hash.Hash
}

// Read reads decompressed bytes.
func (s *stream) Read(p []byte) (int, error) { return s.meter.Read(p) }

// Close frees the decompressor and the file.
func (s *stream) Close() error { return s.close() }

// drain reads to the very end. Behind a tar there may be nothing but zeros, and the bytes of the
// archive must hash to what was declared.
func (s *stream) drain() error {
	if err := zeros(s.meter, s.name); err != nil {
		return err
	}
	if s.sum != "" {
		if got := hex.EncodeToString(s.raw.Sum(nil)); got != s.sum {
			return refuse(s.name, "its sha256 is %s, expected was %s", got, s.sum)
		}
	}
	return nil
}

// openStream reads an archive's bytes, which it takes for zstd or for a plain tar by their first
// bytes, not by the file's name.
func openStream(ctx context.Context, name string, src io.ReadCloser, sum string, limits Limits) (*stream, error) {
	s := &stream{name: name, sum: sum, close: src.Close}
	m := &meter{name: name, limits: limits}
	var r io.Reader = &source{ctx: ctx, r: src, n: &m.compressed}
	if sum != "" {
		s.raw = sha256.New()
		r = io.TeeReader(r, s.raw)
	}
	buffered := bufio.NewReaderSize(r, 256<<10)
	head, err := buffered.Peek(4)
	if err != nil && err != io.EOF {
		return nil, errors.Join(faultOf(name, "", err), src.Close())
	}
	m.r = buffered
	if isZstd(head) {
		decoder, err := zstd.NewReader(buffered, zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, errors.Join(faultOf(name, "", err), src.Close())
		}
		m.r, m.zstd = decoder, true
		s.close = func() error {
			decoder.Close() // before the file: it reads ahead
			return src.Close()
		}
	}
	s.meter = m
	return s, nil
}

// isZstd reports whether bytes begin a zstd frame or a skippable one.
func isZstd(head []byte) bool {
	if len(head) < 4 {
		return false
	}
	return bytes.Equal(head[:4], []byte{0x28, 0xb5, 0x2f, 0xfd}) ||
		head[0]&0xf0 == 0x50 && bytes.Equal(head[1:4], []byte{0x2a, 0x4d, 0x18})
}

// source counts the bytes that come from disk and stops when the operation does.
type source struct {
	ctx context.Context
	r   io.Reader
	n   *atomic.Int64 // read by the goroutine that consumes, written by the one that decompresses
}

func (s *source) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, &sourceError{err}
	}
	n, err := s.r.Read(p)
	s.n.Add(int64(n))
	if err != nil && err != io.EOF {
		err = &sourceError{err}
	}
	return n, err
}

// meter counts decompressed bytes and stops a decompression bomb before it is swallowed.
type meter struct {
	name       string
	limits     Limits
	r          io.Reader
	zstd       bool
	compressed atomic.Int64
	total      int64
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.total += int64(n)
	if m.total > m.limits.Bytes {
		return 0, refuse(m.name, "decompression bomb: more than the allowed %d bytes", m.limits.Bytes)
	}
	if m.zstd && m.total > ratioFloor && m.total/m.limits.Ratio > m.compressed.Load() {
		return 0, refuse(m.name, "decompression bomb: more than %d times its compressed size", m.limits.Ratio)
	}
	return n, err
}

// fault turns an error of the decompressor or the tar reader into the reason to refuse the
// archive. Errors that are not the package's doing, such as a cancelled context or a failing disk,
// stay as they are.
func (s *stream) fault(after string, err error) error {
	return faultOf(s.name, after, err)
}

func faultOf(name, after string, err error) error {
	var refused *RefusedError
	var outside *sourceError
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &outside):
		return outside
	}
	reason := "corrupt archive"
	for _, known := range []struct {
		err    error
		reason string
	}{
		{io.ErrUnexpectedEOF, "truncated archive"},
		{tar.ErrHeader, "malformed tar header"},
		{zstd.ErrMagicMismatch, "trailing data that is not zstd"},
		{zstd.ErrFrameSizeExceeded, "size over the one that its frame declares"},
		{zstd.ErrFrameSizeMismatch, "size differs from the one that its frame declares"},
		{zstd.ErrWindowSizeExceeded, "decompression bomb: its window is larger than allowed"},
		{zstd.ErrDecoderSizeExceeded, "decompression bomb: needs more memory than allowed"},
	} {
		if errors.Is(err, known.err) {
			reason = known.reason
			break
		}
	}
	if after != "" {
		reason += " after " + quote(after)
	}
	return &RefusedError{File: name, Reason: reason, Err: err}
}

// sourceError marks an error of the disk or the context, so that it is told from those of a
// decoder, which has too many to list.
type sourceError struct{ err error }

func (e *sourceError) Error() string { return e.err.Error() }
func (e *sourceError) Unwrap() error { return e.err }

func quote(s string) string { return strconv.Quote(s) }
