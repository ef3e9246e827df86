package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zarf-host/zarf-host/cmd/internal/render"
	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/wasm"
)

// operationFlags are the flags that every operation on a cluster has.
type operationFlags struct {
	sourceFlags
	confirm       bool
	dryRun        bool
	components    string
	plugins       []string
	pluginConfigs []string
	grants        []string
	sandbox       string
	lockTimeout   time.Duration
	deadline      time.Duration
	planDigest    string
	retries       int
	noHooks       bool
}

// noHooksFlag adds --no-hooks, Helm's name, to commands that uninstall releases.
func noHooksFlag(flags *pflag.FlagSet, to *bool) {
	flags.BoolVar(to, "no-hooks", false, "do not run the pre-delete and post-delete hooks of charts that are uninstalled; others run")
}

func (o *operationFlags) add(cmd *cobra.Command) {
	o.sourceFlags.add(cmd)
	f := cmd.Flags()
	f.BoolVarP(&o.confirm, "confirm", "c", false, "go on without asking")
	f.BoolVar(&o.dryRun, "dry-run", false, "show the plan and stop")
	f.StringVar(&o.components, "components", "", "`names` of components, with globs; a leading '-' excludes")
	f.StringArrayVar(&o.plugins, "plugin", nil, "WASM `module` to ask at the hooks that it declares; repeatable")
	f.StringArrayVar(&o.pluginConfigs, "plugin-config", nil, "configuration of a plugin, NAME=FILE or NAME.key=value; repeatable")
	f.StringArrayVar(&o.grants, "grant", nil, "what a plugin may ask for, NAME=CAPABILITY, NAME=CAPABILITY@NAMESPACE or NAME=CAPABILITY@* for everywhere; repeatable")
	f.StringVar(&o.sandbox, "plugin-sandbox", "child", "child: each plugin runs in a process that can do nothing else; in-process: leave that wall out")
	f.DurationVar(&o.lockTimeout, "lock-timeout", 0, "how long to wait for another operation on the package")
	f.DurationVar(&o.deadline, "deadline", 0, "limit of the whole operation; 0 is none")
	f.StringVar(&o.planDigest, "plan-digest", "", "carry out the plan with this `digest` and no other")
}

// common makes the engine's options of the flags. The caller calls the function it gets when done.
func (r *root) common(ctx context.Context, o operationFlags, timeout time.Duration) (host.Common, func(), error) {
	plugins, closePlugins, err := r.openPlugins(ctx, o)
	if err != nil {
		return host.Common{}, nil, err
	}
	c := r.remoteCommon(o.sourceFlags)
	c.Plugins, c.Reviewer = plugins, &reviewer{root: r, confirm: o.confirm}
	c.DryRun, c.PlanDigest, c.Retries = o.dryRun, o.planDigest, pushRetries(o.retries)
	c.LockTimeout, c.Deadline, c.Timeout = o.lockTimeout, o.deadline, timeout
	c.NoUninstallHooks = o.noHooks
	return c, closePlugins, nil
}

// openPlugins loads the plugins that flags name. Configuration for a plugin that is not among them
// is refused before any is loaded: a misspelt name must not leave a guard without its rules.
func (r *root) openPlugins(ctx context.Context, o operationFlags) ([]host.Plugin, func(), error) {
	byName, err := wasm.ParseConfigFlags(o.pluginConfigs, os.ReadFile)
	if err != nil {
		return nil, nil, err
	}
	grants, err := hook.ParseGrantFlags(o.grants)
	if err != nil {
		return nil, nil, err
	}
	sandbox, err := wasm.ParseSandbox(o.sandbox)
	if err != nil {
		return nil, nil, fmt.Errorf("--plugin-sandbox: %w", err)
	}
	names, err := pluginNames(o.plugins)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(grants)) {
		if !slices.Contains(names, name) {
			return nil, nil, fmt.Errorf("--grant names plugin %q, which no --plugin loads; loaded: %s", name, quoted(names))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		if !slices.Contains(names, name) {
			return nil, nil, fmt.Errorf("--plugin-config names plugin %q, which no --plugin loads; loaded: %s", name, quoted(names))
		}
	}
	var opened []*host.WASMPlugin
	closeAll := func() {
		for _, p := range opened {
			_ = p.Close(context.WithoutCancel(ctx)) // nothing of it is used any more
		}
	}
	var plugins []host.Plugin
	for i, path := range o.plugins {
		p, err := host.OpenPlugin(ctx, path, host.PluginOptions{
			Config: byName[names[i]], Grants: grants[names[i]], Sandbox: sandbox, Sink: r.sink(), CacheDir: r.remote.cacheDir(),
		})
		var failed *wasm.Error
		switch {
		case err == nil:
		case errors.As(err, &failed) && failed.Kind == wasm.KindRequest: // its configuration is wrong, not the plugin
			closeAll()
			return nil, nil, err
		default:
			closeAll()
			return nil, nil, &codeError{code: exitDenied, err: err} // a guard that cannot be had is a deny
		}
		opened = append(opened, p)
		plugins = append(plugins, p)
	}
	return plugins, closeAll, nil
}

