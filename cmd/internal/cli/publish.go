package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/zarf-host/zarf-host/cmd/internal/render"
	"github.com/zarf-host/zarf-host/host"
)

func (r *root) publishCmd() *cobra.Command {
	var (
		source  sourceFlags
		o       host.PublishOptions
		confirm bool
		retries int
		key     signingKeyFlags
	)
	cmd := &cobra.Command{
		Use:     "publish PACKAGE|DIRECTORY oci://HOST/PATH",
		Aliases: []string{"push"},
		Short:   "Publish a package in a registry, or the skeleton of one that others import from",
		Long: "Publish a package in a registry, below the path that is named, under its own name and version. The\n" +
			"folder of a zarf.yaml publishes a skeleton: what others need to import its components, without\n" +
			"images. Files that the registry has are not sent again; packages for other architectures under the\n" +
			"same tag stay.",
		Example: "  zarf-host publish zarf-package-shop-amd64-1.2.3.tar.zst oci://registry.example.com/packages\n" +
			"  zarf-host publish ./shop oci://registry.example.com/skeletons",
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Common, o.Source, o.Target = r.remoteCommon(source), args[0], args[1]
			o.Retries = pushRetries(retries)
			var err error
			if o.Key, err = key.read(cmd.Context(), r); err != nil {
				return err
			}
			done, err := host.Publish(cmd.Context(), o)
			if err != nil {
				return err
			}
			return r.showPublished(done)
		},
	}
	source.add(cmd)
	f := cmd.Flags()
	f.BoolVarP(&confirm, "confirm", "c", false, "accepted for scripts that give it; nothing is asked")
	f.StringVarP(&o.Tag, "tag", "t", "", "`tag` of the package; its version and flavor if left out")
	f.StringVarP(&o.Flavor, "flavor", "f", "", "`flavor` of the components of a skeleton, beside those without one")
	f.BoolVar(&o.Machine, "with-build-machine-info", false, "record the names of this machine and user in a skeleton")
	retriesFlag(f, &retries)
	key.add(f)
	r.outputFormatFlag(cmd, "table", "json", "yaml", "name")
	return cmd
}

// publishedDocument is the JSON of a package that was published.
type publishedDocument struct {
	Reference     string `json:"reference"`
	Digest        string `json:"digest"`
	Skeleton      bool   `json:"skeleton,omitempty"`
	UploadedBlobs int    `json:"uploadedBlobs"`
	UploadedBytes int64  `json:"uploadedBytes"`
}

func (r *root) showPublished(done host.Published) error {
	doc := publishedDocument{"oci://" + done.Reference, done.Digest, done.Skeleton, done.UploadedBlobs, done.UploadedBytes}
	switch r.format {
	case "json", "yaml":
		return r.writeDocument(doc)
	case "name":
		return r.write([]byte(render.Line(doc.Reference) + "\n"))
	}
	what := ""
	if done.Skeleton {
		what = "a skeleton, "
	}
	return r.write([]byte(fmt.Sprintf("%s\n  %sdigest %s, %s of %d bytes uploaded\n",
		render.Line(doc.Reference), what, doc.Digest, count(doc.UploadedBlobs, "file"), doc.UploadedBytes)))
}

func (r *root) pullCmd() *cobra.Command {
	var (
		source sourceFlags
		o      host.PullOptions
	)
	cmd := &cobra.Command{
		Use:     "pull oci://REFERENCE|https://ADDRESS",
		Short:   "Write the archive of a package that lies in a registry or on a web server",
		Example: "  zarf-host pull oci://registry.example.com/packages/shop:1.2.3 -a arm64 -o packages",
		Args:    onePackage,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Common, o.Source = r.remoteCommon(source), args[0]
			done, err := host.Pull(cmd.Context(), o)
			if err != nil {
				return err
			}
			switch r.format {
			case "json", "yaml":
				return r.writeDocument(pulledDocument{done.File, done.Bytes, done.Digest})
			case "name":
				return r.write([]byte(render.Line(done.File) + "\n"))
			}
			return r.write([]byte(fmt.Sprintf("%s\n  %d bytes, digest %s\n", render.Line(done.File), done.Bytes, done.Digest)))
		},
	}
	source.add(cmd)
	cmd.Flags().StringVarP(&o.Output, "output-directory", "o", ".", "`folder` that the package is written into")
	r.outputFormatFlag(cmd, "table", "json", "yaml", "name")
	return cmd
}

// pulledDocument is the JSON of a package that was fetched.
type pulledDocument struct {
	File   string `json:"file"`
	Bytes  int64  `json:"bytes"`
	Digest string `json:"digest"`
}
