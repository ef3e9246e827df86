package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/zarf-host/zarf-host/host"
)

func (r *root) versionCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Aliases: []string{"v"},
		Short:   "Show the version of the program and of the Zarf that it is compatible with",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if r.format == "table" {
				_, err := fmt.Fprintf(r.streams.Out, "zarf-host %s (compatible with Zarf %s)\n", r.version, host.CompatibleVersion)
				return err
			}
			return r.writeDocument(map[string]string{"version": r.version, "zarf": host.CompatibleVersion})
		},
	}
	r.outputFlag(cmd, "table", "json", "yaml")
	return cmd
}
