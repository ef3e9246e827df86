package host

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/plugin"
	"github.com/zarf-host/zarf-host/host/validate"
)

// Pin returns the policy with plugins from elsewhere, by their names: oci:// references, whose modules are
// fetched so that their digests get into the policy. Only a policy in YAML or JSON can be rewritten.
func (p Policy) Pin(ctx context.Context, plugins map[string]string, s PluginSource) (Policy, error) {
	if len(plugins) == 0 {
		return p, nil
	}
	if filepath.Ext(p.File) == ".cue" {
		return p, fmt.Errorf("policy %q is written in CUE, which is not rewritten: write where its plugins come from into the file", p.Metadata.Name)
	}
	var document map[string]any
	if err := yaml.Unmarshal(p.Text, &document); err != nil {
		return p, fmt.Errorf("reading policy %q: %w", p.Metadata.Name, err)
	}
	list, _ := document["plugins"].([]any)
	for name, text := range plugins {
		ref, err := plugin.ParseRegistryReference(text)
		if err != nil {
			return p, err
		}
		i := slices.IndexFunc(list, func(entry any) bool { m, _ := entry.(map[string]any); return m["name"] == name })
		if i < 0 {
			return p, fmt.Errorf("policy %q has no plugin %q", p.Metadata.Name, name)
		}
		found, err := FetchPlugin(ctx, ref, nil, s)
		if err != nil {
			return p, err
		}
		if found.Metadata.Name != name {
			return p, fmt.Errorf("the module at %s is plugin %q, not %q", found.Source, found.Metadata.Name, name)
		}
		entry, _ := list[i].(map[string]any) // it was found
		entry["source"], entry["digest"] = found.Source, found.Digest
	}
	text, err := yaml.Marshal(document)
	if err != nil {
		return p, fmt.Errorf("writing policy %q: %w", p.Metadata.Name, err)
	}
	v, err := validate.New()
	if err != nil {
		return p, err
	}
	return parsePolicy(v, "policy.yaml", p.From, text)
}

// Applicable says why a policy cannot be one of a cluster's; nil if it can.
func (p Policy) Applicable() error {
	for _, pl := range p.Plugins {
		ref, err := plugin.ParseReference(pl.Source)
		if err != nil {
			return err
		}
		if ref.Kind == plugin.File {
			return fmt.Errorf("plugin %q of policy %q is a file, which a cluster does not have: push it with `zarf-host plugin push` and name it with --plugin %s=oci://…", pl.Name, p.Metadata.Name, pl.Name)
		}
	}
	return nil
}

// ApplyPolicy makes a policy one of a cluster's.
func ApplyPolicy(ctx context.Context, o cluster.Options, p Policy) error {
	if err := p.Applicable(); err != nil {
		return err
	}
	conn, err := connect(ctx, o)
	if err != nil {
		return err
	}
	return conn.ApplyPolicy(ctx, p.Metadata.Name, p.File, p.Text)
}

// ErrNoPolicy says that a cluster has no policy of a name.
var ErrNoPolicy = errors.New("the cluster has no policy of that name which `zarf-host policy apply` has written")

// RemovePolicy takes a policy from a cluster, or returns ErrNoPolicy.
func RemovePolicy(ctx context.Context, o cluster.Options, name string) error {
	conn, err := connect(ctx, o)
	if err != nil {
		return err
	}
	there, err := conn.RemovePolicy(ctx, name)
	if err == nil && !there {
		err = fmt.Errorf("policy %q: %w", name, ErrNoPolicy)
	}
	return err
}

// PoliciesOf reads the policies of a cluster, as ClusterPolicies does.
func PoliciesOf(ctx context.Context, o cluster.Options) ([]Policy, error) {
	conn, err := connect(ctx, o)
	if err != nil {
		return nil, err
	}
	return ClusterPolicies(ctx, conn)
}

func connect(ctx context.Context, o cluster.Options) (*cluster.Cluster, error) {
	if o.Sink == nil {
		o.Sink = event.Discard
	}
	return cluster.Connect(ctx, o)
}

// CheckDefinition holds a package definition, YAML, against the constraint of the policy. The name appears
// in the diagnostics.
func (p Policy) CheckDefinition(name string, definition []byte) []validate.Diagnostic {
	if p.definition == nil {
		return nil
	}
	return p.definition.Definition(name, definition).Errors()
}
