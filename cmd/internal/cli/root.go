// Package cli is the command line of zarf-host: flags into options, results into text and exit
// codes. One file a verb. It decides nothing that the engine could decide.
package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"

	"github.com/lmittmann/tint"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/zarf-host/zarf-host/cmd/internal/render"
	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/event"
)

// Run runs the command line and returns the exit code (SPEC 13).
func Run(ctx context.Context, args []string, streams Streams, version string) int {
	r := &root{streams: streams, version: version}
	cmd := r.command()
	cmd.SetArgs(likeGoTest(args))
	err := cmd.ExecuteContext(ctx)
	if err != nil {
		r.report(err)
	}
	return exitCode(err)
}

// root holds what all commands share.
type root struct {
	streams Streams
	version string

	logLevel, logFormat string
	noColor             bool
	noProgress          bool
	remote              remoteFlags
	kube                *genericclioptions.ConfigFlags
	prompter            *prompter
	format              string // the output format of the command that ran
}

func (r *root) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "zarf-host",
		Short:         "Deploy Zarf packages, guarded by WASM plugins",
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return applyDefaults(cmd, os.LookupEnv)
		},
	}
	cmd.SetFlagErrorFunc(flagError)
	cmd.SetIn(r.streams.In)
	cmd.SetOut(r.streams.Out)
	cmd.SetErr(r.streams.Err)
	r.globalFlags(cmd.PersistentFlags())
	// The flag is made here since cobra's own would take -v, which is --values in the commands below.
	cmd.Flags().Bool("version", false, "show the version of the program and of the Zarf that it is compatible with")
	cmd.Version = r.version
	cmd.SetVersionTemplate(r.versionLine())

	verbs := func() []*cobra.Command {
		return []*cobra.Command{r.deployCmd(), r.removeCmd(), r.listCmd(), r.inspectCmd(), r.mirrorCmd(), r.createCmd(), r.publishCmd(), r.pullCmd(), r.signCmd(), r.verifyCmd()}
	}
	pkg := &cobra.Command{Use: "package", Aliases: []string{"p"}, Short: "The verbs that Zarf has under this name",
		Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	pkg.AddCommand(verbs()...)
	cmd.AddCommand(verbs()...)
	cmd.AddCommand(pkg, r.planCmd(), r.statusCmd(), r.historyCmd(), r.redeployCmd(), r.stateCmd(), r.validateCmd(), r.schemaCmd(), r.pluginCmd(), r.policyCmd(), r.initCmd(), r.inventoryCmd(), r.diffCmd(), r.versionCmd(), r.toolsCmd())
	return cmd
}

func (r *root) globalFlags(flags *pflag.FlagSet) {
	flags.StringVarP(&r.logLevel, "log-level", "l", "info", "`level` of the log: warn, info, debug or trace")
	flags.StringVar(&r.logFormat, "log-format", "console", "`format` of the log: console, json or dev")
	flags.BoolVar(&r.noColor, "no-color", false, "print no colours")
	flags.BoolVar(&r.noProgress, "no-progress", false, "show no progress, only warnings and results")
	r.remote.add(flags)

	r.kube = genericclioptions.NewConfigFlags(true)
	// Zarf's own flags have these names or letters, or they make no sense for a whole operation.
	r.kube.Namespace, r.kube.Timeout, r.kube.CacheDir = nil, nil, nil
	r.kube.Insecure, r.kube.TLSServerName, r.kube.CAFile, r.kube.CertFile, r.kube.KeyFile = nil, nil, nil, nil, nil
	connection := pflag.NewFlagSet("connection", pflag.ContinueOnError)
	r.kube.AddFlags(connection)
	connection.VisitAll(func(f *pflag.Flag) {
		f.Shorthand = ""
		flags.AddFlag(f)
	})
}

// prompts returns what asks a person.
func (r *root) prompts() *prompter {
	if r.prompter == nil {
		r.prompter = &prompter{in: r.streams.In, out: r.streams.Err}
	}
	return r.prompter
}

// cluster says which cluster the flags name.
func (r *root) cluster() cluster.Options {
	return cluster.Options{
		Loader:    r.kube.ToRawKubeConfigLoader(),
		Context:   *r.kube.Context,
		UserAgent: "zarf-host/" + r.version,
		Sink:      r.sink(),
	}
}

// sink returns where progress goes: the log on stderr.
func (r *root) sink() event.Sink { return render.Logger{Log: r.log(), Plain: r.logFormat == "console"} }

func (r *root) log() *slog.Logger {
	level := slog.LevelInfo
	switch r.logLevel {
	case "warn":
		level = slog.LevelWarn
	case "debug", "trace":
		level = slog.LevelDebug
	}
	if r.noProgress {
		level = max(level, slog.LevelWarn)
	}
	options := &slog.HandlerOptions{Level: level}
	switch r.logFormat {
	case "json":
		return slog.New(slog.NewJSONHandler(r.streams.Err, options))
	case "dev":
		return slog.New(slog.NewTextHandler(r.streams.Err, options))
	default:
		_, quiet := os.LookupEnv("NO_COLOR")
		return slog.New(tint.NewTextHandler(r.streams.Err, &tint.Options{
			Level: level, TimeFormat: "15:04:05", NoColor: r.noColor || quiet || !isTerminal(r.streams.Err),
		}))
	}
}

// checkGlobals refuses global flags that mean nothing.
func (r *root) checkGlobals() error {
	if !slices.Contains([]string{"warn", "info", "debug", "trace"}, r.logLevel) {
		return fmt.Errorf("log level %q is not one of warn, info, debug, trace", r.logLevel)
	}
	if !slices.Contains([]string{"console", "json", "dev"}, r.logFormat) {
		return fmt.Errorf("log format %q is not one of console, json, dev", r.logFormat)
	}
	return nil
}

// outputFlag adds --output-format, with -o, which has no other meaning there in Zarf.
func (r *root) outputFlag(cmd *cobra.Command, formats ...string) { r.formatFlag(cmd, "o", formats) }

// outputFormatFlag adds --output-format to a command on which -o is the output folder.
func (r *root) outputFormatFlag(cmd *cobra.Command, formats ...string) {
	r.formatFlag(cmd, "", formats)
}

func (r *root) formatFlag(cmd *cobra.Command, short string, formats []string) {
	usage := "`format` of the output: " + formats[0]
	for _, f := range formats[1:] {
		usage += ", " + f
	}
	cmd.Flags().StringVarP(&r.format, "output-format", short, formats[0], usage)
	check := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !slices.Contains(formats, r.format) {
			return fmt.Errorf("output format %q is not one of this command's: %v", r.format, formats)
		}
		if err := r.checkGlobals(); err != nil {
			return err
		}
		return check(cmd, args)
	}
}
