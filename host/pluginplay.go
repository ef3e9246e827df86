package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/recording"
	"github.com/zarf-host/zarf-host/host/wasm"
)

// PluginModule is a module and where it came from.
type PluginModule struct {
	Source string
	Bytes  []byte
}

// said is what a plugin made of a recorded request.
type said struct {
	result  wasm.Result
	kind    string // of its failure, empty where it answered
	failed  error
	strayed error // it asked something else than what was recorded
}

// player asks a module what was recorded, without a cluster. Close it.
type player struct {
	module PluginModule
	opts   PluginOptions
	// The plugin as it is loaded now, with this configuration. One at a time: each has a process, and
	// a folder of tests may have a configuration each.
	loaded *wasm.Plugin
	config string
}

func newPlayer(module PluginModule, o PluginOptions) *player {
	return &player{module: module, opts: o}
}

func (p *player) close(ctx context.Context) {
	if p.loaded != nil {
		_ = p.loaded.Close(context.WithoutCancel(ctx)) // it has answered
		p.loaded = nil
	}
}

// plugin loads the module with a configuration, unless it is the one that it has.
func (p *player) plugin(ctx context.Context, config map[string]any) (*wasm.Plugin, error) {
	key, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration of the request: %w", err)
	}
	if p.loaded != nil && p.config == string(key) {
		return p.loaded, nil
	}
	p.close(ctx)
	plugin, err := wasm.Load(ctx, p.module.Bytes, wasm.Options{
		Name: p.module.Source, Config: config, Limits: p.opts.Limits, CacheDir: p.opts.CacheDir, Sandbox: p.opts.Sandbox,
	})
	if err != nil {
		return nil, err
	}
	p.loaded, p.config = plugin, string(key)
	return plugin, nil
}

// play asks what a call asked: to the byte where exact is true, else as the host writes requests now. A
// failure of the plugin is no error here.
func (p *player) play(ctx context.Context, c recording.Call, exact bool) (said, error) {
	request, err := hook.ParseRequest(c.Request)
	if err != nil {
		return said{}, err
	}
	out := said{}
	plugin, err := p.plugin(ctx, request.Config)
	if err == nil {
		script := wasm.NewScript(c.Answers)
		if exact {
			out.result, err = plugin.Replay(ctx, c.Request, script)
		} else {
			out.result, err = plugin.CallWith(ctx, request, script)
		}
		out.strayed = script.Strayed()
	}
	var failure *wasm.Error
	switch {
	case err == nil:
	case errors.As(err, &failure):
		out.kind, out.failed = string(failure.Kind), failure
	default:
		return said{}, err
	}
	return out, nil
}

// verdict is what it came to in a word or two.
func (s said) verdict() string {
	if s.failed != nil {
		return "fails: " + s.kind
	}
	return string(s.result.Response.Verdict)
}

// info identifies the module.
func (p *player) info() (plan.Plugin, error) {
	info, err := wasm.Inspect(p.module.Bytes, p.opts.Limits)
	if err != nil {
		return plan.Plugin{}, fmt.Errorf("reading %q: %w", p.module.Source, err)
	}
	return plan.Plugin{Name: info.Metadata.Name, Version: info.Metadata.Version, Digest: info.Digest}, nil
}
