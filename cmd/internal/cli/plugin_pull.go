package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/plugin"
)

func (r *root) pluginPullCmd() *cobra.Command {
	var (
		trusted pluginSourceFlags
		from    packageFlags
		output  string
	)
	cmd := &cobra.Command{
		Use:   "pull oci://HOST/PATH:TAG|package:NAME",
		Short: "Write a plugin that is in a registry, or in a package, to a file",
		Long: "Write a plugin that is in a registry, or in a package, to a file, without running anything of it.\n" +
			"Modules are found in the layouts of the CNCF, of wasm-to-oci and Kubewarden, and of solo.io and Trivy.",
		Example: "  zarf-host plugin pull oci://registry.example.com/plugins/guard:0.1.0 -o guard.wasm",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ref, err := plugin.ParseReference(args[0])
			if err != nil {
				return err
			}
			if ref.Kind == plugin.File {
				return fmt.Errorf("%q is a file already: name a plugin in a registry or in a package", ref.Path)
			}
			source, err := trusted.source(r)
			if err != nil {
				return err
			}
			pkg, done, err := from.open(cmd.Context(), r, ref)
			if err != nil {
				return err
			}
			defer done()
			found, err := host.FetchPlugin(cmd.Context(), ref, pkg, source)
			if err != nil {
				return refusedOr(err)
			}
			if output == "" {
				output = found.Metadata.Name + ".wasm"
			}
			if err := replaceFile(output, found.Bytes); err != nil {
				return err
			}
			return r.show(fmt.Appendf(nil, "%s: plugin %s %s, digest %s, from %s\n", output, found.Metadata.Name, found.Metadata.Version, found.Digest, found.Source))
		},
	}
	trusted.addKeys(cmd.Flags())
	from.add(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "", "`file` to write; NAME.wasm if left out")
	return cmd
}

// refusedOr gives its exit code to a plugin that nobody who is trusted has signed.
func refusedOr(err error) error {
	if errors.As(err, new(*host.PluginSignatureError)) {
		return &codeError{code: exitDenied, err: err}
	}
	return err
}

// packageFlags name the package whose plugins are meant by package:NAME.
type packageFlags struct {
	sourceFlags
	path string
}

func (f *packageFlags) add(cmd *cobra.Command) {
	f.sourceFlags.add(cmd)
	cmd.Flags().StringVar(&f.path, "package", "", "the `package` that carries the plugins named package:NAME")
}

// open opens the package, if one of the references wants it. The caller calls the function when done.
func (f packageFlags) open(ctx context.Context, r *root, refs ...plugin.Reference) (*host.Package, func(), error) {
	wanted := false
	for _, ref := range refs {
		wanted = wanted || ref.Kind == plugin.Package
	}
	switch {
	case !wanted && f.path == "":
		return nil, func() {}, nil
	case !wanted:
		return nil, nil, errors.New("--package names a package, but no plugin is named package:NAME")
	case f.path == "":
		return nil, nil, errors.New("which package carries the plugin? name it with --package PACKAGE")
	}
	pkg, err := host.Open(ctx, f.path, r.open(f.sourceFlags))
	if err != nil {
		return nil, nil, err
	}
	if integrity := pkg.Integrity(); !integrity.OK {
		_ = pkg.Close() // only read from
		return nil, nil, fmt.Errorf("the package cannot be verified: %s", integrity.Reason)
	}
	return pkg, func() { _ = pkg.Close() }, nil // only read from
}
