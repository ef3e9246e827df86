package host

import (
	"context"
	"fmt"
	"slices"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/policy"
	"github.com/zarf-host/zarf-host/host/state"
)

// PolicyPlugins say how the plugins are had and loaded that policies want to be asked. What a policy says
// itself (configuration, grants, limits) comes on top.
type PolicyPlugins struct {
	Source  PluginSource
	Options PluginOptions
}

// guarded is what stands guard over one operation. The zero value is nothing.
type guarded struct {
	policies []Policy
	bound    []*boundPlugin
	// unread has the refusal to read the cluster's policies. It fails the preflight with whatever else is
	// refused.
	unread reads
}

// guard reads the cluster's policies, where there is a cluster, and loads the plugins of all policies and
// of flags, in this order.
func (g *guarded) guard(ctx context.Context, c *Common, conn *cluster.Cluster, pkg *Package) error {
	g.policies = slices.Clone(c.Policies)
	if conn != nil {
		more, err := ClusterPolicies(ctx, conn)
		if err = g.unread.unless(err); err != nil {
			return err
		}
		g.policies = append(g.policies, more...)
	}
	for _, p := range g.policies {
		c.say(event.Info, "policy", fmt.Sprintf("policy %q (%s) from %s applies", p.Metadata.Name, p.Digest, p.From))
	}
	if c.PluginsOf != nil {
		plugins, err := c.PluginsOf(ctx, pkg, policySet(g.policies))
		if err != nil {
			return err
		}
		c.Plugins = plugins
	}
	bound, err := c.bind(ctx, g.policies, pkg)
	g.bound = bound
	if err != nil {
		return err
	}
	var all []Plugin
	for _, p := range bound {
		all = append(all, p)
		c.say(event.Info, "policy", fmt.Sprintf("policy %q asks plugin %q %s (%s)", p.bound.Policy.Metadata.Name, p.bound.Name, p.Info().Version, p.Info().Digest))
	}
	c.Plugins = append(all, c.Plugins...)
	return nil
}

func (g *guarded) release(ctx context.Context) {
	for _, p := range g.bound {
		_ = p.Close(context.WithoutCancel(ctx)) // nothing of it is used any more
	}
}

// refs identify the policies.
func (g *guarded) refs() []policy.Ref { return policySet(g.policies).Refs() }

// constrained is what policies say of a definition, YAML, and of a configuration; nil of what there is not.
func constrained(policies []Policy, definition []byte, config *state.DeployConfig) ([]plan.Finding, error) {
	var out []plan.Finding
	for _, p := range policies {
		if p.definition != nil && definition != nil {
			for _, d := range p.definition.Definition(bundle.DefinitionPath, definition).Errors() {
				out = append(out, p.Finding(d.String(), ""))
			}
		}
		if p.config != nil && config != nil {
			result, err := p.config.Value("configuration", *config)
			if err != nil {
				return nil, err
			}
			for _, d := range result.Errors() {
				out = append(out, p.Finding(d.String(), ""))
			}
		}
	}
	return out, nil
}

// judge says what the policies forbid of the deployment.
func (d *deployment) judge() ([]plan.Finding, error) {
	if len(d.policies) == 0 {
		return nil, nil
	}
	out, err := constrained(d.policies, d.pkg.DefinitionYAML(), &d.resolved.Config)
	if err != nil {
		return nil, fmt.Errorf("holding the package against the policies: %w", err)
	}
	return append(out, policySet(d.policies).Judge(policy.Operation{
		Source: d.pkg.Source(), Signed: d.pkg.Signed(), Accept: d.Accept, TakeOwnership: d.TakeOwnership,
	})...), nil
}

// participants are the policies and plugins that take part in the deployment, for the record.
func (d *deployment) participants() (policies, plugins []state.Participant) {
	for _, p := range d.policies {
		policies = append(policies, state.Participant{Name: p.Metadata.Name, Digest: p.Digest})
	}
	for _, p := range d.Plugins {
		plugins = append(plugins, state.Participant{Name: p.Info().Name, Digest: p.Info().Digest})
	}
	return policies, plugins
}
