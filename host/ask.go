package host

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/zarf-host/zarf-host/host/apply"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/policy"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/state"
)

// PlanDocument is a plan with the policies that applied, as it is written.
type PlanDocument struct {
	plan.Plan
	Policies []policy.Ref `json:"policies,omitempty"`
}

// asker asks the plugins of one operation.
type asker struct {
	common    Common
	operation hook.Operation
	pkg       hook.Package
	deployed  *hook.Deployed
	cluster   *hook.Cluster
	world     world
	policies  []policy.Ref
}

// ask asks every plugin that declares the hook and folds what they answer.
func (a asker) ask(ctx context.Context, name hook.Name, p plan.Plan, result *hook.Result) (hook.Outcome, error) {
	point, err := hook.Find(name)
	if err != nil {
		return hook.Outcome{}, err
	}
	// Its digest covers that of the configuration, from which a short secret could be guessed.
	shown := p
	shown.Digest = ""
	body, err := json.Marshal(PlanDocument{Plan: shown, Policies: a.policies})
	if err != nil {
		return hook.Outcome{}, fmt.Errorf("writing the plan for hook %s: %w", name, err)
	}
	var answers []hook.Answer
	for _, plugin := range a.common.Plugins {
		if !slices.Contains(plugin.Hooks(), name) {
			continue
		}
		request := hook.Request{
			ID: requestID(), Hook: name, Time: a.common.Now(), Operation: a.operation, Package: &a.pkg,
			Deployed: a.deployed, Plan: body, Result: result, Cluster: a.cluster, User: a.common.User,
		}
		if point.Collisions {
			request.Collisions = conflicts(p)
		}
		a.common.say(event.Debug, "hook", fmt.Sprintf("asking plugin %q at %s", plugin.Name(), name))
		response, err := a.put(ctx, plugin, request, p)
		if ctx.Err() != nil {
			return hook.Outcome{}, context.Cause(ctx)
		}
		if err == nil {
			// A misspelt name must not let go what the plugin believes to be safe.
			if _, _, err = p.WithKept(keeps(plugin.Name(), response.Keep)...); err == nil {
				err = request.Expect().CheckCollisions(response.Collisions)
			}
		}
		answers = append(answers, hook.Answer{Plugin: plugin.Name(), Failure: failurePolicy(plugin), Carried: carried(plugin), Response: response, Err: err})
	}
	out := hook.Fold(point, answers)
	if point.Collisions {
		out.Collisions = hook.Judge(conflicts(p), answers)
	}
	return out, nil
}

// carried reports whether a plugin came in the package that it is asked about.
func carried(p Plugin) bool {
	c, ok := p.(interface{ Carried() bool })
	return ok && c.Carried()
}

// requestID returns an id that a plugin cannot know before it is asked.
func requestID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// decide asks the hooks about a plan and folds their answers into it.
func (a asker) decide(ctx context.Context, p plan.Plan, first hook.Name) (plan.Plan, []hook.Outcome, error) {
	for _, plugin := range a.common.Plugins {
		p.Plugins = append(p.Plugins, plugin.Info())
		if !slices.ContainsFunc(plugin.Hooks(), a.has) {
			p.Warnings = append(p.Warnings, fmt.Sprintf("plugin %q declares no hook of %s: it is not asked", plugin.Name(), a.operation.Name))
		}
	}
	var outcomes []hook.Outcome
	hooks := []hook.Name{}
	if first != "" {
		hooks = append(hooks, first)
	}
	if len(p.Collisions) > 0 {
		hooks = append(hooks, hook.Collision)
	}
	if prunes(p) {
		hooks = append(hooks, hook.PrePrune)
	}
	for _, name := range hooks {
		outcome, err := a.ask(ctx, name, p, nil)
		if err != nil {
			return p, outcomes, err
		}
		outcomes = append(outcomes, outcome)
		p = p.WithJudged(judged(outcome)...)
		if outcome.Verdict == hook.Deny {
			continue
		}
		for _, k := range outcome.Keep {
			if p, _, err = p.WithKept(keeps(k.Plugin, []hook.Keep{k.Keep})...); err != nil {
				return p, outcomes, fmt.Errorf("folding what plugins keep into the plan: %w", err)
			}
		}
	}
	return p, outcomes, nil
}

