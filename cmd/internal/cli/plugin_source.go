package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/pflag"

	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/plugin"
	"github.com/zarf-host/zarf-host/host/signature"
	"github.com/zarf-host/zarf-host/host/wasm"
)

// pluginSourceFlags say which plugins are trusted, wherever they come from.
type pluginSourceFlags struct {
	keys []string
	lock string
}

func (f *pluginSourceFlags) addKeys(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.keys, "plugin-key", nil, "cosign public key `file`: plugins must be signed by it, or by another one that is given; repeatable")
}

func (f *pluginSourceFlags) addLock(flags *pflag.FlagSet) {
	flags.StringVar(&f.lock, "plugin-lock", "", "lock `file` with the plugins that may run; "+plugin.LockFile+" of this folder, if there is one, where none is named")
}

// source is how plugins are had.
func (f pluginSourceFlags) source(r *root) (host.PluginSource, error) {
	s := host.PluginSource{PlainHTTP: r.remote.plainHTTP, InsecureSkipTLSVerify: r.remote.skipTLSVerify, Sink: r.sink()}
	for _, path := range f.keys {
		data, err := readUpTo(path, signature.MaxKey+1)
		if err != nil {
			return s, fmt.Errorf("--plugin-key: %w", err)
		}
		key, err := signature.ParsePublicKey(data)
		if err != nil {
			return s, fmt.Errorf("--plugin-key %s: %w", path, err)
		}
		s.Keys = append(s.Keys, key)
	}
	return s, nil
}

// lockPath is where the lock file is, or is to be.
func (f pluginSourceFlags) lockPath() string {
	if f.lock == "" {
		return plugin.LockFile
	}
	return f.lock
}

// readLock reads the lock file that is named, or the one of this folder; nil where there is none.
func (f pluginSourceFlags) readLock(r *root) (*plugin.Lock, error) {
	lock, err := readLock(f.lockPath())
	if errors.Is(err, fs.ErrNotExist) && f.lock == "" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r.sink().Emit(event.Event{Level: event.Info, Step: "plugin", Message: fmt.Sprintf("plugins are held against the lock file %s", f.lockPath())})
	return &lock, nil
}

func readLock(path string) (plugin.Lock, error) {
	data, err := readUpTo(path, plugin.MaxLock+1)
	if err != nil {
		return plugin.Lock{}, fmt.Errorf("reading the lock file of plugins: %w", err)
	}
	lock, err := plugin.ParseLock(data)
	if err != nil {
		return plugin.Lock{}, fmt.Errorf("reading the lock file of plugins %q: %w", path, err)
	}
	return lock, nil
}

// readModule reads a module that is looked at alone: a file, or one in a registry.
func (r *root) readModule(ctx context.Context, text string, limits wasm.Limits) ([]byte, error) {
	ref, err := plugin.ParseReference(text)
	if err != nil {
		return nil, err
	}
	switch ref.Kind {
	case plugin.Package:
		return nil, fmt.Errorf("a plugin in a package is written to a file first: `zarf-host plugin pull %s --package PACKAGE`", ref)
	case plugin.File:
		return wasm.ReadModule(ref.Path, limits)
	}
	source, err := (pluginSourceFlags{}).source(r)
	if err != nil {
		return nil, err
	}
	source.Limits = limits
	found, err := host.FetchPlugin(ctx, ref, nil, source)
	return found.Bytes, err
}

// notHad gives the exit code of a plugin that could not be had: a guard that cannot be had is a deny. A
// file that is not there is a misspelt name.
func notHad(err error) error {
	var failed *host.PluginFetchError
	if errors.As(err, &failed) && failed.Reference.Kind == plugin.File && errors.As(err, new(*os.PathError)) {
		return err
	}
	return &codeError{code: exitDenied, err: err}
}
