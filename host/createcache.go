package host

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/zarf-host/zarf-host/host/event"
)

// cacheAge is how long create keeps what it fetched or compressed and nobody used since.
const cacheAge = 30 * 24 * time.Hour

// trimCache deletes what nobody used for long. A cache that cannot be trimmed is said and no failure.
func (o CreateOptions) trimCache() {
	if o.CacheDir == "" {
		return
	}
	if err := trim(o.CacheDir, o.Now().Add(-cacheAge)); err != nil {
		o.say(event.Warn, "create", fmt.Sprintf("looking for what is old in the cache: %v", err))
	}
}

// trim deletes the files below a folder that were not used since a time.
func trim(dir string, since time.Time) error {
	return filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil || info.ModTime().After(since) {
			return nil //nolint:nilerr // somebody else deleted it
		}
		return os.Remove(file)
	})
}
