package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/pflag"

	"github.com/zarf-host/zarf-host/host"
)

// policyFolder is where the policies of a machine are.
const policyFolder = "/etc/zarf-host/policy.d"

// policyFolderVariable names another folder than policyFolder.
const policyFolderVariable = "ZARF_HOST_POLICY_DIR"

func policyFlag(f *pflag.FlagSet, to *[]string) {
	f.StringArrayVar(to, "policy", nil, "`policy` that applies beside those of the machine and the cluster: a file, a folder or oci://HOST/PATH:TAG; repeatable")
}

// localPolicies reads the policies that apply whatever the cluster says: those of the machine, of the
// config file and of flags.
func (r *root) localPolicies(ctx context.Context, flags []string) ([]host.Policy, error) {
	source, err := (pluginSourceFlags{}).source(r)
	if err != nil {
		return nil, err
	}
	var out []host.Policy
	folder := policyFolder
	if other := os.Getenv(policyFolderVariable); other != "" {
		folder = other
	}
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		if out, err = host.ReadPolicies(ctx, folder, source); err != nil {
			return nil, err
		}
	}
	file, err := readConfigFile(os.LookupEnv)
	if err != nil {
		return nil, err
	}
	refs := file.words("policies")
	for _, ref := range append(refs, flags...) {
		more, err := host.ReadPolicies(ctx, ref, source)
		if err != nil {
			return nil, notThere(ref, refs, err)
		}
		out = append(out, more...)
	}
	return out, nil
}

// notThere gives its exit code to a policy of a flag that is a misspelt name or a wrong file: the user is
// there to put it right. Of any other, what it forbids is not known.
func notThere(ref string, configured []string, err error) error {
	for _, c := range configured {
		if c == ref {
			return err
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return &codeError{code: exitFailed, err: err}
	}
	return err
}
