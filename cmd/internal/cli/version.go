package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/zarf-host/zarf-host/host"
)

// versionLine is what `version` and --version print.
func (r *root) versionLine() string {
	return fmt.Sprintf("zarf-host %s (compatible with Zarf %s)\n", r.version, host.CompatibleVersion)
}

func (r *root) versionCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Aliases: []string{"v"},
		Short:   "Show the version of the program and of the Zarf that it is compatible with",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if r.format == "table" {
				return r.write([]byte(r.versionLine()))
			}
			return r.writeDocument(map[string]string{"version": r.version, "zarf": host.CompatibleVersion})
		},
	}
	r.outputFlag(cmd, "table", "json", "yaml")
	return cmd
}
