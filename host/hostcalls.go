package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/chart"
	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/state"
)

// world is what plugins may be told of during one operation, if they are granted it.
type world struct {
	charts *chart.Client // nil where the operation needs no cluster
	pkg    *Package      // nil where there is none, as when a deployed package is removed by its name
	config *hook.DeployConfig
	// namespaces are those of the operation.
	namespaces []string
}

// worldly is a plugin that can ask of the world: a module. What is written in Go asks by itself.
type worldly interface {
	askWith(ctx context.Context, request hook.Request, w world) (hook.Response, error)
}

// put asks one plugin, with what it may ask in turn.
func (a asker) put(ctx context.Context, plugin Plugin, request hook.Request, p plan.Plan) (hook.Response, error) {
	asks, ok := plugin.(worldly)
	if !ok {
		return plugin.Ask(ctx, request)
	}
	w := a.world
	w.namespaces = operationNamespaces(p, a.deployed)
	return asks.askWith(ctx, request, w)
}

// operationNamespaces are those in which an operation installs or removes something.
func operationNamespaces(p plan.Plan, deployed *hook.Deployed) []string {
	var out []string
	for _, r := range p.Releases {
		out = append(append(out, r.Namespace), r.Namespaces...)
	}
	for _, r := range p.Prune.Releases {
		out = append(out, r.Namespace)
	}
	for _, o := range p.Prune.Objects {
		out = append(out, o.Namespace)
	}
	if deployed != nil {
		for _, c := range deployed.Components {
			for _, r := range c.Charts {
				out = append(out, r.Namespace)
			}
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(ns string) bool { return ns == "" })
}

// answerer answers the calls of one plugin during one request.
type answerer struct {
	world
	access hook.Access
}

// Answer is wasm.Host's. Whatever goes wrong is a value, which the plugin judges.
func (a answerer) Answer(ctx context.Context, request []byte) ([]byte, error) {
	call, err := hook.ParseCall(request)
	if err == nil {
		err = a.access.Allow(call)
	}
	var reply hook.Reply
	if err == nil {
		reply, err = a.reply(ctx, call)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, err // the time was over, which is told by who set it
		}
		reply = hook.Reply{Error: callError(err)}
	}
	doc, err := json.Marshal(reply)
	if err != nil {
		return nil, fmt.Errorf("writing an answer: %w", err)
	}
	return doc, nil
}

func (a answerer) reply(ctx context.Context, call hook.Call) (hook.Reply, error) {
	if call.Op == hook.OpFile {
		data, err := a.file(ctx, call.Path)
		return hook.Reply{Data: data}, err
	}
	if a.charts == nil {
		return hook.Reply{}, &hook.CallError{Code: hook.CodeUnavailable, Message: "the operation needs no cluster, and none is asked"}
	}
	secrets := a.access.Has(hook.SecretsRead)
	if call.Op == hook.OpGet {
		object, err := a.charts.Get(ctx, call.APIVersion, call.Kind, call.Namespace, call.Name)
		if err != nil {
			return hook.Reply{}, err
		}
		return hook.Reply{Object: hook.Show(object, call.Fields, secrets)}, nil
	}
	limit := call.Limit
	if limit == 0 {
		limit = hook.MaxList
	}
	items, more, err := a.charts.List(ctx, call.APIVersion, call.Kind,
		chart.Selection{Namespace: call.Namespace, Labels: call.LabelSelector, Fields: call.FieldSelector, Limit: limit})
	if err != nil {
		return hook.Reply{}, err
	}
	for i, item := range items {
		items[i] = hook.Show(item, call.Fields, secrets)
	}
	hook.SortObjects(items)
	return hook.Reply{Items: items, Truncated: more}, nil
}

// componentsPath is where components are found in a package: components/NAME/… is in the archive of
// that component.
const componentsPath = "components/"

// file reads a file of the package, or of one of its components.
func (a answerer) file(ctx context.Context, path string) ([]byte, error) {
	if a.pkg == nil {
		return nil, &hook.CallError{Code: hook.CodeUnavailable, Message: "the operation has no package at hand, only its record"}
	}
	b := a.pkg.bundle
	name, inside, ok := strings.Cut(strings.TrimPrefix(path, componentsPath), "/")
	if !strings.HasPrefix(path, componentsPath) || !ok {
		return b.ReadFile(ctx, path)
	}
	if !slices.ContainsFunc(a.pkg.Definition().Components, func(c spec.Component) bool { return c.Name == name }) {
		return nil, fmt.Errorf("reading %q from the package: %w", path, fs.ErrNotExist)
	}
	files, err := b.ReadComponent(ctx, name, func(p string) bool { return p == inside })
	if err != nil {
		return nil, err
	}
	data, ok := files[inside]
	if !ok {
		return nil, fmt.Errorf("reading %q from the package: %w", path, fs.ErrNotExist)
	}
	return data, nil
}

// callError tells a plugin what an error means. It is told no more than it needs: messages of API
// servers quote what they refuse.
func callError(err error) *hook.CallError {
	var known *hook.CallError
	switch {
	case errors.As(err, &known):
		return known
	case cluster.IsForbidden(err):
		return &hook.CallError{Code: hook.CodeForbidden, Message: "the user may not: " + err.Error()}
	case chart.IsNotFound(err), errors.Is(err, fs.ErrNotExist):
		return &hook.CallError{Code: hook.CodeNotFound, Message: err.Error()}
	case errors.Is(err, chart.ErrScope):
		return &hook.CallError{Code: hook.CodeInvalid, Message: err.Error()}
	default:
		return &hook.CallError{Code: hook.CodeFailed, Message: err.Error()}
	}
}

// hookConfig is what was supplied, for plugins that are granted to see it. What the package marks as
// sensitive stays out, and is named.
func hookConfig(c state.DeployConfig, digest string, def spec.Package) *hook.DeployConfig {
	out := &hook.DeployConfig{
		Digest: digest, NamespaceOverride: c.NamespaceOverride, Values: c.Values, ValuesOverrides: c.ValuesOverridesMap,
		SetVariables: map[string]string{},
	}
	for name, value := range c.SetVariables {
		if slices.ContainsFunc(def.Variables, func(v spec.InteractiveVariable) bool { return v.Name == name && v.Sensitive }) {
			out.Sensitive = append(out.Sensitive, name)
			continue
		}
		out.SetVariables[name] = value
	}
	slices.Sort(out.Sensitive)
	return out
}
