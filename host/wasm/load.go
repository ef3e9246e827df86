package wasm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/wasm/internal/module"
	"github.com/zarf-host/zarf-host/host/wasm/internal/sandbox"
)

// Options say how a plugin is loaded. The zero value is ready to use.
type Options struct {
	// Name is shown in errors until the metadata is read, such as the file's name.
	Name string
	// Config is the plugin's own configuration, held against its schema.
	Config map[string]any
	// Limits are the operator's; zero fields mean the defaults.
	Limits Limits
	// CacheDir is where compiled code is kept; empty means the user's own cache folder.
	CacheDir string
	// NoCache compiles each time and leaves nothing on disk.
	NoCache bool
	// Sandbox says in which process the plugin runs.
	Sandbox Sandbox
	// Program is what is started as the plugin's process, one that calls ChildMain first thing; empty
	// means this program.
	Program string

	// unasked is that the plugin is looked at and never asked, so that it needs no configuration.
	unasked bool
}

// Plugin is a loaded module. Its methods may be called from several goroutines.
type Plugin struct {
	meta   hook.Metadata
	digest string
	config map[string]any
	limits Limits

	runner runner
	slots  chan struct{} // one for each call that may run at once

	mu     sync.RWMutex // held for reading by each call, for writing by Close
	closed bool
}

// LoadFile loads the module in a file.
func LoadFile(ctx context.Context, path string, opts Options) (*Plugin, error) {
	if opts.Name == "" {
		opts.Name = filepath.Base(path)
	}
	data, err := ReadModule(path, opts.Limits)
	if err != nil {
		return nil, &Error{Plugin: opts.Name, Kind: KindRefusedModule, Err: err}
	}
	return Load(ctx, data, opts)
}

// ReadModule reads a module's file as far as the limits let Load take it: of one that is too large, one
// byte too much.
func ReadModule(path string, limits Limits) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the module: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, int64(limits.withDefaults().Module)+1))
	if err != nil {
		return nil, fmt.Errorf("reading the module %s: %w", path, err)
	}
	return data, nil
}

// Load checks and compiles a module. Nothing of it runs yet. The caller closes the plugin.
func Load(ctx context.Context, wasm []byte, opts Options) (*Plugin, error) {
	p := &Plugin{limits: opts.Limits.withDefaults()}
	name := opts.Name
	if err := opts.Limits.check(); err != nil {
		return nil, &Error{Plugin: name, Kind: KindRequest, Err: fmt.Errorf("its limits are refused: %w", err)}
	}
	refuse := func(err error) error { return &Error{Plugin: name, Kind: KindRefusedModule, Err: err} }
	if len(wasm) > p.limits.Module {
		return nil, &Error{Plugin: name, Kind: KindRefusedModule, Limit: size(p.limits.Module) + " of module",
			Err: errors.New("it is too large")}
	}
	m, err := module.Parse(wasm)
	if err != nil {
		return nil, refuse(err)
	}
	if p.meta, err = readMetadata(m.Sections); err != nil {
		return nil, refuse(err)
	}
	name = p.meta.Name
	if hint := p.meta.Fuel; hint > 0 {
		p.limits.Fuel = min(p.limits.Fuel, hint)
	}
	if err := check(m, p.meta, p.limits); err != nil {
		return nil, refuse(err)
	}
	if opts.unasked {
		err = checkSchema(p.meta.ConfigSchema)
	} else {
		p.config, err = checkConfig(ctx, p.meta.ConfigSchema, opts.Config)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("loading plugin %q: %w", name, context.Cause(ctx))
		}
		return nil, &Error{Plugin: name, Kind: KindRequest, Err: fmt.Errorf("its configuration is refused: %w", err)}
	}
	sum := sha256.Sum256(wasm)
	p.digest = "sha256:" + hex.EncodeToString(sum[:])
	setup := sandbox.Setup{
		Name: name, Digest: p.digest, Compile: p.limits.Compile, Body: p.limits.Body, Elements: p.limits.Elements,
		Budget: budget(p.limits, len(wasm)),
	}
	if !opts.NoCache {
		if setup.Cache, err = openCache(opts.CacheDir, p.digest); err != nil {
			return nil, fmt.Errorf("loading plugin %q: %w", name, err)
		}
	}
	if p.runner, err = newRunner(ctx, opts, setup, wasm); err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("loading plugin %q: %w", name, context.Cause(ctx))
		}
		return nil, p.fail(err)
	}
	p.slots = make(chan struct{}, p.runner.parallel())
	return p, nil
}

// Metadata returns what the plugin says about itself.
func (p *Plugin) Metadata() hook.Metadata { return p.meta }

// Name returns the plugin's name.
func (p *Plugin) Name() string { return p.meta.Name }

// Digest returns "sha256:…" of the module.
func (p *Plugin) Digest() string { return p.digest }

// Answers says whether the plugin is asked at a hook.
func (p *Plugin) Answers(name hook.Name) bool {
	_, ok := p.meta.Use(name)
	return ok
}

// Close waits for calls that still run and releases what the plugin holds.
func (p *Plugin) Close(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	p.closed = true
	if err := p.runner.close(ctx); err != nil {
		return fmt.Errorf("closing plugin %q: %w", p.meta.Name, err)
	}
	return nil
}
