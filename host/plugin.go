package host

import (
	"context"
	"fmt"

	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/wasm"
)

// PluginOptions say how a WASM plugin is opened. The zero value is right for most callers.
type PluginOptions struct {
	// Config is the plugin's own configuration, checked against the schema in its metadata.
	Config map[string]any
	// Limits are the operator's; a zero field means the default.
	Limits wasm.Limits
	// CacheDir is where compiled code is kept; empty means the user's own cache folder.
	CacheDir string
	// Sink receives what the plugin writes to stderr; nil drops it.
	Sink event.Sink
}

// WASMPlugin is a Plugin that is a WASM module. Close it.
type WASMPlugin struct {
	plugin *wasm.Plugin
	sink   event.Sink
}

// OpenPlugin loads the WASM module in a file. Nothing of it runs until it is asked.
func OpenPlugin(ctx context.Context, path string, o PluginOptions) (*WASMPlugin, error) {
	p, err := wasm.LoadFile(ctx, path, wasm.Options{Config: o.Config, Limits: o.Limits, CacheDir: o.CacheDir})
	if err != nil {
		return nil, fmt.Errorf("loading plugin %q: %w", path, err)
	}
	if o.Sink == nil {
		o.Sink = event.Discard
	}
	return &WASMPlugin{plugin: p, sink: o.Sink}, nil
}

// Name returns the name in the plugin's metadata.
func (p *WASMPlugin) Name() string { return p.plugin.Name() }

// Info identifies the plugin in plans and records.
func (p *WASMPlugin) Info() plan.Plugin {
	return plan.Plugin{Name: p.plugin.Name(), Version: p.plugin.Metadata().Version, Digest: p.plugin.Digest()}
}

// Hooks returns the hooks that the metadata declares.
func (p *WASMPlugin) Hooks() []hook.Name {
	var out []hook.Name
	for _, h := range p.plugin.Metadata().Hooks {
		out = append(out, h.Name)
	}
	return out
}

// Ask asks the plugin with a fresh instance of its module.
func (p *WASMPlugin) Ask(ctx context.Context, request hook.Request) (hook.Response, error) {
	result, err := p.plugin.Call(ctx, request)
	if result.Log != "" {
		p.sink.Emit(event.Event{Level: event.Debug, Step: "hook", Message: fmt.Sprintf("plugin %q logs: %s", p.Name(), result.Log)})
	}
	return result.Response, err
}

// Close releases what the plugin holds.
func (p *WASMPlugin) Close(ctx context.Context) error { return p.plugin.Close(ctx) }
