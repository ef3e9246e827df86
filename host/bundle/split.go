package bundle

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// splitSuffix ends the name of the file that describes a split archive.
const splitSuffix = ".part000"

// maxParts is how many parts Zarf numbers at most.
const maxParts = 999

// splitHeader is the content of a .part000 file.
type splitHeader struct {
	Sha256Sum string
	Bytes     int64
	Count     int
}

// parseSplitHeader reads the content of a .part000 file. The error is a reason to refuse it.
func parseSplitHeader(data []byte) (splitHeader, error) {
	var h splitHeader
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&h); err != nil {
		return h, fmt.Errorf("not the header of a split package: %w", err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return h, errors.New("trailing data after the header of the split package")
	}
	if sum, err := hex.DecodeString(h.Sha256Sum); err != nil || len(sum) != 32 || strings.ToLower(h.Sha256Sum) != h.Sha256Sum {
		return h, errors.New("header of the split package declares no sha256")
	}
	if h.Count < 1 || h.Count > maxParts {
		return h, fmt.Errorf("header of the split package declares %d parts, allowed are 1 to %d", h.Count, maxParts)
	}
	if h.Bytes < 1 {
		return h, fmt.Errorf("header of the split package declares %d bytes", h.Bytes)
	}
	return h, nil
}

// openSplit opens a split archive by its header. The parts are read where they lie, one open at a
// time, never joined on disk. sum is what they must hash to together, or "".
func openSplit(path string, limits Limits, sum string) (*archive, error) {
	data, err := readHeader(path)
	if err != nil {
		return nil, err
	}
	name := filepath.Base(path)
	h, err := parseSplitHeader(data)
	if err != nil {
		return nil, &RefusedError{File: name, Reason: err.Error()}
	}
	if sum != "" && sum != h.Sha256Sum {
		return nil, refuse(name, "the header declares the sha256 %s of the parts together, expected was %s", h.Sha256Sum, sum)
	}
	base := strings.TrimSuffix(path, splitSuffix)
	part := func(n int) string { return fmt.Sprintf("%s.part%03d", base, n) }
	var total int64
	for n := 1; n <= h.Count; n++ {
		info, err := os.Stat(part(n))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, refuse(filepath.Base(part(n)), "missing: the header declares %d parts", h.Count)
		}
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			return nil, refuse(filepath.Base(part(n)), "not a plain file")
		}
		if total += info.Size(); total > h.Bytes {
			return nil, refuse(filepath.Base(part(n)), "size over the declared one: the header declares %d bytes in all", h.Bytes)
		}
	}
	if total < h.Bytes {
		return nil, refuse(name, "truncated: the parts hold %d bytes, the header declares %d", total, h.Bytes)
	}
	if _, err := os.Stat(part(h.Count + 1)); err == nil {
		return nil, refuse(filepath.Base(part(h.Count+1)), "one part more than the %d that the header declares", h.Count)
	}
	return &archive{
		name:   name,
		limits: limits,
		sum:    h.Sha256Sum,
		open: func(context.Context) (io.ReadCloser, error) {
			return &partsReader{part: part, count: h.Count, left: h.Bytes}, nil
		},
		close: func() error { return nil },
	}, nil
}

func readHeader(path string) ([]byte, error) {
	const most = 64 << 10
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, err
	}
	if len(data) > most {
		return nil, refuse(filepath.Base(path), "header of the split package is over %d bytes", most)
	}
	return data, nil
}

// partsReader reads parts one after another.
type partsReader struct {
	part  func(n int) string
	count int
	left  int64 // of the bytes that the header declares
	next  int   // parts opened so far
	f     *os.File
}

func (p *partsReader) Read(buf []byte) (int, error) {
	for {
		if p.f == nil {
			if p.next == p.count {
				return 0, io.EOF
			}
			p.next++
			f, err := os.Open(p.part(p.next))
			if err != nil {
				return 0, err
			}
			p.f = f
		}
		n, err := p.f.Read(buf)
		if p.left -= int64(n); p.left < 0 {
			return 0, refuse(filepath.Base(p.f.Name()), "size over the declared one: the part grew while it was read")
		}
		if err == io.EOF {
			err = p.f.Close()
			p.f = nil
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

func (p *partsReader) Close() error {
	if p.f == nil {
		return nil
	}
	return p.f.Close()
}
