package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/zarf-host/zarf-host/host/wasm"
)

func (r *root) pluginCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plugin",
		Short: "Work with plugins",
		Args:  cobra.NoArgs, // a misspelt command must not read as a question
		RunE: func(*cobra.Command, []string) error {
			return errors.New("plugin what? `zarf-host plugin --help` lists its commands")
		},
	}
	cmd.AddCommand(r.pluginInitCmd(), r.pluginBuildCmd())
	cmd.AddCommand(r.pluginAnnotateCmd(), r.pluginInspectCmd(), r.pluginRunCmd())
	cmd.AddCommand(r.pluginPushCmd(), r.pluginPullCmd(), r.pluginLockCmd())
	cmd.AddCommand(r.pluginTestCmd(), r.pluginReplayCmd(), r.pluginDiffCmd())
	return cmd
}

func (r *root) pluginAnnotateCmd() *cobra.Command {
	var manifest, output string
	cmd := &cobra.Command{
		Use:     "annotate MODULE",
		Short:   "Write a plugin's metadata into its module",
		Example: "  zarf-host plugin annotate guard.wasm -f plugin.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			module, err := os.ReadFile(args[0])
			if err != nil {
				return fmt.Errorf("reading the module: %w", err)
			}
			text, err := os.ReadFile(manifest)
			if err != nil {
				return fmt.Errorf("reading the metadata: %w", err)
			}
			metadata, err := wasm.ParseManifest(text)
			if err != nil {
				return fmt.Errorf("reading the metadata in %q: %w", manifest, err)
			}
			annotated, err := wasm.Annotate(module, metadata)
			if err != nil {
				return fmt.Errorf("annotating %q: %w", args[0], err)
			}
			if output == "" {
				output = args[0]
			}
			return replaceFile(output, annotated)
		},
	}
	cmd.Flags().StringVarP(&manifest, "file", "f", "plugin.yaml", "`file` with the metadata")
	cmd.Flags().StringVar(&output, "output", "", "`file` to write instead of changing the module")
	return cmd
}

// replaceFile writes a file so that nobody ever sees half of it.
func replaceFile(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("writing %q: %w", path, err)
	}
	_, err = tmp.Write(data)
	if closed := tmp.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Chmod(tmp.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name()) // what matters is the error above
		return fmt.Errorf("writing %q: %w", path, err)
	}
	return nil
}
