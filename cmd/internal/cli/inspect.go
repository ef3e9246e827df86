package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/zarf-host/zarf-host/cmd/internal/render"
	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/event"
)

func (r *root) inspectCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "inspect",
		Aliases: []string{"i"},
		Short:   "Look into a package or a deployed one",
		Long: "Look into a package, which may be an archive, a folder or an oci:// reference, or by its name\n" +
			"into a deployed one, of which definition, images and digest are known, and of its manifests which\n" +
			"objects they made: what is in them, and the values that they got, may be secret and is not shown.",
		RunE: func(*cobra.Command, []string) error {
			return errors.New("inspect what? `inspect definition|images|digest|manifests PACKAGE|NAME` or " +
				"`inspect values-files|documentation|sbom PACKAGE`")
		},
	}
	cmd.AddCommand(
		r.inspectOne("definition", "Show the package's definition", r.showDefinition),
		r.inspectOne("images", "List the images of the package", r.showImages),
		r.inspectOne("digest", "Show the package's digest", func(p host.Inspected) error {
			_, err := fmt.Fprintln(r.streams.Out, render.Line(p.Digest))
			return err
		}),
		r.inspectManifestsCmd(), r.inspectValuesCmd(), r.inspectDocumentationCmd(), r.inspectSBOMCmd(),
	)
	return cmd
}

func (r *root) showDefinition(p host.Inspected) error {
	data := p.DefinitionYAML
	if data == nil {
		var err error
		if data, err = yaml.Marshal(p.Definition); err != nil {
			return err
		}
	}
	return r.show(append(bytes.TrimRight(data, "\n"), '\n'))
}

// showImages prints a YAML list, as Zarf does. None is an error, as there.
func (r *root) showImages(p host.Inspected) error {
	images := p.Images()
	if len(images) == 0 {
		return fmt.Errorf("package %q has no images", p.Definition.Metadata.Name)
	}
	for _, ref := range images {
		if _, err := fmt.Fprintln(r.streams.Out, "-", render.Line(ref)); err != nil {
			return err
		}
	}
	return nil
}

func (r *root) inspectOne(what, short string, show func(host.Inspected) error) *cobra.Command {
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
			return show(p)
		},
	}
	flags.add(cmd)
	deployedIn(cmd, &namespace)
	return cmd
}

// deployedIn adds the flag that tells two deployments of one package apart.
func deployedIn(cmd *cobra.Command, namespace *string) {
	cmd.Flags().StringVarP(namespace, "namespace", "n", "", "the `namespace` that a deployed package is in instead of its own")
}

func (r *root) inspect(ctx context.Context, o host.InspectOptions) (host.Inspected, error) {
	p, err := host.Inspect(ctx, o)
	if err != nil {
		return p, err
	}
	if p.Signed && p.Signer == "" {
		r.sink().Emit(event.Event{Level: event.Warn, Step: "open", Message: "the package is signed, and its signature was not verified"})
	}
	if !p.Verified {
		r.sink().Emit(event.Event{Level: event.Warn, Step: "open", Message: "the package is not verified: " + p.Unverified})
	}
	return p, nil
}
