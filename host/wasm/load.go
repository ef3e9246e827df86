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
	"runtime"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/wasm/internal/meter"
	"github.com/zarf-host/zarf-host/host/wasm/internal/module"
)

// What one function may weigh, so that it is compiled within seconds. The engine looks at its time only
// between functions. Ten times what the largest functions of Go's own library weigh.
const (
	maxBranches = 10_000
	maxWork     = 1_000_000
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
}

// Plugin is a loaded module. Its methods may be called from several goroutines.
type Plugin struct {
	meta   hook.Metadata
	digest string
	config map[string]any
	limits Limits

	engine engine
	slots  chan struct{} // as many calls at once as there are processors

	mu     sync.RWMutex // held for reading by each call, for writing by Close
	closed bool
}

// engine is what must be released.
type engine struct {
	runtime wazero.Runtime
	cache   wazero.CompilationCache
	code    wazero.CompiledModule
}

func (e engine) close(ctx context.Context) error {
	err := e.runtime.Close(ctx)
	if e.cache != nil {
		err = errors.Join(err, e.cache.Close(ctx))
	}
	return err
}

// LoadFile loads the module in a file.
func LoadFile(ctx context.Context, path string, opts Options) (*Plugin, error) {
	if opts.Name == "" {
		opts.Name = filepath.Base(path)
	}
	limits := opts.Limits.withDefaults()
	data, err := readModule(path, limits.Module)
	if err != nil {
		return nil, &Error{Plugin: opts.Name, Kind: KindRefusedModule, Err: err}
	}
	return Load(ctx, data, opts)
}

func readModule(path string, most int) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the module: %w", err)
	}
	defer f.Close()
	// One byte more than allowed, so that Load sees that it is too large.
	data, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err != nil {
		return nil, fmt.Errorf("reading the module %s: %w", path, err)
	}
	return data, nil
}

// Load checks and compiles a module. Nothing of it runs yet. The caller closes the plugin.
func Load(ctx context.Context, wasm []byte, opts Options) (*Plugin, error) {
	p := &Plugin{limits: opts.Limits.withDefaults(), slots: make(chan struct{}, runtime.GOMAXPROCS(0))}
	name := opts.Name
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
	if p.config, err = checkConfig(ctx, p.meta.ConfigSchema, opts.Config); err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("loading plugin %q: %w", name, context.Cause(ctx))
		}
		return nil, &Error{Plugin: name, Kind: KindRequest, Err: fmt.Errorf("its configuration is refused: %w", err)}
	}
	sum := sha256.Sum256(wasm)
	p.digest = "sha256:" + hex.EncodeToString(sum[:])
	metered, err := meter.Rewrite(m, meter.Limits{Elements: p.limits.Elements, Body: p.limits.Body, Branches: maxBranches, Work: maxWork})
	if err != nil {
		return nil, refuse(err)
	}
	if p.engine, err = p.compile(ctx, metered, opts); err != nil {
		return nil, err
	}
	return p, nil
}

// compile makes the module ready. What the disk cache holds may be cut off or foreign, and the disk
// may be full: then the module is compiled once more without it.
func (p *Plugin) compile(ctx context.Context, wasm []byte, opts Options) (engine, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, p.limits.Compile, errDeadline)
	defer cancel()
	dir := ""
	if !opts.NoCache {
		var err error
		if dir, err = openCache(opts.CacheDir); err != nil {
			return engine{}, fmt.Errorf("loading plugin %q: %w", p.meta.Name, err)
		}
	}
	e, err := newEngine(ctx, wasm, dir)
	if err != nil && dir != "" && ctx.Err() == nil {
		e, err = newEngine(ctx, wasm, "")
	}
	switch {
	case err == nil:
		return e, nil
	case errors.Is(context.Cause(ctx), errDeadline):
		return engine{}, &Error{Plugin: p.meta.Name, Kind: KindDeadline, Limit: p.limits.Compile.String() + " to compile", Err: errDeadline}
	case ctx.Err() != nil:
		return engine{}, fmt.Errorf("loading plugin %q: %w", p.meta.Name, context.Cause(ctx))
	default:
		return engine{}, &Error{Plugin: p.meta.Name, Kind: KindRefusedModule, Err: err}
	}
}

func newEngine(ctx context.Context, wasm []byte, dir string) (e engine, err error) {
	config := wazero.NewRuntimeConfig().
		WithCoreFeatures(api.CoreFeaturesV2).
		WithDebugInfoEnabled(false)
	if dir != "" {
		if e.cache, err = wazero.NewCompilationCacheWithDir(dir); err != nil {
			return engine{}, fmt.Errorf("opening the folder for compiled plugins: %w", err)
		}
		config = config.WithCompilationCache(e.cache)
	}
	e.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	defer func() {
		if err != nil {
			err = errors.Join(err, e.close(context.WithoutCancel(ctx)))
			e = engine{}
		}
	}()
	if err := errors.Join(linkWASI(ctx, e.runtime), linkMeter(ctx, e.runtime)); err != nil {
		return e, err
	}
	ctx = experimental.WithCompilationWorkers(ctx, runtime.GOMAXPROCS(0))
	if e.code, err = e.runtime.CompileModule(ctx, wasm); err != nil {
		return e, fmt.Errorf("compiling it: %w", err)
	}
	return e, nil
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
	if err := p.engine.close(ctx); err != nil {
		return fmt.Errorf("closing plugin %q: %w", p.meta.Name, err)
	}
	return nil
}
