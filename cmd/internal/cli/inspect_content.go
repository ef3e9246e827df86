package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/config"
)

// renderFlags are the flags of what renders a package without a cluster.
type renderFlags struct {
	sourceFlags
	components   string
	kubeVersion  string
	setVariables map[string]string
	values       valuesFlags
	skipSchema   bool
}

func (f *renderFlags) add(cmd *cobra.Command) {
	f.sourceFlags.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.components, "components", "", "`names` of components, with globs; a leading '-' excludes; all if left out")
	flags.StringVar(&f.kubeVersion, "kube-version", "", "`version` of Kubernetes that charts see")
	flags.StringToStringVar(&f.setVariables, "set-variables", nil, "variables of the package, `KEY=value`")
	_ = flags.SetAnnotation("set-variables", layered, []string{"true"}) // it exists, so this cannot fail
	f.values.add(flags)
	flags.BoolVar(&f.skipSchema, "skip-values-schema-validation", false, "do not check the values against the package's schema")
}

// renderCmd makes a command that renders a package and prints what it gets.
func (r *root) renderCmd(cmd *cobra.Command, do func(context.Context, host.RenderOptions) ([]host.Resource, error),
	none string, show func(host.Resource) string) *cobra.Command {
	var flags renderFlags
	cmd.Args = onePackage
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := r.checkGlobals(); err != nil {
			return err
		}
		layers, err := deployLayers(flags.values, flags.setVariables)
		if err != nil {
			return err
		}
		resources, err := do(cmd.Context(), host.RenderOptions{
			Source: args[0], Open: r.open(flags.sourceFlags), Components: flags.components, Layers: layers,
			KubeVersion: flags.kubeVersion, SkipValuesSchema: flags.skipSchema,
		})
		if err != nil {
			return err
		}
		if len(resources) == 0 {
			return errors.New(none)
		}
		for _, resource := range resources {
			if _, err := fmt.Fprint(r.streams.Out, show(resource)); err != nil {
				return err
			}
		}
		return nil
	}
	flags.add(cmd)
	return cmd
}

func (r *root) inspectManifestsCmd() *cobra.Command {
	return r.renderCmd(&cobra.Command{
		Use:   "manifests PACKAGE",
		Short: "Render the charts and manifests of a package, without a cluster",
	}, host.RenderManifests, "the selected components have neither charts nor manifests", func(m host.Resource) string {
		text := fmt.Sprintf("#type: %s\n", m.Type)
		if m.Type == host.ResourceManifest {
			text += fmt.Sprintf("#source: %s/%s\n", m.Component, m.Name)
		}
		return text + m.Text + "---\n"
	})
}

func (r *root) inspectValuesCmd() *cobra.Command {
	return r.renderCmd(&cobra.Command{
		Use:   "values-files PACKAGE",
		Short: "Show the values that each chart of a package gets",
		Long:  "Show the values that each chart of a package gets, without the defaults that the chart has itself.",
	}, host.RenderValues, "the selected components have no charts", func(v host.Resource) string {
		return fmt.Sprintf("# associated chart: %s\n%s---\n", v.Name, v.Text)
	})
}

// extractCmd makes a command that extracts something of a package and prints the paths.
func (r *root) extractCmd(cmd *cobra.Command, do func(context.Context, host.ExtractOptions) ([]string, error)) (*cobra.Command, *host.ExtractOptions) {
	var flags sourceFlags
	o := &host.ExtractOptions{}
	cmd.Args = onePackage
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := r.checkGlobals(); err != nil {
			return err
		}
		o.Source, o.Open = args[0], r.open(flags)
		files, err := do(cmd.Context(), *o)
		if err != nil {
			return err
		}
		for _, file := range files {
			if _, err := fmt.Fprintln(r.streams.Out, file); err != nil {
				return err
			}
		}
		return nil
	}
	flags.add(cmd)
	return cmd, o
}

func (r *root) inspectDocumentationCmd() *cobra.Command {
	cmd, o := r.extractCmd(&cobra.Command{
		Use:   "documentation PACKAGE",
		Short: "Write the documentation of a package into a folder NAME-documentation",
	}, host.ExtractDocumentation)
	cmd.Flags().StringSliceVar(&o.Keys, "keys", nil, "`keys` of the documents to take; all if left out")
	cmd.Flags().StringVar(&o.Output, "output", "", "`folder` in which that folder is made; the current one if left out")
	return cmd
}

func (r *root) inspectSBOMCmd() *cobra.Command {
	cmd, o := r.extractCmd(&cobra.Command{
		Use:   "sbom PACKAGE",
		Short: "Write the software bills of materials of a package into a folder of its name",
	}, host.ExtractSBOMs)
	cmd.Flags().StringVar(&o.Output, "output", "", "`folder` in which that folder is made; the current one if left out")
	return cmd
}

// deployLayers are what config file, environment and flags supply of variables and values to a
// deployment, the weakest first.
func deployLayers(values valuesFlags, variables map[string]string) ([]config.Layer, error) {
	file, err := readConfigFile(os.LookupEnv)
	if err != nil {
		return nil, err
	}
	layers, err := values.layers("package.deploy", file, os.LookupEnv)
	if err != nil {
		return nil, err
	}
	for i := range layers {
		switch c := &layers[i].Config; layers[i].Origin {
		case config.OriginFile:
			c.SetVariables = file.variables()
		case config.OriginFlag:
			c.SetVariables = variables
		}
	}
	return layers, nil
}
