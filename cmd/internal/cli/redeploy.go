package cli

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/zarf-host/zarf-host/host"
)

func (r *root) redeployCmd() *cobra.Command {
	var (
		flags   operationFlags
		options host.RedeployOptions
		timeout time.Duration
	)
	cmd := &cobra.Command{
		Use:   "redeploy NAME",
		Short: "Deploy a package again as it was deployed last",
		Long: "Deploy a package again as its last successful deployment did: from the same source, with the\n" +
			"recorded configuration, the same components and the same connectivity.",
		Args: onePackage,
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.components != "" {
				return errors.New("redeploy takes the components of the last deployment: use deploy for others")
			}
			common, done, err := r.common(cmd.Context(), flags, timeout)
			if err != nil {
				return err
			}
			defer done()
			options.Common, options.Name = common, args[0]
			result, err := host.Redeploy(cmd.Context(), options)
			if shown := r.summarise(result, flags.dryRun); err == nil {
				err = shown
			}
			return err
		},
	}
	flags.add(cmd)
	f := cmd.Flags()
	_ = f.MarkHidden("components") // it exists, so this cannot fail
	f.StringVarP(&options.Namespace, "namespace", "n", "", "the `namespace` that the package was deployed into instead of its own")
	f.StringVar(&options.Source, "source", "", "where to find the `package`, if not where it was found then")
	f.BoolVar(&options.AllowChangedSource, "allow-changed-source", false, "deploy what is there now, though it is not what was deployed")
	f.BoolVar(&options.SkipUnchanged, "skip-unchanged", false, "leave out releases that are unchanged")
	f.DurationVar(&timeout, "timeout", 15*time.Minute, "limit of the wait for each release")
	r.outputFlag(cmd, "table", "json", "yaml")
	return cmd
}
