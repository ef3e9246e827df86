package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/zarf-host/zarf-host/cmd/internal/render"
	"github.com/zarf-host/zarf-host/host"
)

func (r *root) pluginDiffCmd() *cobra.Command {
	var sandbox string
	var exitCode bool
	cmd := &cobra.Command{
		Use:   "diff OLD NEW REQUESTS…",
		Short: "Show which verdicts change when one module takes another's place",
		Long: "Ask two modules the same requests, without a cluster, and show what would come out otherwise: the\n" +
			"verdict, what is kept, verdicts on collisions. Each of REQUESTS is the file of a request, a folder of\n" +
			"tests, or a recording of `deploy --record DIR`, whose answers both modules get.",
		Example: "  zarf-host plugin diff guard-0.1.0.wasm guard-0.2.0.wasm recording",
		Args:    cobra.MinimumNArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.pluginDiff(cmd.Context(), args[0], args[1], args[2:], sandbox, exitCode)
		},
	}
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "end with exit code 2 when anything but wording changes")
	sandboxFlag(cmd, &sandbox)
	r.outputFlag(cmd, "table", "json")
	return cmd
}

func (r *root) pluginDiff(ctx context.Context, before, after string, requests []string, sandbox string, exitCode bool) error {
	options, err := r.playOptions(sandbox)
	if err != nil {
		return err
	}
	was, errOld := r.readPlugin(ctx, before)
	is, errNew := r.readPlugin(ctx, after)
	if err := errors.Join(errOld, errNew); err != nil {
		return err
	}
	calls, err := host.DiffPlugins(ctx, was, is, requests, options)
	if err != nil {
		return err
	}
	if r.format == "json" {
		err = r.writeDocument(calls)
	} else {
		err = render.Compared(r.streams.Out, calls)
	}
	if err != nil {
		return err
	}
	for _, c := range calls {
		if exitCode && len(c.Changes) > 0 {
			return &codeError{code: exitChanges}
		}
	}
	return nil
}
