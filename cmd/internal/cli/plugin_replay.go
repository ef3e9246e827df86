package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/zarf-host/zarf-host/cmd/internal/render"
	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/wasm"
)

func (r *root) pluginReplayCmd() *cobra.Command {
	var module, sandbox string
	cmd := &cobra.Command{
		Use:   "replay DIR",
		Short: "Ask plugins again what a deployment recorded, without a cluster",
		Long: "Ask plugins again what `deploy --record DIR` or `remove --record DIR` recorded, without a cluster: the\n" +
			"same module, request and answers give the same bytes and take the same fuel. DIR may also be one\n" +
			"call of a recording. Whatever differs is named, and the exit code is 1.",
		Example: "  zarf-host plugin replay recording",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.pluginReplay(cmd.Context(), args[0], module, sandbox)
		},
	}
	cmd.Flags().StringVar(&module, "plugin", "", "`module` to ask instead of those of the recording")
	sandboxFlag(cmd, &sandbox)
	r.outputFlag(cmd, "table", "json")
	return cmd
}

func (r *root) pluginReplay(ctx context.Context, dir, path, sandbox string) error {
	options, err := r.playOptions(sandbox)
	if err != nil {
		return err
	}
	var module *host.PluginModule
	if path != "" {
		read, err := r.readPlugin(ctx, path)
		if err != nil {
			return err
		}
		module = &read
	}
	calls, err := host.ReplayPlugins(ctx, dir, module, options)
	if err != nil {
		return err
	}
	if r.format == "json" {
		err = r.writeDocument(calls)
	} else {
		err = render.Replayed(r.streams.Out, calls)
	}
	if err != nil {
		return err
	}
	different := 0
	for _, c := range calls {
		if len(c.Differences) > 0 {
			different++
		}
	}
	if different > 0 {
		return fmt.Errorf("%d of %d recorded calls did not come out the same", different, len(calls))
	}
	return nil
}

// sandboxFlag adds the flag that says in which process a plugin runs.
func sandboxFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "plugin-sandbox", "child", "child: it runs in a process that can do nothing else; in-process: leave that wall out")
}

// playOptions say how plugins run where there is no cluster.
func (r *root) playOptions(sandbox string) (host.PluginOptions, error) {
	parsed, err := wasm.ParseSandbox(sandbox)
	if err != nil {
		return host.PluginOptions{}, fmt.Errorf("--plugin-sandbox: %w", err)
	}
	return host.PluginOptions{Sandbox: parsed, CacheDir: r.remote.cacheDir()}, nil
}

// readPlugin reads a module, a file or one in a registry, which must say what it is.
func (r *root) readPlugin(ctx context.Context, path string) (host.PluginModule, error) {
	module, err := r.readModule(ctx, path, wasm.Limits{})
	if err != nil {
		return host.PluginModule{}, err
	}
	if _, err := wasm.ReadMetadata(module); err != nil {
		return host.PluginModule{}, fmt.Errorf("reading the plugin %q: %w", path, err)
	}
	return host.PluginModule{Source: path, Bytes: module}, nil
}