// prunes reports whether a plan deletes something beside what the operation is about: that a removal
// removes is what pre-remove is asked.
func prunes(p plan.Plan) bool {
	if p.Operation == plan.Deploy {
		return !p.Prune.Empty()
	}
	return len(p.Prune.Images) > 0
}

// has reports whether the operation has a hook.
func (a asker) has(name hook.Name) bool {
	switch name {
	case hook.PreDeploy, hook.Collision, hook.PostDeploy:
		return a.operation.Name == hook.OperationDeploy
	case hook.PrePrune:
		return a.operation.Name == hook.OperationDeploy || a.operation.Flags["prune"] != ""
	case hook.PreRemove, hook.PostRemove:
		return a.operation.Name == hook.OperationRemove
	default:
		return false
	}
}

// keeps translates what a plugin keeps into the plan's words.
func keeps(plugin string, keep []hook.Keep) []plan.Keep {
	var out []plan.Keep
	for _, k := range keep {
		in := plan.Keep{Component: k.Component, Image: k.Image, By: fmt.Sprintf("plugin %q", plugin), Reason: k.Reason}
		if k.Object != nil {
			in.Object = &object.Ref{APIVersion: k.Object.APIVersion, Kind: k.Object.Kind, Namespace: k.Object.Namespace, Name: k.Object.Name}
		}
		if k.Chart != "" {
			in.Release = parseRelease(k.Chart)
		}
		out = append(out, in)
	}
	return out
}

func parseRelease(text string) *object.Release {
	for i := range text {
		if text[i] == '/' {
			return &object.Release{Namespace: text[:i], Name: text[i+1:]}
		}
	}
	return &object.Release{Name: text}
}

// denial returns the first outcome's error that denies.
func denial(outcomes []hook.Outcome) error {
	for _, o := range outcomes {
		if err := o.Err(); err != nil {
			return err
		}
	}
	return nil
}

// hookResult shows what an operation came to.
func hookResult(done apply.Result) *hook.Result {
	out := &hook.Result{Outcome: string(done.Outcome)}
	for _, c := range done.Components {
		out.Components = append(out.Components, hook.ComponentResult{Name: c.Name, Outcome: string(c.Outcome)})
	}
	for _, r := range done.Releases {
		out.Releases = append(out.Releases, hook.ReleaseResult{
			Component: r.Component, Namespace: r.Namespace, Name: r.Name, Outcome: string(r.Outcome), Revision: r.Revision,
		})
	}
	return out
}

func hookPackage(def spec.Package, digest, source string) hook.Package {
	return hook.Package{Metadata: def.Metadata, Build: def.Build, Digest: digest, Source: source, Components: def.Components}
}

// hookDeployed shows a record without its configuration and digests of it.
func hookDeployed(p *state.Package) *hook.Deployed {
	if p == nil {
		return nil
	}
	out := &hook.Deployed{
		Name: p.Name, Version: p.Data.Metadata.Version, Digest: p.Digest, Flavor: p.Data.Build.Flavor,
		Architecture: p.Data.Build.Architecture, Generation: p.Generation, NamespaceOverride: p.NamespaceOverride,
		Components: []hook.DeployedComponent{},
	}
	for _, e := range p.Events {
		out.Events = append(out.Events, hook.DeployedEvent{
			Type: string(e.Type), Outcome: string(e.Outcome), Timestamp: e.Timestamp,
			Version: e.Version, Flavor: e.Flavor, Digest: e.Digest, Source: e.Source,
		})
	}
	for _, c := range p.DeployedComponents {
		component := hook.DeployedComponent{Name: c.Name, Status: string(c.Status)}
		for _, ch := range c.InstalledCharts {
			component.Charts = append(component.Charts, hook.DeployedChart{Namespace: ch.Namespace, Name: ch.Name, Status: string(ch.Status)})
		}
		out.Components = append(out.Components, component)
	}
	return out
}
