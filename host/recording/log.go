package recording

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/zarf-host/zarf-host/host/hook"
)

// modulesFolder is where a recording keeps the modules that were asked, by their digest.
const modulesFolder = "modules"

// Log is a recording that is being written. Its methods may be called from several goroutines.
type Log struct {
	dir string

	mu    sync.Mutex
	calls int
}

// Create makes a recording in a folder that does not exist yet or is empty: two operations in one folder
// could not be told apart.
func Create(dir string) (*Log, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the recording: %w", err)
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("making the recording: %w", err)
	}
	defer f.Close()
	if _, err := f.Readdirnames(1); err == nil {
		return nil, fmt.Errorf("making the recording: %q is not empty: name another folder, or empty it", dir)
	} else if !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("making the recording: %w", err)
	}
	return &Log{dir: dir}, nil
}

// Add writes a call at the end, named after its number, hook and plugin.
func (l *Log) Add(name hook.Name, c Call) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	plugin := "plugin"
	if c.Plugin != nil {
		plugin = c.Plugin.Name
	}
	return c.Write(filepath.Join(l.dir, fmt.Sprintf("%03d-%s-%s", l.calls, name, plugin)))
}

// AddModule keeps a module, once.
func (l *Log) AddModule(module []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	sum := sha256.Sum256(module)
	path := modulePath(l.dir, "sha256:"+hex.EncodeToString(sum[:]))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("keeping a module in the recording: %w", err)
	}
	if err := os.WriteFile(path, module, 0o600); err != nil {
		return fmt.Errorf("keeping a module in the recording: %w", err)
	}
	return nil
}

// ErrNoModule says that a recording does not have a module.
var ErrNoModule = errors.New("the recording does not have the module")

// Module finds the module of a digest in the recording that a call's folder is in. What it returns has
// that digest.
func Module(call, digest string) ([]byte, error) {
	for _, dir := range []string{filepath.Dir(filepath.Clean(call)), call} {
		f, err := os.Open(modulePath(dir, digest))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading a module of the recording: %w", err)
		}
		module, err := io.ReadAll(io.LimitReader(f, maxFile))
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("reading a module of the recording: %w", err)
		}
		if sum := sha256.Sum256(module); "sha256:"+hex.EncodeToString(sum[:]) != digest {
			return nil, fmt.Errorf("the module that the recording keeps as %s is another one", digest)
		}
		return module, nil
	}
	return nil, fmt.Errorf("%w %s", ErrNoModule, digest)
}

func modulePath(dir, digest string) string {
	// Its name is a digest, whatever the summary of the call says.
	return filepath.Join(dir, modulesFolder, filepath.Base(strings.TrimPrefix(digest, "sha256:"))+".wasm")
}
