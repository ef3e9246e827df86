package cli

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/zarf-host/zarf-host/cmd/internal/render"
	"github.com/zarf-host/zarf-host/host"
)

// getCredsCmd prints the credentials of a cluster's services. With a key it prints the password
// alone, for scripts.
func (r *root) getCredsCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "get-creds [registry|registry-readonly|git|git-readonly|artifact]",
		Aliases: []string{"gc"},
		Short:   "Print the credentials of the cluster's registry and git server",
		Example: "  zarf-host tools get-creds\n  zarf-host tools get-creds registry",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := host.Credentials(cmd.Context(), r.cluster())
			if err != nil {
				return err
			}
			switch {
			case len(args) == 1:
				found, err := host.FindCredential(all, args[0])
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(r.streams.Out, found.Password)
				return err
			case r.format != "table":
				return r.writeDocument(append([]host.Credential{}, all...))
			}
			w := tabwriter.NewWriter(r.streams.Out, 0, 8, 2, ' ', 0)
			_, _ = fmt.Fprintln(w, "APPLICATION\tUSERNAME\tPASSWORD\tCONNECT\tGET-CREDS KEY") // Flush says what went wrong
			for _, c := range all {
				_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", render.Line(c.Application), render.Line(c.Username), render.Line(c.Password), render.Line(c.Connect), c.Key)
			}
			return w.Flush()
		},
	}
	r.outputFlag(cmd, "table", "json", "yaml")
	return cmd
}
