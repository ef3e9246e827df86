package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zarf-host/zarf-host/host"
)

// sourceFlags are the flags of every command that opens a package.
type sourceFlags struct {
	shasum      string
	concurrency int
}

func (s *sourceFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.shasum, "shasum", "", "`sha256` that the archive must have; https:// sources need it, and it pins oci:// ones")
	f.IntVar(&s.concurrency, "oci-concurrency", 6, "how many files are fetched from a registry at once")
}

// remoteFlags are the global flags about registries and web servers.
type remoteFlags struct {
	architecture  string
	plainHTTP     bool
	skipTLSVerify bool
}

func (f *remoteFlags) add(flags *pflag.FlagSet) {
	flags.StringVarP(&f.architecture, "architecture", "a", "", "`architecture` of packages in registries; this machine's if left out")
	flags.BoolVar(&f.plainHTTP, "plain-http", false, "allow plain HTTP with servers that speak no HTTPS")
	flags.BoolVar(&f.skipTLSVerify, "insecure-skip-tls-verify", false, "accept any certificate of registries and web servers")
}

// open says how the flags want a package opened.
func (r *root) open(s sourceFlags) host.OpenOptions {
	return host.OpenOptions{
		SHA256: s.shasum, Concurrency: s.concurrency, Architecture: r.remote.architecture,
		PlainHTTP: r.remote.plainHTTP, InsecureSkipTLSVerify: r.remote.skipTLSVerify, Sink: r.sink(),
	}
}
