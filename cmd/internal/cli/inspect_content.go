package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/zarf-host/zarf-host/cmd/internal/render"
	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/config"
	"github.com/zarf-host/zarf-host/host/object"
)

// renderFlags are the flags of what renders a package without a cluster.
type renderFlags struct {
	sourceFlags
	components   string
	kubeVersion  string
	setVariables map[string]string
	values       valuesFlags
	skipSchema   bool
	namespace    string
}

func (f *renderFlags) add(cmd *cobra.Command) {
	f.sourceFlags.add(cmd)
	deployedIn(cmd, &f.namespace)
	flags := cmd.Flags()
	flags.StringVar(&f.components, "components", "", "`names` of components, with globs; a leading '-' excludes; all if left out")
	flags.StringVar(&f.kubeVersion, "kube-version", "", "`version` of Kubernetes that charts see")
	flags.StringToStringVar(&f.setVariables, "set-variables", nil, "variables of the package, `KEY=value`")
	_ = flags.SetAnnotation("set-variables", layered, []string{"true"}) // it exists, so this cannot fail
	f.values.add(flags)
	flags.BoolVar(&f.skipSchema, "skip-values-schema-validation", false, "do not check the values against the package's schema")
}

// renderCmd makes a command that renders a package and prints what it gets, or what byName finds out
// about a deployed one.
func (r *root) renderCmd(cmd *cobra.Command, do func(context.Context, host.RenderOptions) ([]host.Resource, error),
	none string, show func(host.Resource) string, byName func(context.Context, host.InspectOptions) error) *cobra.Command {
	var flags renderFlags
	cmd.Args = onePackage
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := r.checkGlobals(); err != nil {
			return err
		}
		if host.IsName(args[0]) {
			return byName(cmd.Context(), r.deployed(args[0], flags.namespace))
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
			if err := r.show([]byte(show(resource))); err != nil {
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
		Use:   "manifests PACKAGE|NAME",
		Short: "Render the charts and manifests of a package, without a cluster, or list the objects of a deployed one",
	}, host.RenderManifests, "the selected components have neither charts nor manifests", func(m host.Resource) string {
		text := fmt.Sprintf("#type: %s\n", m.Type)
		if m.Type == host.ResourceManifest {
			text += fmt.Sprintf("#source: %s/%s\n", m.Component, m.Name)
		}
		return text + m.Text + "---\n"
	}, r.showObjects)
}

func (r *root) inspectValuesCmd() *cobra.Command {
	return r.renderCmd(&cobra.Command{
		Use:   "values-files PACKAGE",
		Short: "Show the values that each chart of a package gets",
		Long:  "Show the values that each chart of a package gets, without the defaults that the chart has itself.",
	}, host.RenderValues, "the selected components have no charts", func(v host.Resource) string {
		return fmt.Sprintf("# associated chart: %s\n%s---\n", v.Name, v.Text)
	}, r.missing("values files, and what was supplied to it is never shown"))
}

// deployed says which deployed package to look into.
func (r *root) deployed(name, namespace string) host.InspectOptions {
	return host.InspectOptions{Cluster: r.cluster(), Target: name, Namespace: namespace}
}

// missing makes what says that something is not known of a deployed package.
func (r *root) missing(what string) func(context.Context, host.InspectOptions) error {
	return func(ctx context.Context, o host.InspectOptions) error { return host.InspectMissing(ctx, o, what) }
}

// showObjects prints the objects of a deployed package as documents that only name them.
func (r *root) showObjects(ctx context.Context, o host.InspectOptions) error {
	releases, err := host.InspectObjects(ctx, o)
	if err != nil {
		return err
	}
	if len(releases) == 0 {
		return fmt.Errorf("package %q has installed neither charts nor manifests", o.Target)
	}
	for _, release := range releases {
		text := fmt.Sprintf("#source: component %s, release %s, ", release.Component, release.Release)
		if release.Exists {
			text += fmt.Sprintf("revision %d, %s; what is in its objects is not shown\n", release.Revision, release.Status)
		} else {
			text += "which is not there\n"
		}
		for _, ref := range release.Objects {
			doc, err := yaml.Marshal(map[string]any{"apiVersion": ref.APIVersion, "kind": ref.Kind, "metadata": named(ref)})
			if err != nil {
				return fmt.Errorf("writing the output: %w", err)
			}
			text += string(doc) + "---\n"
		}
		if err := r.show([]byte(text)); err != nil {
			return err
		}
	}
	return nil
}

func named(ref object.Ref) map[string]string {
	out := map[string]string{"name": ref.Name}
	if ref.Namespace != "" {
		out["namespace"] = ref.Namespace
	}
	return out
}

// extractCmd makes a command that extracts something of a package and prints the paths.
func (r *root) extractCmd(cmd *cobra.Command, what string, do func(context.Context, host.ExtractOptions) ([]string, error)) (*cobra.Command, *host.ExtractOptions) {
	var flags sourceFlags
	var namespace string
	o := &host.ExtractOptions{}
	cmd.Args = onePackage
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := r.checkGlobals(); err != nil {
			return err
		}
		if host.IsName(args[0]) {
			return r.missing(what)(cmd.Context(), r.deployed(args[0], namespace))
		}
		o.Source, o.Open = args[0], r.open(flags)
		files, err := do(cmd.Context(), *o)
		if err != nil {
			return err
		}
		for _, file := range files {
			if _, err := fmt.Fprintln(r.streams.Out, render.Line(file)); err != nil {
				return err
			}
		}
		return nil
	}
	flags.add(cmd)
	deployedIn(cmd, &namespace)
	return cmd, o
}

func (r *root) inspectDocumentationCmd() *cobra.Command {
	cmd, o := r.extractCmd(&cobra.Command{
		Use:   "documentation PACKAGE",
		Short: "Write the documentation of a package into a folder NAME-documentation",
	}, "documentation", host.ExtractDocumentation)
	cmd.Flags().StringSliceVar(&o.Keys, "keys", nil, "`keys` of the documents to take; all if left out")
	cmd.Flags().StringVar(&o.Output, "output", "", "`folder` in which that folder is made; the current one if left out")
	return cmd
}

func (r *root) inspectSBOMCmd() *cobra.Command {
	cmd, o := r.extractCmd(&cobra.Command{
		Use:   "sbom PACKAGE",
		Short: "Write the software bills of materials of a package into a folder of its name",
	}, "SBOMs", host.ExtractSBOMs)
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
