package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/zarf-host/zarf-host/cmd/internal/render"
	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/event"
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
	Orphaned  bool   `json:"orphaned,omitempty"`
}

// watchEvery is the pause between two looks of status --watch.
const watchEvery = 2 * time.Second

func (r *root) statusCmd() *cobra.Command {
	var namespace string
	var watch bool
	cmd := &cobra.Command{
		Use:   "status NAME",
		Short: "Show a deployed package: events, components, releases",
		Args:  onePackage,
		RunE: func(cmd *cobra.Command, args []string) error {
			if watch {
				return r.watchStatus(cmd.Context(), args[0], namespace)
			}
			s, err := host.GetStatus(cmd.Context(), r.cluster(), args[0], namespace)
			if err != nil {
				return reading(err)
			}
			text, err := r.statusText(s, false)
			if err != nil {
				return err
			}
			return r.write(text)
		},
	}
	cmd.Flags().StringVarP(&namespace, "namespace", "n", "", "the `namespace` that the package was deployed into instead of its own")
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "go on until the package is removed, and show its status again whenever it changes: "+
		"in JSON one line each time, in YAML one document")
	r.outputFlag(cmd, "table", "json", "yaml")
	return cmd
}

// watchStatus shows the status of a package whenever it is another one than was shown.
func (r *root) watchStatus(ctx context.Context, name, namespace string) error {
	r.sink().Emit(event.Event{Level: event.Debug, Step: "status", Message: fmt.Sprintf("watching package %q", name)})
	var shown []byte
	err := host.WatchStatus(ctx, r.cluster(), name, namespace, watchEvery, func(s host.Status) error {
		text, err := r.statusText(s, true)
		if err != nil || bytes.Equal(text, shown) {
			return err
		}
		between := ""
		switch {
		case r.format == "yaml":
			between = "---\n"
		case r.format == "table" && shown != nil:
			between = "\n"
		}
		shown = text
		return r.write(append([]byte(between), text...))
	})
	if err == nil {
		r.sink().Emit(event.Event{Level: event.Info, Step: "status", Message: fmt.Sprintf("package %q is not deployed any more", name)})
	}
	return err
}

// statusText is a package's status in the format that was asked for; in JSON on one line, if wanted.
func (r *root) statusText(s host.Status, oneLine bool) ([]byte, error) {
	if r.format == "table" {
		var b bytes.Buffer
		err := render.Status(&b, s)
		return b.Bytes(), err
	}
	text, err := r.encode(statusOf(s))
	if err != nil || !oneLine || r.format != "json" {
		return text, err
	}
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		return nil, fmt.Errorf("writing the output: %w", err)
	}
	return append(b.Bytes(), '\n'), nil
}

func statusOf(s host.Status) statusDocument {
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
			rel.Component, rel.Namespace, rel.Name, rel.Exists, rel.Revision, rel.Status, rel.Chart, rel.Version, rel.Orphaned,
		})
	}
	return doc
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
