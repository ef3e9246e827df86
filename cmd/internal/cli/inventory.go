package cli

import (
	"github.com/spf13/cobra"

	"github.com/zarf-host/zarf-host/host"
)

func (r *root) inventoryCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "inventory",
		Short: "Write what the registry of a cluster and its deployed packages hold",
		Long: "Write, as JSON, what the registry of a cluster and the packages deployed there hold: references\n" +
			"and digests, no secrets. Carried out of the air gap, the file is a base for differential packages:\n" +
			"`zarf-host create DIR --differential inventory.json`.",
		Example: "  zarf-host inventory > inventory.json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := r.checkGlobals(); err != nil {
				return err
			}
			found, err := host.TakeInventory(cmd.Context(), r.remoteCommon(sourceFlags{}))
			if err != nil {
				return err
			}
			data, err := found.Encode()
			if err != nil {
				return err
			}
			return r.write(data)
		},
	}
}
