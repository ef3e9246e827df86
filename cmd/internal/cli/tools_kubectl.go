package cli

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"
	"k8s.io/kubectl/pkg/cmd"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
)

// newKubectlCmd runs kubectl's own commands in this process. They parse their flags themselves,
// since short ones of theirs (-l, -n) mean something else on our root.
func newKubectlCmd(streams Streams) *cobra.Command {
	return &cobra.Command{
		Use:                "kubectl",
		Aliases:            []string{"k"},
		Short:              "kubectl, from its own library",
		DisableFlagParsing: true,
		RunE: func(outer *cobra.Command, args []string) error {
			kubectl := cmd.NewKubectlCommand(cmd.KubectlOptions{
				IOStreams: genericiooptions.IOStreams{In: streams.In, Out: streams.Out, ErrOut: streams.Err},
			})
			verbosity := flag.NewFlagSet("klog", flag.ContinueOnError)
			klog.InitFlags(verbosity)
			kubectl.PersistentFlags().AddGoFlag(verbosity.Lookup("v"))
			kubectl.SetIn(streams.In)
			kubectl.SetOut(streams.Out)
			kubectl.SetErr(streams.Err)
			kubectl.SilenceUsage = true
			kubectl.SilenceErrors = true
			kubectl.SetArgs(withoutGlobals(args, outer.Root().PersistentFlags(), kubectl.PersistentFlags()))
			return runKubectl(outer.Context(), kubectl, streams.Err)
		},
	}
}

// exit is how kubectl's commands end with an error: they do not return it.
type exit struct {
	message string
	code    int
}

// runKubectl executes kubectl and turns its way of exiting into an error. kubectl looks at its
// context only here and there, so when that is done it is left behind; the process is about to end.
func runKubectl(ctx context.Context, kubectl *cobra.Command, stderr io.Writer) error {
	// It stays so: a kubectl that was left behind must not end the process when it notices.
	cmdutil.BehaviorOnFatal(func(message string, code int) { panic(exit{message, code}) })
	ended := make(chan error, 1)
	go func() {
		defer func() {
			switch e := recover().(type) {
			case nil:
			case exit:
				ended <- ending(e, stderr)
			default:
				panic(e)
			}
		}()
		ended <- kubectl.ExecuteContext(ctx)
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ending prints kubectl's message as kubectl does, which scripts may compare.
func ending(e exit, stderr io.Writer) error {
	if e.message != "" {
		if _, err := fmt.Fprintln(stderr, strings.TrimSuffix(e.message, "\n")); err != nil {
			return err
		}
	}
	if e.code == 0 {
		return nil
	}
	return &codeError{code: e.code}
}
