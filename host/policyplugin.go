package host

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/plugin"
	"github.com/zarf-host/zarf-host/host/policy"
	"github.com/zarf-host/zarf-host/host/wasm"
)

// BoundPluginError says that a plugin which a policy wants to be asked cannot be had. It is a deny.
type BoundPluginError struct {
	Policy, Plugin string
	Err            error
}

func (e *BoundPluginError) Error() string {
	return fmt.Sprintf("denied by policy %q, whose plugin %q cannot be had: %v", e.Policy, e.Plugin, e.Err)
}

// Unwrap returns the cause.
func (e *BoundPluginError) Unwrap() error { return e.Err }

// boundPlugin is a plugin as a policy binds it.
type boundPlugin struct {
	*WASMPlugin
	bound policy.Bound
}

// Name is what findings are shown under.
func (p *boundPlugin) Name() string { return p.bound.Label() }

// Info identifies the plugin in plans and records.
func (p *boundPlugin) Info() plan.Plugin {
	info := p.WASMPlugin.Info()
	info.Name = p.Name()
	return info
}

// Hooks returns those hooks of the metadata at which the policy wants the plugin to be asked.
func (p *boundPlugin) Hooks() []hook.Name {
	return slices.DeleteFunc(p.WASMPlugin.Hooks(), func(name hook.Name) bool { return !p.bound.Asks(name) })
}

// FailurePolicy is what a failure counts as; empty leaves it to the hook.
func (p *boundPlugin) FailurePolicy() hook.FailurePolicy { return p.bound.FailurePolicy }

// failurePolicy is what a failure of a plugin counts as, where the hook is not to say it.
func failurePolicy(p Plugin) hook.FailurePolicy {
	f, ok := p.(interface{ FailurePolicy() hook.FailurePolicy })
	if !ok {
		return ""
	}
	return f.FailurePolicy()
}

// bind loads the plugins of policies, in their order. Any error but the end of the context is a
// *BoundPluginError. The caller closes what it gets, also beside an error.
func (c Common) bind(ctx context.Context, policies []Policy, pkg *Package) ([]*boundPlugin, error) {
	var out []*boundPlugin
	for _, p := range policies {
		for _, b := range (policy.Set{p.Applied}).Plugins() {
			loaded, err := c.bindOne(ctx, p, b, pkg)
			if ctx.Err() != nil {
				return out, context.Cause(ctx)
			}
			if err != nil {
				return out, &BoundPluginError{Policy: p.Metadata.Name, Plugin: b.Name, Err: err}
			}
			out = append(out, loaded)
		}
	}
	return out, nil
}

func (c Common) bindOne(ctx context.Context, p Policy, b policy.Bound, pkg *Package) (*boundPlugin, error) {
	ref, err := plugin.ParseReference(b.Source)
	if err != nil {
		return nil, err
	}
	if ref.Kind == plugin.File {
		if p.dir == "" {
			return nil, errors.New("it is a file, which only a policy in a file has beside it: name an oci:// reference")
		}
		if !filepath.IsAbs(ref.Path) {
			ref.Path = filepath.Join(p.dir, ref.Path)
		}
	}
	options := c.PolicyPlugins.Options
	options.Limits = limited(options.Limits, b.Limits)
	source := c.PolicyPlugins.Source
	source.Limits = options.Limits
	found, err := FetchPlugin(ctx, ref, pkg, source)
	if err != nil {
		return nil, err
	}
	if err := b.Admit(found.Facts()); err != nil {
		return nil, err
	}
	options.Config = b.Config
	options.Carried = false // the policy vouches for it
	if options.Grants, err = b.Granted(); err != nil {
		return nil, err
	}
	loaded, err := LoadPlugin(ctx, found.Source, found.Bytes, options)
	if err != nil {
		return nil, err
	}
	return &boundPlugin{WASMPlugin: loaded, bound: b}, nil
}

// limited are the limits that a policy gives a plugin.
func limited(l wasm.Limits, p policy.Limits) wasm.Limits {
	if p.Fuel > 0 {
		l.Fuel = p.Fuel
	}
	if p.Seconds > 0 {
		l.Run = time.Duration(p.Seconds) * time.Second
	}
	if p.Memory > 0 {
		l.Memory = uint64(p.Memory) << 20
	}
	return l
}
