package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strings"
)

// keepable is the size up to which a file is worth keeping from the first pass.
const keepable = 8 << 20

// scan is the first pass: it hashes every file and keeps the small ones.
type scan struct {
	limits Limits
	memory int64 // left to keep files in
	files  []File
	index  map[string]int
	kept   map[string][]byte
	buf    []byte
}

func newScan(limits Limits, memory int64) *scan {
	return &scan{limits: limits, memory: memory, index: map[string]int{}, kept: map[string][]byte{}, buf: make([]byte, 256<<10)}
}

func (s *scan) file(path string, size int64, r io.Reader) error {
	keep, err := s.keeps(path, size)
	if err != nil {
		return err
	}
	sum := sha256.New()
	var sink io.Writer = sum
	var content *bytes.Buffer
	if keep {
		content = bytes.NewBuffer(make([]byte, 0, size))
		sink = io.MultiWriter(sum, content)
	}
	teed := io.TeeReader(r, sink)
	if component := componentOf(path); component != "" {
		// Refused here, before anything is done with the package, not when it is unpacked.
		if err := eachComponentEntry(component, teed, s.limits, nil); err != nil {
			return err
		}
	}
	for err = error(nil); err != io.EOF; {
		if _, err = teed.Read(s.buf); err != nil && err != io.EOF {
			return err
		}
	}
	s.index[path] = len(s.files)
	s.files = append(s.files, File{Path: path, Size: size, SHA256: hex.EncodeToString(sum.Sum(nil))})
	if keep {
		s.kept[path] = content.Bytes()
	}
	return nil
}

// manifestSize is the size up to which a blob of an image may be a manifest, which whoever pushes the
// image reads before anything else.
const manifestSize = 256 << 10

// keeps decides whether a file stays in memory. The files that describe the package always do, and
// have limits of their own; image layers never do, since only a registry wants them.
func (s *scan) keeps(path string, size int64) (bool, error) {
	switch path {
	case DefinitionPath:
		if size > s.limits.DefinitionBytes {
			return false, refuse(path, "%d bytes, allowed are %d", size, s.limits.DefinitionBytes)
		}
		return true, nil
	case ChecksumsPath:
		if size > s.limits.ChecksumsBytes {
			return false, refuse(path, "%d bytes, allowed are %d", size, s.limits.ChecksumsBytes)
		}
		return true, nil
	}
	if size > keepable || size > s.memory || !keepsContent(path, size) {
		return false, nil
	}
	s.memory -= size
	return true, nil
}

// keepsContent reports whether a file may be asked for more than once.
func keepsContent(path string, size int64) bool {
	if strings.HasPrefix(path, ImagesDir+"/blobs/") {
		return size <= manifestSize
	}
	return path != SBOMPath
}
