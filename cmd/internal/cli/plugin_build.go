package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/zarf-host/zarf-host/host/wasm"
	"github.com/zarf-host/zarf-host/plugins/toolchain"
)

func (r *root) pluginBuildCmd() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "build DIR",
		Short: "Compile a plugin's folder and write its metadata into the module",
		Long: "Compile a plugin's folder and write the metadata of its plugin.yaml into the module. The language is\n" +
			"that of the files: *.go, *.c, Cargo.toml or asconfig.json. Its compiler must be on this machine.",
		Example: "  zarf-host plugin build prod",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := args[0]
			manifest := filepath.Join(dir, "plugin.yaml")
			text, err := os.ReadFile(manifest)
			if err != nil {
				return fmt.Errorf("reading the metadata: %w", err)
			}
			metadata, err := wasm.ParseManifest(text)
			if err != nil {
				return fmt.Errorf("reading the metadata in %q: %w", manifest, err)
			}
			module, err := toolchain.Build(cmd.Context(), dir, toolchain.Options{})
			if err != nil {
				return err
			}
			annotated, err := wasm.Annotate(module, metadata)
			if err != nil {
				return fmt.Errorf("annotating %q: %w", dir, err)
			}
			// What the host would refuse is told now, and not at the first deployment.
			info, err := wasm.Inspect(annotated, wasm.Limits{})
			if err != nil {
				return err
			}
			if info.Refused != "" {
				return fmt.Errorf("%q builds, but no host would load it: %s", dir, info.Refused)
			}
			if output == "" {
				output = filepath.Join(dir, metadata.Name+".wasm")
			}
			if err := replaceFile(output, annotated); err != nil {
				return err
			}
			return r.show(fmt.Appendf(nil, "%s: %s %s, %d bytes, %s\n", output, metadata.Name, metadata.Version, info.Size, info.Digest))
		},
	}
	cmd.Flags().StringVar(&output, "output", "", "`file` to write; left out, NAME.wasm in the folder")
	return cmd
}
