package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/zarf-host/zarf-host/cmd/internal/render"
	"github.com/zarf-host/zarf-host/host"
)

func (r *root) initCmd() *cobra.Command {
	var (
		o       host.InitOptions
		confirm bool
	)
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Tell a cluster which registry and git server packages use",
		Long: "Tell a cluster which registry and git server packages use, in the state that Zarf reads too.\n" +
			"zarf-host runs no services of its own: registry and git server exist already.",
		Example: "  zarf-host init --registry-url registry.example:5000 \\\n" +
			"    --registry-push-username push --registry-push-password \"$PASSWORD\" --confirm",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := r.checkGlobals(); err != nil {
				return err
			}
			o.Cluster, o.Sink = r.cluster(), r.sink()
			o.PlainHTTP, o.InsecureSkipTLSVerify = r.remote.plainHTTP, r.remote.skipTLSVerify
			if !confirm {
				yes, err := r.prompts().ask(cmd.Context(), fmt.Sprintf("use registry %q and git server %q in this cluster?", o.Registry.Address, o.Git.Address), false)
				if err != nil {
					return err
				}
				if !yes {
					return host.ErrDeclined
				}
			}
			done, err := host.Init(cmd.Context(), o)
			if err != nil {
				return err
			}
			text := "initialised"
			if !done.Changed {
				text = "initialised already, nothing changed"
			}
			_, err = fmt.Fprintf(r.streams.Out, "%s: registry %q, git server %q\n", render.Line(text), done.Registry, done.Git)
			return err
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.Replace, "replace", false, "put the services named here in the place of those that the cluster has")
	f.BoolVarP(&confirm, "confirm", "c", false, "go on without asking")
	f.StringVar(&o.StorageClass, "storage-class", "", "storage `class` that packages use")
	f.StringVar(&o.Registry.Address, "registry-url", "", "`address` of the registry, without a scheme")
	f.StringVar(&o.Registry.PushUsername, "registry-push-username", "", "`user` that pushes images")
	f.StringVar(&o.Registry.PushPassword, "registry-push-password", "", "`password` of the user that pushes images")
	f.StringVar(&o.Registry.PullUsername, "registry-pull-username", "", "`user` that pulls images; the pushing one if left out")
	f.StringVar(&o.Registry.PullPassword, "registry-pull-password", "", "`password` of the user that pulls images")
	f.StringVar(&o.Registry.Secret, "registry-secret", "", "`secret` of the registry; a random one if left out")
	f.StringVar(&o.Git.Address, "git-url", "", "`address` of the git server")
	f.StringVar(&o.Git.PushUsername, "git-push-username", "", "`user` that pushes repositories")
	f.StringVar(&o.Git.PushPassword, "git-push-password", "", "`password` of the user that pushes repositories")
	f.StringVar(&o.Git.PullUsername, "git-pull-username", "", "`user` that pulls repositories; the pushing one if left out")
	f.StringVar(&o.Git.PullPassword, "git-pull-password", "", "`password` of the user that pulls repositories")
	return cmd
}
