package cli

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zarf-host/zarf-host/cmd/internal/render"
	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/plan"
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
	trusted       pluginSourceFlags
	sandbox       string
	record        string
	recordSecrets bool
	trace         bool
	policies      []string
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
	f.StringArrayVar(&o.plugins, "plugin", nil, "WASM `module` to ask at the hooks that it declares: a file, oci://HOST/PATH:TAG or package:NAME, one that the package carries; repeatable")
	o.trusted.addKeys(f)
	o.trusted.addLock(f)
	f.StringArrayVar(&o.pluginConfigs, "plugin-config", nil, "configuration of a plugin, NAME=FILE or NAME.key=value; repeatable")
	f.StringArrayVar(&o.grants, "grant", nil, "what a plugin may ask for, NAME=CAPABILITY, NAME=CAPABILITY@NAMESPACE or NAME=CAPABILITY@* for everywhere; repeatable")
	f.StringVar(&o.sandbox, "plugin-sandbox", "child", "child: each plugin runs in a process that can do nothing else; in-process: leave that wall out")
	f.StringVar(&o.record, "record", "", "empty or new `folder` to keep what plugins are asked and answer in, with their own configuration, for this user alone; `zarf-host plugin replay` asks it again")
	f.BoolVar(&o.recordSecrets, "record-secrets", false, "let the recording hold what plugins were granted of Secrets and of the deployment's configuration, without which such calls cannot be replayed")
	f.BoolVar(&o.trace, "trace", false, "tell of each call of a plugin what it took, and what the plugin asked for")
	policyFlag(f, &o.policies)
	f.DurationVar(&o.lockTimeout, "lock-timeout", 0, "how long to wait for another operation on the package")
	f.DurationVar(&o.deadline, "deadline", 0, "limit of the whole operation; 0 is none")
	f.StringVar(&o.planDigest, "plan-digest", "", "carry out the plan with this `digest` and no other")
}

// common makes the engine's options of the flags. The caller calls the function it gets when done.
func (r *root) common(ctx context.Context, o operationFlags, timeout time.Duration) (host.Common, func(), error) {
	guards, err := r.openPlugins(ctx, o)
	if err != nil {
		return host.Common{}, nil, err
	}
	closePlugins := func() { guards.close(ctx) }
	c := r.remoteCommon(o.sourceFlags)
	c.Reviewer = &reviewer{root: r, confirm: o.confirm}
	if guards.carried() {
		c.PluginsOf = guards.load
	} else if c.Plugins, err = guards.load(ctx, nil, nil); err != nil {
		closePlugins()
		return host.Common{}, nil, err
	}
	c.PolicyPlugins = host.PolicyPlugins{Source: guards.source, Options: guards.options}
	if c.Policies, err = r.localPolicies(ctx, o.policies); err != nil {
		closePlugins()
		return host.Common{}, nil, err
	}
	c.DryRun, c.PlanDigest, c.Retries = o.dryRun, o.planDigest, pushRetries(o.retries)
	c.LockTimeout, c.Deadline, c.Timeout = o.lockTimeout, o.deadline, timeout
	c.NoUninstallHooks = o.noHooks
	return c, closePlugins, nil
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
		if err := render.Policies(r.streams.Out, review.Policies); err != nil {
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
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Plan       host.PlanDocument `json:"plan"`
	Verdicts   []verdict         `json:"verdicts,omitempty"`
	Outcome    string            `json:"outcome,omitempty"`
	Same       bool              `json:"same,omitempty"`
	Components []outcomeOf       `json:"components,omitempty"`
	Releases   []releaseResult   `json:"releases,omitempty"`
	Images     []imageResult     `json:"images,omitempty"`
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
	doc := resultDocument{APIVersion: plan.APIVersion, Kind: "Result", Plan: host.PlanDocument{Plan: result.Plan, Policies: result.Policies}, Same: result.Same}
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
		return r.writeDocument(host.PlanDocument{Plan: result.Plan, Policies: result.Policies})
	case r.format == "json" || r.format == "yaml":
		return r.writeDocument(document(result))
	case result.Applied == nil:
		return nil
	}
	return render.Result(r.streams.Out, result)
}
