package host

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/recording"
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
	// Sink receives what the plugin writes to stderr, and what the kernel lacks to wall it off; nil drops
	// both.
	Sink event.Sink
	// Grants are the capabilities that the operator gives to the plugin; it has none beyond them.
	Grants []hook.Grant
	// Trace tells the sink of each call: what it took, and what the plugin asked for.
	Trace bool
	// Recording gets each call and the module, if it is not nil. What it cannot keep counts as a failure
	// of the plugin: a recording with gaps would prove nothing.
	Recording *recording.Log
	// RecordSecrets keeps in the recording what the plugin was granted of Secrets and of what was supplied
	// to the deployment. Without it digests take the place of the former, nothing that of the latter, and
	// a call that was shown any of it cannot be replayed.
	RecordSecrets bool
	// Carried is true for a plugin that came in the package which it is asked about: it may only make
	// verdicts on collisions stricter.
	Carried bool
	// Sandbox says in which process the plugin runs; see PluginChildMain.
	Sandbox wasm.Sandbox
}

// PluginChildMain is the main function of the processes in which plugins run: this program, started
// again with nothing but a pipe. Call it first thing in main; where the process is no plugin's it
// returns at once, else it never does. A program that does not call it opens plugins with
// wasm.SandboxInProcess only.
func PluginChildMain() { wasm.ChildMain() }

// WASMPlugin is a Plugin that is a WASM module. Close it.
type WASMPlugin struct {
	plugin    *wasm.Plugin
	sink      event.Sink
	grants    []hook.Grant
	carried   bool
	trace     bool
	recording *recording.Log
	whole     bool // the recording may hold what was granted
}

// OpenPlugin loads the WASM module in a file. Nothing of it runs until it is asked.
func OpenPlugin(ctx context.Context, path string, o PluginOptions) (*WASMPlugin, error) {
	module, err := wasm.ReadModule(path, o.Limits)
	if err != nil {
		return nil, fmt.Errorf("loading plugin %q: %w", path, &wasm.Error{Plugin: filepath.Base(path), Kind: wasm.KindRefusedModule, Err: err})
	}
	return LoadPlugin(ctx, path, module, o)
}

// LoadPlugin loads a WASM module that came from somewhere. Nothing of it runs until it is asked.
func LoadPlugin(ctx context.Context, source string, module []byte, o PluginOptions) (*WASMPlugin, error) {
	p, err := wasm.Load(ctx, module, wasm.Options{
		Name: filepath.Base(source), Config: o.Config, Limits: o.Limits, CacheDir: o.CacheDir, Sandbox: o.Sandbox,
	})
	if err != nil {
		return nil, fmt.Errorf("loading plugin %q: %w", source, err)
	}
	if o.Sink == nil {
		o.Sink = event.Discard
	}
	w := &WASMPlugin{plugin: p, sink: o.Sink, grants: o.Grants, carried: o.Carried, trace: o.Trace, recording: o.Recording, whole: o.RecordSecrets}
	if o.Recording != nil {
		if err := o.Recording.AddModule(module); err != nil {
			return nil, errors.Join(err, p.Close(context.WithoutCancel(ctx)))
		}
	}
	w.tellWalls(o.Sandbox)
	w.tellGrants()
	return w, nil
}

// tellGrants says where what a plugin asks for and what it is granted differ.
func (p *WASMPlugin) tellGrants() {
	access := hook.Access{Declared: p.plugin.Metadata().Capabilities, Granted: p.grants}
	for _, c := range access.Missing() {
		p.sink.Emit(event.Event{Level: event.Warn, Step: "hook", Message: fmt.Sprintf("plugin %q asks for %s, which it is not granted: --grant %s=%s", p.Name(), c, p.Name(), c)})
	}
	for _, g := range p.grants {
		if !slices.Contains(access.Declared, g.Capability) {
			p.sink.Emit(event.Event{Level: event.Warn, Step: "hook", Message: fmt.Sprintf("plugin %q is granted %s, which it does not ask for", p.Name(), g.Capability)})
		}
	}
}

// tellWalls says where less stands between a plugin and the machine than there could.
func (p *WASMPlugin) tellWalls(sandbox wasm.Sandbox) {
	if sandbox == wasm.SandboxInProcess {
		p.sink.Emit(event.Event{Level: event.Info, Step: "hook", Message: fmt.Sprintf("plugin %q runs in this process: only WebAssembly itself walls it off", p.Name())})
		return
	}
	if missing := missingWalls(p.plugin.Walls()); missing != "" {
		p.sink.Emit(event.Event{Level: event.Warn, Step: "hook", Message: fmt.Sprintf("plugin %q is walled off by a process of its own, without %s", p.Name(), missing)})
	}
}

// missingWalls names what does not stand, each reason once.
func missingWalls(walls []wasm.Wall) string {
	var reasons []string
	names := map[string][]string{}
	for _, wall := range walls {
		if wall.Held {
			continue
		}
		if names[wall.Detail] == nil {
			reasons = append(reasons, wall.Detail)
		}
		names[wall.Detail] = append(names[wall.Detail], wall.Name)
	}
	for i, reason := range reasons {
		reasons[i] = fmt.Sprintf("%s (%s)", strings.Join(names[reason], ", "), reason)
	}
	return strings.Join(reasons, "; ")
}

// Walls are what stands between the plugin and the machine, and what is missing.
func (p *WASMPlugin) Walls() []wasm.Wall { return p.plugin.Walls() }

// Name returns the name in the plugin's metadata.
func (p *WASMPlugin) Name() string { return p.plugin.Name() }

// Info identifies the plugin in plans and records.
func (p *WASMPlugin) Info() plan.Plugin {
	return plan.Plugin{Name: p.plugin.Name(), Version: p.plugin.Metadata().Version, Digest: p.plugin.Digest()}
}

// Carried reports whether the plugin came in the package that it is asked about.
func (p *WASMPlugin) Carried() bool { return p.carried }

// Hooks returns the hooks that the metadata declares.
func (p *WASMPlugin) Hooks() []hook.Name {
	var out []hook.Name
	for _, h := range p.plugin.Metadata().Hooks {
		out = append(out, h.Name)
	}
	return out
}

// Ask asks the plugin with a fresh instance of its module. What it asks in turn is answered by an error:
// there is no operation whose cluster and package it could be about.
func (p *WASMPlugin) Ask(ctx context.Context, request hook.Request) (hook.Response, error) {
	request.DeployConfig = nil
	return p.call(ctx, request, nil)
}

func (p *WASMPlugin) askWith(ctx context.Context, request hook.Request, w world) (hook.Response, error) {
	access := hook.Access{Declared: p.plugin.Metadata().Capabilities, Granted: p.grants, Namespaces: w.namespaces}
	request.DeployConfig = nil
	if access.Has(hook.ConfigRead) {
		request.DeployConfig = w.config
	}
	return p.call(ctx, request, answerer{world: w, access: access})
}

func (p *WASMPlugin) call(ctx context.Context, request hook.Request, answers wasm.Host) (hook.Response, error) {
	result, err := p.plugin.CallWith(ctx, request, answers)
	if result.Log != "" {
		p.sink.Emit(event.Event{Level: event.Debug, Step: "hook", Message: fmt.Sprintf("plugin %q logs: %s", p.Name(), result.Log)})
	}
	if unkept := p.called(ctx, request.Hook, result, err); unkept != nil {
		return hook.Response{}, errors.Join(unkept, err)
	}
	return result.Response, err
}

// Close releases what the plugin holds.
func (p *WASMPlugin) Close(ctx context.Context) error { return p.plugin.Close(ctx) }
