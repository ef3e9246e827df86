package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/zarf-host/zarf-host/cmd/internal/render"
	"github.com/zarf-host/zarf-host/host"
)

func (r *root) mirrorCmd() *cobra.Command {
	var (
		source  sourceFlags
		o       host.MirrorOptions
		confirm bool
		retries int
	)
	cmd := &cobra.Command{
		Use:     "mirror-resources PACKAGE",
		Aliases: []string{"mr"},
		Short:   "Push the images of a package into a registry, without deploying it",
		Long: "Push the images of a package into a registry, without deploying it: the one that --registry-url\n" +
			"names, for which no cluster is needed, or else that of the cluster.",
		Example: "  zarf-host mirror-resources shop.tar.zst --images --registry-url registry.example:5000 \\\n" +
			"    --registry-push-username push --registry-push-password \"$PASSWORD\"",
		Args: onePackage,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Registry.Address == "" && o.Registry.Username+o.Registry.Password != "" {
				return fmt.Errorf("--registry-push-username and --registry-push-password go with --registry-url")
			}
			o.Common, o.Source = r.remoteCommon(source), args[0]
			o.Retries = pushRetries(retries)
			done, err := host.Mirror(cmd.Context(), o)
			if err != nil {
				return err
			}
			return r.showMirrored(done)
		},
	}
	source.add(cmd)
	f := cmd.Flags()
	f.BoolVarP(&confirm, "confirm", "c", false, "accepted for scripts that give it; nothing is asked")
	f.StringVar(&o.Components, "components", "", "`names` of components, with globs; a leading '-' excludes; all if left out")
	f.BoolVar(&o.Images, "images", false, "mirror images alone")
	f.BoolVar(&o.Repos, "repos", false, "mirror git repositories alone")
	f.StringVar(&o.Registry.Address, "registry-url", "", "`address` of the registry, without a scheme")
	f.StringVar(&o.Registry.Username, "registry-push-username", "", "`user` that pushes images")
	f.StringVar(&o.Registry.Password, "registry-push-password", "", "`password` of the user that pushes images")
	f.BoolVar(&o.NoImageChecksum, "no-img-checksum", false, "leave out the tag with a checksum, which pods of Zarf use")
	retriesFlag(f, &retries)
	r.outputFlag(cmd, "table", "json", "yaml")
	return cmd
}

// mirroredDocument is the JSON of what was mirrored.
type mirroredDocument struct {
	Registry string          `json:"registry"`
	Images   []mirroredImage `json:"images"`
}

type mirroredImage struct {
	Image   string   `json:"image"`
	Targets []string `json:"targets"`
	Digest  string   `json:"digest"`
	Present bool     `json:"present"`
}

func (r *root) showMirrored(done host.Mirrored) error {
	doc := mirroredDocument{Registry: done.Registry, Images: []mirroredImage{}}
	for _, img := range done.Images {
		doc.Images = append(doc.Images, mirroredImage{img.Image.String(), img.Targets, img.Digest, img.Present})
	}
	if r.format != "table" {
		return r.writeDocument(doc)
	}
	w := tabwriter.NewWriter(r.streams.Out, 0, 8, 2, ' ', 0)
	for _, img := range doc.Images {
		what := "pushed"
		if img.Present {
			what = "present"
		}
		if _, err := fmt.Fprintf(w, "%s\t%s\t%s\n", what, render.Line(img.Image), render.Line(strings.Join(img.Targets, " "))); err != nil {
			return err
		}
	}
	return w.Flush()
}
