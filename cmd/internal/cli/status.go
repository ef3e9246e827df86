package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/zarf-host/zarf-host/cmd/internal/render"
	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/state"
)

// statusDocument is a package's status in machine output.
type statusDocument struct {
	listRow
	Holder      string               `json:"holder,omitempty"`
	Interrupted bool                 `json:"interrupted"`
	Events      []state.PackageEvent `json:"events"`
	Entries     []state.Component    `json:"deployedComponents"`
	Releases    []releaseDocument    `json:"releases"`
	Unconfirmed []releaseDocument    `json:"unconfirmed,omitempty"`
	Kept        []state.KeptObject   `json:"kept,omitempty"`
	Pushed      []state.PushedImage  `json:"pushed,omitempty"`
	Notes       []string             `json:"notes,omitempty"`
}

type releaseDocument struct {
	Component string `json:"component"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Exists    bool   `json:"exists"`
	Revision  int    `json:"revision,omitempty"`
	Status    string `json:"status,omitempty"`
	Chart     string `json:"chart,omitempty"`
	Version   string `json:"version,omitempty"`
}

func (r *root) statusCmd() *cobra.Command {
	var namespace string
	cmd := &cobra.Command{
		Use:   "status NAME",
		Short: "Show a deployed package: events, components, releases",
		Args:  onePackage,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := host.GetStatus(cmd.Context(), r.cluster(), args[0], namespace)
			if err != nil {
				return err
			}
			if r.format == "table" {
				return render.Status(r.streams.Out, s)
			}
			doc := statusDocument{
				listRow: row(s.Deployed), Holder: s.Holder, Interrupted: s.Interrupted,
				Events: s.Record.Events, Entries: s.Record.DeployedComponents, Releases: []releaseDocument{},
				Kept: s.Own.Kept, Pushed: s.Own.Pushed, Notes: s.Notes,
			}
			for _, u := range s.Unconfirmed {
				c, _ := s.Record.Component(u.Component)
				_, exists := c.Chart(u.Release)
				doc.Unconfirmed = append(doc.Unconfirmed, releaseDocument{
					Component: u.Component, Namespace: u.Release.Namespace, Name: u.Release.Name, Exists: exists,
				})
			}
			for _, rel := range s.Releases {
				doc.Releases = append(doc.Releases, releaseDocument{
					rel.Component, rel.Namespace, rel.Name, rel.Exists, rel.Revision, rel.Status, rel.Chart, rel.Version,
				})
			}
			return r.writeDocument(doc)
		},
	}
	cmd.Flags().StringVarP(&namespace, "namespace", "n", "", "the `namespace` that the package was deployed into instead of its own")
	r.outputFlag(cmd, "table", "json", "yaml")
	return cmd
}

// unreadable returns the errors of the records that could not be read.
func unreadable(deployed []host.Deployed) error {
	var errs []error
	for _, d := range deployed {
		if d.Err != nil {
			errs = append(errs, d.Err)
		}
	}
	return errors.Join(errs...)
}
