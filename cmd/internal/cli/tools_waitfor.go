package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"

	"github.com/zarf-host/zarf-host/host/wait"
)

// newWaitForCmd is Zarf's "tools wait-for" with its two subcommands, and its older form that tells
// by the first argument which of them is meant.
func newWaitForCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "wait-for { KIND | PROTOCOL } { NAME | SELECTOR | URI } { CONDITION | HTTP_CODE }",
		Aliases: []string{"w", "wait"},
		Short:   "Wait for a Kubernetes resource or a network address",
		Example: `  zarf-host tools wait-for pod app=podinfo ready -n podinfo
  zarf-host tools wait-for sts test-sts '{.status.availableReplicas}'=23
  zarf-host tools wait-for http localhost:8080 200`,
		Args: cobra.RangeArgs(1, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch strings.ToLower(args[0]) {
			case "http", "https", "tcp":
				return waitForNetwork(cmd, args)
			}
			return waitForResource(cmd, args, "exists")
		},
	}
	waitFlags(cmd, true)
	cmd.AddCommand(newWaitForResourceCmd(), newWaitForNetworkCmd())
	return cmd
}

func newWaitForResourceCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "resource KIND [NAME | SELECTOR] [CONDITION]",
		Short: "Wait for a Kubernetes resource, until it is reconciled unless a condition is given",
		Args:  cobra.RangeArgs(1, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return waitForResource(cmd, args, "exists") // any of the kind
			}
			return waitForResource(cmd, args, "")
		},
	}
	waitFlags(cmd, true)
	return cmd
}

func newWaitForNetworkCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "network PROTOCOL ADDRESS [CODE]",
		Short: "Wait for a network address, until it answers with a 2xx status unless a code is given",
		Args:  cobra.RangeArgs(2, 3),
		RunE:  waitForNetwork,
	}
	waitFlags(cmd, false)
	return cmd
}

func waitFlags(cmd *cobra.Command, resource bool) {
	cmd.Flags().String("timeout", "5m", "how long to wait, as a `duration`")
	if resource {
		cmd.Flags().StringP("namespace", "n", "", "`namespace` of the resource, by default that of the context")
	}
}

func waitForResource(cmd *cobra.Command, args []string, condition string) error {
	connection := connectionFlags(cmd)
	config, namespace, err := connect(connection)
	if err != nil {
		return err
	}
	target := wait.Target{Kind: args[0], Namespace: namespace, Condition: condition}
	if len(args) > 1 {
		target.Identifier = args[1]
	}
	if len(args) > 2 {
		target.Condition = args[2]
	}
	return limited(cmd, func(ctx context.Context) error { return wait.Resource(ctx, config, target) })
}

func waitForNetwork(cmd *cobra.Command, args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("waiting for %s: which address is missing", args[0])
	}
	code := 0
	if len(args) > 2 && !strings.EqualFold(args[2], "success") {
		var err error
		if code, err = strconv.Atoi(args[2]); err != nil {
			return fmt.Errorf("waiting for %s://%s: %q is neither a status code nor \"success\"", args[0], args[1], args[2])
		}
	}
	return limited(cmd, func(ctx context.Context) error { return wait.Network(ctx, args[0], args[1], code) })
}

// limited runs a wait within the --timeout of the command.
func limited(cmd *cobra.Command, run func(context.Context) error) error {
	text, err := cmd.Flags().GetString("timeout")
	if err != nil {
		return err
	}
	limit, err := time.ParseDuration(text)
	if err != nil || limit <= 0 {
		return fmt.Errorf("reading --timeout: %q is not a duration such as 30s or 5m", text)
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), limit)
	defer cancel()
	return run(ctx)
}

// connectionFlags are kubectl's, filled from what of them the root command has and from our own
// namespace.
func connectionFlags(cmd *cobra.Command) *genericclioptions.ConfigFlags {
	config := genericclioptions.NewConfigFlags(false)
	flags := pflag.NewFlagSet("connection", pflag.ContinueOnError)
	config.AddFlags(flags)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "timeout" && flags.Lookup(f.Name) != nil {
			_ = flags.Set(f.Name, f.Value.String()) // it came from a flag of the same type
		}
	})
	return config
}

// connect reads the configuration. kubectl falls back to a server on this machine when there is
// none; a wait for that would only use up its time.
func connect(flags *genericclioptions.ConfigFlags) (*rest.Config, string, error) {
	loader := flags.ToRawKubeConfigLoader()
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, "", fmt.Errorf("reading the kubeconfig: %w", err)
	}
	if _, err := rest.InClusterConfig(); len(raw.Clusters) == 0 && errors.Is(err, rest.ErrNotInCluster) && *flags.APIServer == "" {
		return nil, "", errors.New("reading the kubeconfig: it names no cluster; set KUBECONFIG or --kubeconfig")
	}
	config, err := flags.ToRESTConfig()
	if err != nil {
		return nil, "", fmt.Errorf("reading the kubeconfig: %w", err)
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("reading the kubeconfig: %w", err)
	}
	return config, namespace, nil
}
