package cli

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/config"
	"github.com/zarf-host/zarf-host/host/plan"
)

// deployFlags are the flags of deploy and plan.
type deployFlags struct {
	operationFlags
	setVariables  map[string]string
	set           map[string]string // Zarf's deprecated name
	values        valuesFlags
	reuseConfig   bool
	skipSchema    bool
	forceDiff     bool
	namespace     string
	connected     bool
	prune         string
	allowDataLoss bool
	takeOwnership bool
	accept        []string
	releaseName   string
	skipUnchanged bool
	skipSame      bool
	timeout       time.Duration
}

func (d *deployFlags) add(cmd *cobra.Command) {
	d.operationFlags.add(cmd)
	f := cmd.Flags()
	f.StringToStringVar(&d.setVariables, "set-variables", nil, "variables of the package, `KEY=value`")
	f.StringToStringVar(&d.set, "set", nil, "variables of the package, `KEY=value`")
	_ = f.MarkDeprecated("set", "use --set-variables") // it exists, so this cannot fail
	for _, name := range []string{"set-variables", "set"} {
		_ = f.SetAnnotation(name, layered, []string{"true"})
	}
	d.values.add(f)
	retriesFlag(f, &d.retries)
	f.BoolVar(&d.reuseConfig, "reuse-config", false, "put the configuration of the last successful deployment under what is supplied now")
	f.BoolVar(&d.forceDiff, "force-differential", false, "go on where the registry lacks what a differential package leaves out")
	f.BoolVar(&d.skipSchema, "skip-values-schema-validation", false, "do not check the values against the package's schema")
	f.StringVarP(&d.namespace, "namespace", "n", "", "deploy into this `namespace` instead of the package's own")
	f.BoolVar(&d.connected, "connected", false, "let the cluster pull images and repositories itself")
	f.StringVar(&d.prune, "prune", "", "delete what the package no longer has, in these `scopes`: cluster-resources, images or all")
	f.Lookup("prune").NoOptDefVal = string(plan.ScopeAll)
	noHooksFlag(f, &d.noHooks)
	f.BoolVar(&d.allowDataLoss, "allow-data-loss", false, "let a prune delete namespaces, volumes, claims, and CRDs that have resources")
	f.BoolVar(&d.takeOwnership, "take-ownership", false, "take over objects that exist already, whoever owns them")
	f.BoolVar(&d.takeOwnership, "adopt-existing-resources", false, "take over objects that exist already, whoever owns them")
	_ = f.MarkDeprecated("adopt-existing-resources", "use --take-ownership")
	f.StringSliceVar(&d.accept, "accept-collision", nil, "go on in spite of collisions of this `kind`: package-name, downgrade, flavor-change, release-name or object; repeatable")
	f.StringVar(&d.releaseName, "release-name", "", "deploy the package under this `name`, as a package of its own")
	f.BoolVar(&d.skipUnchanged, "skip-unchanged", false, "leave out releases that are unchanged")
	f.BoolVar(&d.skipSame, "skip-same", false, "do nothing when package, configuration and selection are those deployed last")
	f.DurationVar(&d.timeout, "timeout", 15*time.Minute, "limit of the wait for each release")
}

// deployScopes and removeScopes are the scopes of a command's prune.
var (
	deployScopes = []plan.Scope{plan.ScopeClusterResources, plan.ScopeImages}
	removeScopes = []plan.Scope{plan.ScopeImages}
)

func (r *root) deployCmd() *cobra.Command {
	var flags deployFlags
	cmd := &cobra.Command{
		Use:     "deploy PACKAGE",
		Aliases: []string{"d"},
		Short:   "Deploy a package, after showing what would change",
		Example: "  zarf-host deploy zarf-package-shop-amd64-1.0.0.tar.zst --plugin guard.wasm\n" +
			"  zarf-host deploy shop.tar.zst --prune=cluster-resources --confirm",
		Args: onePackage,
		RunE: func(cmd *cobra.Command, args []string) error {
			options, done, err := r.deployOptions(cmd, args[0], flags)
			if err != nil {
				return err
			}
			defer done()
			result, err := host.Deploy(cmd.Context(), options)
			if shown := r.summarise(result, flags.dryRun); err == nil {
				err = shown
			}
			return err
		},
	}
	flags.add(cmd)
	r.outputFlag(cmd, "table", "json", "yaml")
	return cmd
}

