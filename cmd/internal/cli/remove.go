package cli

import (
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/config"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/state"
)

func (r *root) removeCmd() *cobra.Command {
	var (
		flags     operationFlags
		values    valuesFlags
		namespace string
		prune     string
		timeout   time.Duration
	)
	cmd := &cobra.Command{
		Use:     "remove NAME|PACKAGE",
		Aliases: []string{"u", "rm"},
		Short:   "Remove a deployed package, after showing what would go",
		Args:    onePackage,
		RunE: func(cmd *cobra.Command, args []string) error {
			scopes, err := pruneScopes(cmd, prune, removeScopes)
			if err != nil {
				return err
			}
			file, err := readConfigFile(os.LookupEnv)
			if err != nil {
				return err
			}
			layers, err := values.layers("package.remove", file, os.LookupEnv)
			if err != nil {
				return err
			}
			common, done, err := r.common(cmd.Context(), flags, timeout)
			if err != nil {
				return err
			}
			defer done()
			result, err := host.Remove(cmd.Context(), host.RemoveOptions{
				Common: common, Target: args[0], Components: flags.components, Prune: scopes,
				RemoveConfig: state.RemoveConfig{
					Values: config.Resolve(layers...).Config.Values, NamespaceOverride: namespace,
				},
			})
			if shown := r.summarise(result, flags.dryRun); err == nil {
				err = shown
			}
			return err
		},
	}
	flags.add(cmd)
	values.add(cmd.Flags())
	cmd.Flags().StringVarP(&namespace, "namespace", "n", "", "the `namespace` that the package was deployed into instead of its own")
	cmd.Flags().StringVar(&prune, "prune", "", "delete too, in these `scopes`, what nothing else needs: images or all")
	cmd.Flags().Lookup("prune").NoOptDefVal = string(plan.ScopeAll)
	noHooksFlag(cmd.Flags(), &flags.noHooks)
	cmd.Flags().DurationVar(&timeout, "timeout", 15*time.Minute, "limit of the wait for each release")
	r.outputFlag(cmd, "table", "json", "yaml")
	return cmd
}
