package archive

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"time"
)

// FrameDir is a FrameCache in a folder. What cannot be read or written there is not there.
type FrameDir struct{ Dir string }

func (d FrameDir) path(key [sha256.Size]byte) string {
	name := hex.EncodeToString(key[:])
	return filepath.Join(d.Dir, name[:2], name)
}

// Get returns a frame that was put, or nil.
func (d FrameDir) Get(key [sha256.Size]byte) []byte {
	path := d.path(key)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // its age is since when nobody used it
	return data
}

// Put keeps a frame, as a whole or not at all.
func (d FrameDir) Put(key [sha256.Size]byte, frame []byte) {
	path := d.path(key)
	if os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return
	}
	_, err = f.Write(frame)
	if closed := f.Close(); err != nil || closed != nil || os.Rename(f.Name(), path) != nil {
		_ = os.Remove(f.Name()) // a cache may lose anything
	}
}