func (r *root) planCmd() *cobra.Command {
	var flags deployFlags
	cmd := &cobra.Command{
		Use:   "plan PACKAGE",
		Short: "Show what deploy would do",
		Long: "Show what deploy would do. Exit code 0: nothing to do; 2: there are changes; 3: a plugin or a\n" +
			"built-in verdict denies; 5: preflight fails; 1: any other error.",
		Args: onePackage,
		RunE: func(cmd *cobra.Command, args []string) error {
			flags.dryRun = true
			options, done, err := r.deployOptions(cmd, args[0], flags)
			if err != nil {
				return err
			}
			defer done()
			result, err := host.Plan(cmd.Context(), options)
			if shown := r.summarise(result, true); err == nil {
				err = shown
			}
			if err == nil && !result.Same && result.Plan.Changes() {
				return &codeError{code: exitChanges}
			}
			return err
		},
	}
	flags.add(cmd)
	r.outputFlag(cmd, "table", "json", "yaml")
	return cmd
}

func (r *root) deployOptions(cmd *cobra.Command, source string, flags deployFlags) (host.DeployOptions, func(), error) {
	scopes, err := pruneScopes(cmd, flags.prune, deployScopes)
	if err != nil {
		return host.DeployOptions{}, nil, err
	}
	accept, err := plan.ParseCollisionKinds(flags.accept)
	if err != nil {
		return host.DeployOptions{}, nil, fmt.Errorf("--accept-collision: %w", err)
	}
	layers, err := flags.layers()
	if err != nil {
		return host.DeployOptions{}, nil, err
	}
	common, done, err := r.common(cmd.Context(), flags.operationFlags, flags.timeout)
	if err != nil {
		return host.DeployOptions{}, nil, err
	}
	interactive := !flags.confirm && isTerminal(r.streams.In)
	options := host.DeployOptions{
		Common: common, Source: source, Layers: layers, Components: flags.components, Interactive: interactive,
		Connected: flags.connected, Prune: scopes, AllowDataLoss: flags.allowDataLoss,
		TakeOwnership: flags.takeOwnership, SkipUnchanged: flags.skipUnchanged, SkipSame: flags.skipSame,
		Accept: accept, ReleaseName: flags.releaseName, SkipValuesSchema: flags.skipSchema, ReuseConfig: flags.reuseConfig,
		ForceDifferential: flags.forceDiff,
	}
	if interactive {
		options.Choose, options.Prompt = r.chooseComponents, r.promptVariable
	}
	return options, done, nil
}

// pruneScopes reads --prune, whose scopes are those of the command.
func pruneScopes(cmd *cobra.Command, value string, known []plan.Scope) (plan.Scopes, error) {
	if !cmd.Flags().Changed("prune") {
		return nil, nil
	}
	return plan.ParseScopes(value, known...)
}

// layers are what config file, environment and flags supply, the weakest first.
func (d *deployFlags) layers() ([]config.Layer, error) {
	given := map[string]string{}
	for _, m := range []map[string]string{d.set, d.setVariables} {
		for name, value := range m {
			given[name] = value
		}
	}
	layers, err := deployLayers(d.values, given)
	for i := range layers {
		if layers[i].Origin == config.OriginFlag {
			layers[i].Config.NamespaceOverride = d.namespace
		}
	}
	return layers, err
}

// onePackage says what is missing in words of the command.
func onePackage(cmd *cobra.Command, args []string) error {
	switch len(args) {
	case 1:
		return nil
	case 0:
		return fmt.Errorf("which package? usage: %s", cmd.UseLine())
	default:
		for _, scope := range []plan.Scope{plan.ScopeAll, plan.ScopeClusterResources, plan.ScopeImages} {
			if slices.Contains(args, string(scope)) {
				return fmt.Errorf("%q is taken for a second package: --prune takes its value with =, as in --prune=%s", scope, scope)
			}
		}
		return fmt.Errorf("one package at a time, not %d: usage: %s", len(args), cmd.UseLine())
	}
}
