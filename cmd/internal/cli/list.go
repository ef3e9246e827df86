package cli

import (
	"github.com/spf13/cobra"

	"github.com/zarf-host/zarf-host/cmd/internal/render"
	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/state"
)

// listRow is one package in machine output. The first keys are those of `zarf package list`.
type listRow struct {
	Package           string              `json:"package"`
	NamespaceOverride string              `json:"namespaceOverride"`
	Version           string              `json:"version"`
	Connectivity      string              `json:"connectivity"`
	Components        []string            `json:"components"`
	Runs              []componentRow      `json:"runs,omitempty"`
	Status            string              `json:"status"`
	Digest            string              `json:"digest,omitempty"`
	Generation        int                 `json:"generation"`
	LastEvent         *state.PackageEvent `json:"lastEvent,omitempty"`
	Error             string              `json:"error,omitempty"`
}

// componentRow says which package a component was last successfully deployed from.
type componentRow struct {
	Component string `json:"component"`
	Version   string `json:"version,omitempty"`
	Digest    string `json:"digest,omitempty"`
}

func (r *root) listCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"l", "ls"},
		Short:   "List the deployed packages",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			deployed, err := host.List(cmd.Context(), r.cluster())
			if err != nil {
				return reading(err)
			}
			switch r.format {
			case "json", "yaml":
				rows := make([]listRow, len(deployed))
				for i, d := range deployed {
					rows[i] = row(d)
				}
				err = r.writeDocument(rows)
			case "name":
				err = render.Names(r.streams.Out, deployed)
			default:
				err = render.List(r.streams.Out, deployed)
			}
			if err != nil {
				return err
			}
			return unreadable(deployed)
		},
	}
	r.outputFlag(cmd, "table", "json", "yaml", "name")
	return cmd
}

func row(d host.Deployed) listRow {
	if d.Err != nil {
		return listRow{Package: d.Secret, Components: []string{}, Status: render.Phase(d), Error: d.Err.Error()}
	}
	p := d.Record
	out := listRow{
		Package: p.Name, NamespaceOverride: p.NamespaceOverride, Version: p.Data.Metadata.Version,
		Connectivity: string(p.Connectivity), Components: []string{}, Status: render.Phase(d),
		Digest: p.Digest, Generation: p.Generation,
	}
	for _, c := range p.DeployedComponents {
		out.Components = append(out.Components, c.Name)
		version, digest := d.Runs(c.Name)
		out.Runs = append(out.Runs, componentRow{Component: c.Name, Version: version, Digest: digest})
	}
	if latest, ok := p.LatestEvent(); ok {
		out.LastEvent = &latest
	}
	return out
}
