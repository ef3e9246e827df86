package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/plugin"
	"github.com/zarf-host/zarf-host/host/policy"
	"github.com/zarf-host/zarf-host/host/recording"
	"github.com/zarf-host/zarf-host/host/wasm"
)

// guards are the plugins that flags name, on their way from a name to a process that can be asked.
type guards struct {
	root    *root
	refs    []plugin.Reference
	configs map[string]map[string]any
	grants  map[string][]hook.Grant
	lock    *plugin.Lock // nil where there is none
	source  host.PluginSource
	options host.PluginOptions

	fetched []host.FetchedPlugin // beside refs; those of the package are empty until it is open
	names   []string             // beside refs
	opened  []*host.WASMPlugin
}

// openPlugins gets the plugins that flags name. Those that the package carries can be had only when it is
// open: then all are loaded by the function that it returns. Configuration for a plugin that is not
// among them is refused before any is loaded: a misspelt name must not leave a guard without its rules.
func (r *root) openPlugins(ctx context.Context, o operationFlags) (*guards, error) {
	g := &guards{root: r}
	if err := g.parse(o); err != nil {
		return nil, err
	}
	for i, ref := range g.refs {
		if ref.Kind == plugin.Package {
			g.names[i] = ref.Name
			continue
		}
		if err := g.fetch(ctx, i, nil); err != nil {
			return nil, err
		}
	}
	if err := g.checkNames(); err != nil {
		return nil, err
	}
	log, err := o.recording()
	if err != nil {
		return nil, err
	}
	g.options.Recording = log
	return g, nil
}

// parse reads the flags.
func (g *guards) parse(o operationFlags) (err error) {
	if g.configs, err = wasm.ParseConfigFlags(o.pluginConfigs, os.ReadFile); err != nil {
		return err
	}
	if g.grants, err = hook.ParseGrantFlags(o.grants); err != nil {
		return err
	}
	sandbox, err := wasm.ParseSandbox(o.sandbox)
	if err != nil {
		return fmt.Errorf("--plugin-sandbox: %w", err)
	}
	for _, text := range o.plugins {
		ref, err := plugin.ParseReference(text)
		if err != nil {
			return fmt.Errorf("--plugin: %w", err)
		}
		g.refs = append(g.refs, ref)
	}
	g.fetched, g.names = make([]host.FetchedPlugin, len(g.refs)), make([]string, len(g.refs))
	if g.source, err = o.trusted.source(g.root); err != nil {
		return err
	}
	if len(g.refs) > 0 {
		if g.lock, err = o.trusted.readLock(g.root); err != nil {
			return err
		}
	}
	g.options = host.PluginOptions{
		Sandbox: sandbox, Sink: g.root.sink(), CacheDir: g.root.remote.cacheDir(), Trace: o.trace, RecordSecrets: o.recordSecrets,
	}
	return nil
}

// fetch gets the module of a plugin.
func (g *guards) fetch(ctx context.Context, i int, pkg *host.Package) error {
	found, err := host.FetchPlugin(ctx, g.refs[i], pkg, g.source)
	switch {
	case err == nil:
		g.fetched[i], g.names[i] = found, found.Metadata.Name
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		return notHad(err)
	}
}

// checkNames wants each name to be one plugin's, which is what configuration and findings go by, and
// everything that flags say of a plugin to be about one that there is.
func (g *guards) checkNames() error {
	for i, name := range g.names {
		if first := slices.Index(g.names[:i], name); first >= 0 {
			return fmt.Errorf("--plugin %s and --plugin %s are both named %q: load one of them", g.refs[first], g.refs[i], name)
		}
	}
	for flag, names := range map[string][]string{
		"--grant": slices.Sorted(maps.Keys(g.grants)), "--plugin-config": slices.Sorted(maps.Keys(g.configs)),
	} {
		for _, name := range names {
			if !slices.Contains(g.names, name) {
				return fmt.Errorf("%s names plugin %q, which no --plugin loads; loaded: %s", flag, name, quoted(g.names))
			}
		}
	}
	return nil
}

// carried reports whether the package has to be open before the plugins can be loaded.
func (g *guards) carried() bool {
	return slices.ContainsFunc(g.refs, func(ref plugin.Reference) bool { return ref.Kind == plugin.Package })
}

// load loads all plugins, those that the package carries among them.
func (g *guards) load(ctx context.Context, pkg *host.Package, policies policy.Set) ([]host.Plugin, error) {
	for i, ref := range g.refs {
		if ref.Kind == plugin.Package {
			if err := g.fetch(ctx, i, pkg); err != nil {
				return nil, err
			}
		}
	}
	var out []host.Plugin
	for i := range g.refs {
		p, err := g.open(ctx, i, policies)
		if err != nil {
			return nil, err
		}
		g.opened = append(g.opened, p)
		out = append(out, p)
	}
	return out, nil
}

// open lets a plugin in and loads it.
func (g *guards) open(ctx context.Context, i int, policies policy.Set) (*host.WASMPlugin, error) {
	found, o := g.fetched[i], g.options
	grants, err := g.admit(found, policies)
	if err != nil {
		return nil, &codeError{code: exitDenied, err: err}
	}
	o.Config, o.Grants, o.Carried = g.configs[g.names[i]], grants, g.refs[i].Kind == plugin.Package
	p, err := host.LoadPlugin(ctx, found.Source, found.Bytes, o)
	var failed *wasm.Error
	switch {
	case err == nil:
		return p, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.As(err, &failed) && failed.Kind == wasm.KindRequest: // its configuration is wrong, not the plugin
		return nil, err
	default:
		return nil, &codeError{code: exitDenied, err: err} // a guard that cannot be had is a deny
	}
}

// admit returns what a plugin is granted, if it may run at all.
func (g *guards) admit(found host.FetchedPlugin, policies policy.Set) ([]hook.Grant, error) {
	flags := g.grants[found.Metadata.Name]
	if g.lock != nil {
		return g.lock.Admit(found.Facts(), flags)
	}
	if found.Reference.Kind == plugin.Package && !policies.Allows(found.Facts()) {
		return nil, plugin.Unlocked(found.Facts())
	}
	return flags, nil
}

// close ends the plugins.
func (g *guards) close(ctx context.Context) {
	for _, p := range g.opened {
		_ = p.Close(context.WithoutCancel(ctx)) // nothing of it is used any more
	}
}

// recording makes the recording that the flags ask for; none is nil.
func (o operationFlags) recording() (*recording.Log, error) {
	switch {
	case o.record == "" && o.recordSecrets:
		return nil, errors.New("--record-secrets says what a recording may hold: name its folder with --record DIR")
	case o.record == "":
		return nil, nil
	case len(o.plugins) == 0 && len(o.policies) == 0:
		return nil, errors.New("--record keeps what plugins are asked, and there is none: load one with --plugin")
	}
	return recording.Create(o.record)
}

func quoted(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	var out []string
	for _, name := range names {
		out = append(out, strconv.Quote(name))
	}
	return strings.Join(out, ", ")
}
