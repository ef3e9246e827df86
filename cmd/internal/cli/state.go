package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/zarf-host/zarf-host/cmd/internal/render"
	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/state"
)

func (r *root) stateCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "state",
		Short: "Look after what is recorded of deployed packages",
		RunE: func(*cobra.Command, []string) error {
			return errors.New("do what with the state? `state rebuild NAME` makes up a lost record")
		},
	}
	cmd.AddCommand(r.stateRebuildCmd())
	return cmd
}

// rebuiltDocument is a rebuilt record in machine output.
type rebuiltDocument struct {
	Record  state.Package `json:"record"`
	Notes   []string      `json:"notes"`
	Written bool          `json:"written"`
}

func (r *root) stateRebuildCmd() *cobra.Command {
	var (
		flags   operationFlags
		options host.RebuildOptions
		confirm bool
		dryRun  bool
	)
	cmd := &cobra.Command{
		Use:   "rebuild NAME",
		Short: "Make up the lost record of a package from its releases, after showing it",
		Long: "Make up the lost record of a package from the Helm releases in the cluster that carry its label.\n" +
			"With --from, the package that is deployed, the record has its definition too; without, only what\n" +
			"the releases tell. A record that exists is never touched.",
		Args: onePackage,
		RunE: func(cmd *cobra.Command, args []string) error {
			options.Common = r.remoteCommon(flags.sourceFlags)
			options.DryRun, options.Name = dryRun, args[0]
			options.Review = func(_ context.Context, rebuilt host.Rebuilt) (bool, error) {
				if r.format == "table" {
					if err := render.Rebuilt(r.streams.Out, rebuilt); err != nil {
						return false, err
					}
				}
				if confirm || dryRun {
					return true, nil
				}
				return r.prompts().ask(cmd.Context(), "write this record?", false)
			}
			rebuilt, err := host.Rebuild(cmd.Context(), options)
			if err != nil || r.format == "table" {
				return reading(err)
			}
			return r.writeDocument(rebuiltDocument{rebuilt.Record.Public(), rebuilt.Notes, rebuilt.Written})
		},
	}
	flags.sourceFlags.add(cmd)
	f := cmd.Flags()
	f.StringVarP(&options.Namespace, "namespace", "n", "", "the `namespace` that the package was deployed into instead of its own")
	f.StringVar(&options.Source, "from", "", "the `package` that is deployed")
	f.BoolVar(&options.Connected, "connected", false, "the package was deployed without pushing its images")
	f.BoolVarP(&confirm, "confirm", "c", false, "write the record without asking")
	f.BoolVar(&dryRun, "dry-run", false, "show the record and stop")
	r.outputFlag(cmd, "table", "json", "yaml")
	return cmd
}