// pluginNames reads the plugins' names from their metadata, without running anything. Each name is one
// plugin's: it is what configuration and findings go by.
func pluginNames(paths []string) ([]string, error) {
	var names []string
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("loading plugin: %w", err)
		}
		m, err := wasm.ReadMetadata(data)
		if err != nil {
			return nil, &codeError{code: exitDenied, err: fmt.Errorf("loading plugin %q: %w", path, err)}
		}
		if i := slices.Index(names, m.Name); i >= 0 {
			return nil, fmt.Errorf("--plugin %s and --plugin %s are both named %q: load one of them", paths[i], path, m.Name)
		}
		names = append(names, m.Name)
	}
	return names, nil
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

func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return os.Getenv("USER")
}

// reviewer shows plans and asks for confirmation.
type reviewer struct {
	root    *root
	confirm bool
}

// Review shows the plan, unless the output is for a program, and asks.
func (v *reviewer) Review(ctx context.Context, review host.Review) (bool, error) {
	r := v.root
	if r.format != "json" && r.format != "yaml" {
		if review.Again != "" {
			_, _ = fmt.Fprintf(r.streams.Out, "%s: the plan is another one now\n", render.Line(review.Again))
		}
		if err := render.Plan(r.streams.Out, review.Plan); err != nil {
			return false, err
		}
		if err := render.Outcomes(r.streams.Out, review.Outcomes); err != nil {
			return false, err
		}
	}
	if !review.Ask || v.confirm {
		return true, nil
	}
	return r.prompts().ask(ctx, fmt.Sprintf("%s this package?", review.Plan.Operation), false)
}

// resultDocument is the JSON of an operation's result.
type resultDocument struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Plan       plan.Plan       `json:"plan"`
	Verdicts   []verdict       `json:"verdicts,omitempty"`
	Outcome    string          `json:"outcome,omitempty"`
	Same       bool            `json:"same,omitempty"`
	Components []outcomeOf     `json:"components,omitempty"`
	Releases   []releaseResult `json:"releases,omitempty"`
	Images     []imageResult   `json:"images,omitempty"`
}

type verdict struct {
	Hook     hook.Name            `json:"hook"`
	Verdict  hook.Verdict         `json:"verdict"`
	Findings []hook.PluginFinding `json:"findings,omitempty"`
	Keep     []hook.PluginKeep    `json:"keep,omitempty"`

	Collisions []hook.PluginCollision `json:"collisions,omitempty"`
}

type outcomeOf struct {
	Name    string `json:"name"`
	Outcome string `json:"outcome"`
	Pruned  bool   `json:"pruned,omitempty"`
}

type releaseResult struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Component string `json:"component"`
	Outcome   string `json:"outcome"`
	Revision  int    `json:"revision,omitempty"`
	Pruned    bool   `json:"pruned,omitempty"`
	Skipped   bool   `json:"skipped,omitempty"`
}

// imageResult is what became of a reference that was to be pruned.
type imageResult struct {
	Reference string `json:"reference"`
	Digest    string `json:"digest,omitempty"`
	Bytes     int64  `json:"bytes"`
	Outcome   string `json:"outcome"`
	Reason    string `json:"reason,omitempty"`
}

func document(result host.Result) resultDocument {
	doc := resultDocument{APIVersion: plan.APIVersion, Kind: "Result", Plan: result.Plan, Same: result.Same}
	for _, o := range result.Outcomes {
		doc.Verdicts = append(doc.Verdicts, verdict{Hook: o.Hook, Verdict: o.Verdict, Findings: o.Findings, Keep: o.Keep, Collisions: o.Collisions})
	}
	if done := result.Applied; done != nil {
		doc.Outcome = string(done.Outcome)
		for _, c := range done.Components {
			doc.Components = append(doc.Components, outcomeOf{c.Name, string(c.Outcome), c.Pruned})
		}
		for _, rel := range done.Releases {
			doc.Releases = append(doc.Releases, releaseResult{
				rel.Namespace, rel.Name, rel.Component, string(rel.Outcome), rel.Revision, rel.Pruned, rel.Skipped,
			})
		}
		for _, i := range done.Images {
			image := imageResult{i.Reference, i.Digest, i.Bytes, string(i.Outcome), i.Reason}
			if i.Err != nil {
				image.Reason = i.Err.Error()
			}
			doc.Images = append(doc.Images, image)
		}
	}
	return doc
}

// summarise prints what an operation came to. A dry run's document is the plan alone.
func (r *root) summarise(result host.Result, dryRun bool) error {
	switch {
	case result.Plan.Kind == "":
		return nil // it ended before there was a plan
	case dryRun && (r.format == "json" || r.format == "yaml"):
		return r.writeDocument(result.Plan)
	case r.format == "json" || r.format == "yaml":
		return r.writeDocument(document(result))
	case result.Applied == nil:
		return nil
	}
	return render.Result(r.streams.Out, result)
}
