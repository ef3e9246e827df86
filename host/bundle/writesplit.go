package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// SplitError says that a package has too many parts.
type SplitError struct {
	Bytes, PartBytes int64
}

func (e *SplitError) Error() string {
	return fmt.Sprintf("a package of %d bytes in parts of %d has more than %d of them", e.Bytes, e.PartBytes, maxParts)
}

// Hint says what to do about it.
func (e *SplitError) Hint() string { return "allow larger parts with --max-package-size" }

// Split writes the parts of an archive beside each other: base.part001 and on, of at most partBytes
// each, and base.part000, which describes them and is written last. It returns the names of what it
// wrote, also beside an error. The archive stays as it is.
func Split(archive io.Reader, size int64, base string, partBytes int64) (written []string, err error) {
	if size > partBytes*maxParts {
		return nil, &SplitError{size, partBytes}
	}
	sum := sha256.New()
	in := io.TeeReader(archive, sum)
	h := splitHeader{}
	for h.Bytes < size {
		h.Count++
		name := fmt.Sprintf("%s.part%03d", base, h.Count)
		written = append(written, name)
		n, err := writePart(name, io.LimitReader(in, partBytes))
		if err != nil {
			return written, err
		}
		if n == 0 {
			return written, fmt.Errorf("splitting the package: it ends after %d of %d bytes", h.Bytes, size)
		}
		h.Bytes += n
	}
	h.Sha256Sum = hex.EncodeToString(sum.Sum(nil))
	data, err := json.Marshal(h)
	if err != nil {
		return written, err
	}
	written = append(written, base+splitSuffix)
	return written, os.WriteFile(base+splitSuffix, data, 0o644)
}

func writePart(name string, in io.Reader) (int64, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(f, in)
	return n, errors.Join(err, f.Close())
}
