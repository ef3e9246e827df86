package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/event"
)

func (r *root) inspectCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "inspect",
		Aliases: []string{"i"},
		Short:   "Look into a package or a deployed one",
		RunE: func(*cobra.Command, []string) error {
			return fmt.Errorf("inspect what? `inspect definition PACKAGE|NAME` or `inspect digest PACKAGE|NAME`")
		},
	}
	cmd.AddCommand(
		r.inspectOne("definition", "Show the package's definition", func(w io.Writer, p host.Inspected) error {
			data := p.DefinitionYAML
			if data == nil {
				var err error
				if data, err = yaml.Marshal(p.Definition); err != nil {
					return err
				}
			}
			_, err := w.Write(append(bytes.TrimRight(data, "\n"), '\n'))
			return err
		}),
		r.inspectOne("digest", "Show the package's digest", func(w io.Writer, p host.Inspected) error {
			_, err := fmt.Fprintln(w, p.Digest)
			return err
		}),
	)
	return cmd
}

func (r *root) inspectOne(what, short string, show func(io.Writer, host.Inspected) error) *cobra.Command {
	var namespace string
	var flags sourceFlags
	cmd := &cobra.Command{
		Use:   what + " PACKAGE|NAME",
		Short: short,
		Args:  onePackage,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := r.checkGlobals(); err != nil {
				return err
			}
			p, err := r.inspect(cmd.Context(), host.InspectOptions{
				Cluster: r.cluster(), Open: r.open(flags), Target: args[0], Namespace: namespace,
			})
			if err != nil {
				return err
			}
			return show(r.streams.Out, p)
		},
	}
	flags.add(cmd)
	cmd.Flags().StringVarP(&namespace, "namespace", "n", "", "the `namespace` that a deployed package is in instead of its own")
	return cmd
}

func (r *root) inspect(ctx context.Context, o host.InspectOptions) (host.Inspected, error) {
	p, err := host.Inspect(ctx, o)
	if err != nil {
		return p, err
	}
	if p.Signed {
		r.sink().Emit(event.Event{Level: event.Warn, Step: "open", Message: "the package is signed, and its signature was not verified"})
	}
	if !p.Verified {
		r.sink().Emit(event.Event{Level: event.Warn, Step: "open", Message: "the package is not verified: " + p.Unverified})
	}
	return p, nil
}
