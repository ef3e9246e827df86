package cli

import (
	"github.com/spf13/cobra"

	"github.com/zarf-host/zarf-host/cmd/internal/render"
	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/state"
)

func (r *root) historyCmd() *cobra.Command {
	var namespace string
	cmd := &cobra.Command{
		Use:   "history NAME",
		Short: "Show the recorded attempts to deploy and remove a package",
		Args:  onePackage,
		RunE: func(cmd *cobra.Command, args []string) error {
			events, err := host.History(cmd.Context(), r.cluster(), args[0], namespace)
			if err != nil {
				return reading(err)
			}
			if r.format == "table" {
				return render.History(r.streams.Out, events)
			}
			return r.writeDocument(append([]state.PackageEvent{}, events...))
		},
	}
	cmd.Flags().StringVarP(&namespace, "namespace", "n", "", "the `namespace` that the package was deployed into instead of its own")
	r.outputFlag(cmd, "table", "json", "yaml")
	return cmd
}
