package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/plugin"
	"github.com/zarf-host/zarf-host/host/signature"
	"github.com/zarf-host/zarf-host/host/wasm"
)

// pushed is what became of a push.
type pushed struct {
	// Reference is the one to name the plugin by: it has the digest.
	Reference string `json:"reference"`
	Name      string `json:"name"`
	Version   string `json:"version"`
	// Manifest is the digest in the registry, Module that of the module.
	Manifest string `json:"manifest"`
	Module   string `json:"module"`
	Signed   bool   `json:"signed"`
}

func (r *root) pluginPushCmd() *cobra.Command {
	var key signingKeyFlags
	cmd := &cobra.Command{
		Use:   "push FILE oci://HOST/PATH:TAG",
		Short: "Push a plugin to a registry, and sign it if there is a key",
		Long: "Push a plugin to a registry, in the layout of the CNCF's WASM artifacts, and print the reference by\n" +
			"which it can be named and pinned. The same module has the same digest wherever and whenever it is\n" +
			"pushed. With --signing-key it is signed as cosign does it, so that\n" +
			"`cosign verify --key cosign.pub --insecure-ignore-tlog REFERENCE` and --plugin-key verify it.",
		Example: "  zarf-host plugin push guard.wasm oci://registry.example.com/plugins/guard:0.1.0 --signing-key cosign.key",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			ref, err := plugin.ParseRegistryReference(args[1])
			if err != nil {
				return err
			}
			module, err := wasm.ReadModule(args[0], wasm.Limits{})
			if err != nil {
				return err
			}
			options := host.PushPluginOptions{}
			if options.PluginSource, err = (pluginSourceFlags{}).source(r); err != nil {
				return err
			}
			if options.Key, err = key.read(cmd.Context(), r); err != nil {
				return err
			}
			done, err := host.PushPlugin(cmd.Context(), module, ref, options)
			if err != nil {
				return err
			}
			out := pushed{
				Reference: done.Source, Name: done.Metadata.Name, Version: done.Metadata.Version,
				Manifest: done.Reference.Digest, Module: done.Digest, Signed: options.Key != nil,
			}
			if r.format != "table" {
				return r.writeDocument(out)
			}
			return r.show([]byte(out.Reference + "\n"))
		},
	}
	key.add(cmd.Flags())
	r.outputFlag(cmd, "table", "json", "yaml")
	return cmd
}

// signingKeyFlags name a private key, as Zarf's do.
type signingKeyFlags struct {
	path, password string
}

func (f *signingKeyFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.path, "signing-key", "", "cosign private key `file` to sign with")
	flags.StringVar(&f.password, "signing-key-pass", "", "`password` of the private key; $"+passwordVariable+" if left out, else it is asked for")
}

// passwordVariable is where cosign finds the password of a key.
const passwordVariable = "COSIGN_PASSWORD"

// read reads the key; nil where none is named.
func (f signingKeyFlags) read(ctx context.Context, r *root) (*signature.PrivateKey, error) {
	if f.path == "" {
		return nil, nil
	}
	data, err := readUpTo(f.path, signature.MaxKey+1)
	if err != nil {
		return nil, fmt.Errorf("--signing-key: %w", err)
	}
	password := f.password
	if password == "" && signature.Locked(data) {
		if password, err = askPassword(ctx, r, f.path); err != nil {
			return nil, err
		}
	}
	key, err := signature.ParsePrivateKey(data, []byte(password))
	if err != nil {
		return nil, fmt.Errorf("--signing-key %s: %w", f.path, err)
	}
	return &key, nil
}

func askPassword(ctx context.Context, r *root, path string) (string, error) {
	if password, ok := os.LookupEnv(passwordVariable); ok {
		return password, nil // cosign takes an empty one too
	}
	if !isTerminal(r.streams.In) {
		return "", nil // cosign's keys may have an empty one
	}
	return r.prompts().line(ctx, fmt.Sprintf("Password of the private key %s:", path), "", true)
}
