package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	crane "github.com/google/go-containerregistry/cmd/crane/cmd"
	"github.com/google/go-containerregistry/pkg/authn"
	options "github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/logs"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/event"
)

// registryCmd runs crane's own commands in this process, which Zarf has under this name. They parse
// their flags themselves, since short ones of theirs (-a, -c) mean something else on our root.
func (r *root) registryCmd() *cobra.Command {
	return &cobra.Command{
		Use:                "registry",
		Aliases:            []string{"r", "crane"},
		Short:              "Work with container registries, the cluster's among them: crane, from its own library",
		DisableFlagParsing: true,
		RunE: func(outer *cobra.Command, args []string) error {
			globals := outer.Root().PersistentFlags()
			t := registryTool{root: r, platform: "all"}
			defer t.close()
			cmd := t.command(globals)
			cmd.SetIn(r.streams.In)
			cmd.SetOut(r.streams.Out)
			cmd.SetErr(r.streams.Err)
			cmd.SetArgs(withoutGlobals(args, globals, cmd.PersistentFlags()))
			return cmd.ExecuteContext(outer.Context())
		},
	}
}

// registryTool is one run of a command of crane's.
type registryTool struct {
	root     *root
	verbose  bool
	insecure bool
	foreign  bool
	platform string

	options []options.Option
	access  *host.RegistryAccess // nil where no cluster with a registry is
}

func (t *registryTool) close() {
	if t.access != nil {
		_ = t.access.Close() // everything was answered
	}
}

func (t *registryTool) command(globals *pflag.FlagSet) *cobra.Command {
	cmd := &cobra.Command{
		Use: "registry", Short: "Work with container registries", Args: cobra.NoArgs,
		SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	f := cmd.PersistentFlags()
	globals.VisitAll(func(flag *pflag.Flag) {
		if flag.Name != "architecture" { // its -a is another one of crane's; --platform is what counts here
			f.AddFlag(flag)
		}
	})
	f.BoolVarP(&t.verbose, "verbose", "v", false, "say more")
	f.BoolVar(&t.insecure, "insecure", false, "allow registries that speak no HTTPS, and accept any certificate")
	f.BoolVar(&t.foreign, "allow-nondistributable-artifacts", false, "push layers too that say that they are not to be")
	f.StringVar(&t.platform, "platform", "all", "`platform` of images with several: os/arch[/variant][:osversion], or all")
	for _, inner := range []*cobra.Command{
		crane.NewCmdCopy(&t.options), crane.NewCmdList(&t.options), crane.NewCmdPush(&t.options),
		crane.NewCmdPull(&t.options), crane.NewCmdDelete(&t.options), crane.NewCmdDigest(&t.options),
		crane.NewCmdManifest(&t.options), crane.NewCmdExport(&t.options), t.catalog(),
	} {
		inner.PreRunE = t.prepare
		cmd.AddCommand(inner)
	}
	cmd.AddCommand(loginCmd(), crane.NewCmdAuthLogout("zarf-host tools registry"), crane.NewCmdVersion())
	return cmd
}

// loginCmd is crane's, which would store an empty password.
func loginCmd() *cobra.Command {
	cmd := crane.NewCmdAuthLogin("zarf-host tools registry")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		given := cmd.Flags().Changed
		if !given("username") || !given("password") && !given("password-stdin") {
			return errors.New("whose login? give --username, and --password or --password-stdin")
		}
		return nil
	}
	return cmd
}

// catalog is crane's, and without an argument of the cluster's registry.
func (t *registryTool) catalog() *cobra.Command {
	cmd := crane.NewCmdCatalog(&t.options, "zarf-host tools registry")
	cmd.Args = cobra.MaximumNArgs(1)
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			if t.access == nil {
				return fmt.Errorf("which registry? no cluster with a registry was found: zarf-host tools registry catalog ADDRESS")
			}
			args = []string{hostOf(t.access.Address)}
		}
		return run(cmd, args)
	}
	return cmd
}

// findLimit bounds the look for a cluster, which most uses do not need.
const findLimit = 5 * time.Second

// prepare turns flags into crane's options, and looks for a cluster whose registry may be meant.
func (t *registryTool) prepare(cmd *cobra.Command, _ []string) error {
	if err := t.root.checkGlobals(); err != nil {
		return err
	}
	var platform *v1.Platform
	if t.platform != "all" && t.platform != "" {
		var err error
		if platform, err = v1.ParsePlatform(t.platform); err != nil {
			return fmt.Errorf("platform %q: %w", t.platform, err)
		}
	}
	if t.verbose {
		logs.Debug.SetOutput(t.root.streams.Err)
	}
	insecure := t.insecure || t.root.remote.skipTLSVerify
	transport := remote.DefaultTransport.(*http.Transport).Clone()
	if insecure {
		transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // asked for by flag
	}
	var common http.RoundTripper = transport
	var keychain authn.Keychain = authn.DefaultKeychain

	ctx, cancel := context.WithTimeout(cmd.Context(), findLimit)
	defer cancel()
	shared := t.root.remoteCommon(sourceFlags{})
	var err error
	if t.access, err = host.OpenRegistry(ctx, shared); err != nil {
		t.root.sink().Emit(event.Event{Level: event.Debug, Step: "registry", Message: fmt.Sprintf("no registry of a cluster: %v", err)})
	} else {
		common = toCluster{t.access, common}
		keychain = authn.NewMultiKeychain(clusterKeychain{t.access}, keychain)
	}
	t.options = append(t.options,
		options.WithContext(cmd.Context()), options.WithPlatform(platform), options.WithTransport(common),
		options.WithAuthFromKeychain(keychain), options.WithUserAgent("zarf-host/"+t.root.version))
	if insecure || t.root.remote.plainHTTP {
		t.options = append(t.options, options.Insecure)
	}
	if t.foreign {
		t.options = append(t.options, options.WithNondistributable())
	}
	return nil
}

// hostOf is the host, with its port, of a registry's address that may have a path.
func hostOf(address string) string {
	name, _, _ := strings.Cut(address, "/")
	return name
}

// toCluster sends requests to the cluster's registry through the way that leads there.
type toCluster struct {
	access *host.RegistryAccess
	rest   http.RoundTripper
}

func (t toCluster) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Host == hostOf(t.access.Address) {
		return t.access.Transport.RoundTrip(request)
	}
	return t.rest.RoundTrip(request)
}

// clusterKeychain knows the credentials of the cluster's registry, and hands them to no other.
type clusterKeychain struct{ access *host.RegistryAccess }

// Resolve implements authn.Keychain.
func (k clusterKeychain) Resolve(target authn.Resource) (authn.Authenticator, error) {
	if target.RegistryStr() != hostOf(k.access.Address) {
		return authn.Anonymous, nil
	}
	return authn.FromConfig(authn.AuthConfig{Username: k.access.Username, Password: k.access.Password}), nil
}
