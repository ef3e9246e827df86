//go:build linux

// Command devcluster runs a real Kubernetes control plane on one machine, for
// the demo and the tests of zarf-host: etcd, kube-apiserver,
// kube-controller-manager and kube-scheduler as they are, nodes that KWOK
// pretends, and volumes that are Bound.
//
//	devcluster run --data-dir DIR --port N [--nodes K] [--kwok-config FILE]
//	devcluster restart kube-apiserver --data-dir DIR
//	devcluster kubectl --kubeconfig DIR/kubeconfig get pods
//
// The script beside this file, build, builds it; `make devcluster` calls that.
//
// One binary is everything: `run` supervises children that are this program
// again under the name of a component. It is a module of its own because
// Kubernetes needs replace lines that the product must not have.
//
// The straight line: main.go tells the parts apart, run.go brings a control
// plane up and down, layout.go says where its files lie and component.go with
// which arguments each child starts, seed.go makes what the cluster needs in
// it, control.go lets other processes ask for a restart.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	// The death signal that run asks for belongs to a thread.
	runtime.LockOSThread()

	if len(os.Args) > 1 {
		if entry, ok := entryPoints()[os.Args[1]]; ok {
			// Each component reads os.Args as if it were the program.
			os.Args = os.Args[1:]
			os.Exit(entry())
		}
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newRootCmd().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		var hinted interface{ Hint() string }
		if errors.As(err, &hinted) {
			fmt.Fprintln(os.Stderr, "hint:", hinted.Hint())
		}
		os.Exit(1)
	}
}

func newRootCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "devcluster",
		Short:         "A Kubernetes control plane for tests, without containers",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.AddCommand(newRunCmd(), newRestartCmd(), &cobra.Command{
		// Only for the help text: main has taken kubectl out already.
		Use:   "kubectl",
		Short: "Run the kubectl of this Kubernetes version",
		Run:   func(*cobra.Command, []string) {},
	})
	return cmd
}
