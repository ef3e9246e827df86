package cli

import (
	"context"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/validate"
)

// validatePolicies say which policies definitions are held against.
type validatePolicies struct {
	refs    []string
	cluster bool
}

func (v *validatePolicies) add(f *pflag.FlagSet) {
	policyFlag(f, &v.refs)
	f.BoolVar(&v.cluster, "cluster-policies", false, "hold package definitions against the policies of the cluster too")
}

// read reads them; none where no flag asks for any.
func (v validatePolicies) read(ctx context.Context, r *root) ([]host.Policy, error) {
	if len(v.refs) == 0 && !v.cluster {
		return nil, nil
	}
	out, err := r.localPolicies(ctx, v.refs)
	if err != nil || !v.cluster {
		return out, err
	}
	more, err := host.PoliciesOf(ctx, r.cluster())
	return append(out, more...), reading(err)
}

// violations are what policies find in a file, if it is a package definition.
func violations(policies []host.Policy, name string, data []byte) []validate.Diagnostic {
	var head struct {
		Kind spec.Kind `json:"kind"`
	}
	if len(policies) == 0 || yaml.Unmarshal(data, &head) != nil || head.Kind != spec.KindPackage && head.Kind != spec.KindInit {
		return nil
	}
	var out []validate.Diagnostic
	for _, p := range policies {
		for _, d := range p.CheckDefinition(name, data) {
			d.Message = "policy " + p.Metadata.Name + ": " + d.Message
			out = append(out, d)
		}
	}
	return out
}
