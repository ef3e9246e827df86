package cli

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zarf-host/zarf-host/host"
)

// sourceFlags are the flags of every command that opens a package.
type sourceFlags struct {
	shasum      string
	concurrency int
	verify      verifyFlags
}

func (s *sourceFlags) add(cmd *cobra.Command) {
	s.addFetch(cmd.Flags())
	s.verify.add(cmd.Flags())
}

// addFetch adds what says how packages are fetched.
func (s *sourceFlags) addFetch(f *pflag.FlagSet) {
	f.StringVar(&s.shasum, "shasum", "", "`sha256` that the archive must have; https:// sources need it, and it pins oci:// ones")
	f.IntVar(&s.concurrency, "oci-concurrency", 6, "how many files are fetched from a registry at once")
}

// remoteFlags are the global flags about registries and web servers.
type remoteFlags struct {
	architecture  string
	plainHTTP     bool
	skipTLSVerify bool
	tmpdir        string
	cache         string
}

func (f *remoteFlags) add(flags *pflag.FlagSet) {
	flags.StringVarP(&f.architecture, "architecture", "a", "", "`architecture` of packages in registries; this machine's if left out")
	flags.BoolVar(&f.plainHTTP, "plain-http", false, "allow plain HTTP with servers that speak no HTTPS")
	flags.BoolVar(&f.skipTLSVerify, "insecure-skip-tls-verify", false, "accept any certificate of registries and web servers")
	flags.StringVar(&f.tmpdir, "tmpdir", "", "`folder` for temporary files; the system's if left out")
	flags.StringVar(&f.cache, "cache", "", "`folder` for what is kept between runs, such as compiled plugins; the user's own if left out")
}

// cacheDir is where compiled plugins are kept; empty means the user's own folder.
func (f *remoteFlags) cacheDir() string {
	if f.cache == "" {
		return ""
	}
	return filepath.Join(f.cache, "wasm")
}

// packageCache is where create keeps what it fetched and compressed; empty keeps nothing.
func (f *remoteFlags) packageCache(none bool) string {
	switch {
	case none:
		return ""
	case f.cache != "":
		return filepath.Join(f.cache, "create")
	}
	own, err := os.UserCacheDir()
	if err != nil {
		return "" // a user without a folder for it has no cache
	}
	return filepath.Join(own, "zarf-host", "create")
}

// retriesFlag adds the flag that says how often pushing is tried again.
func retriesFlag(flags *pflag.FlagSet, retries *int) {
	flags.IntVar(retries, "retries", 3, "how `often` pushing is tried again without progress in between")
}

// pushRetries says it in the engine's words, for which nothing is the default.
func pushRetries(flag int) int {
	if flag == 0 {
		return -1
	}
	return flag
}

// remoteCommon are the engine's options of what works with packages, registries and perhaps a cluster.
func (r *root) remoteCommon(s sourceFlags) host.Common {
	return host.Common{
		Cluster: r.cluster(), Open: r.open(s), Sink: r.sink(), Version: r.version, User: userName(),
		PlainHTTP: r.remote.plainHTTP, InsecureSkipTLSVerify: r.remote.skipTLSVerify, Concurrency: s.concurrency,
		TempDir: r.remote.tmpdir,
	}
}

// open says how the flags want a package opened.
func (r *root) open(s sourceFlags) host.OpenOptions {
	return host.OpenOptions{
		SHA256: s.shasum, Concurrency: s.concurrency, Architecture: r.remote.architecture,
		PlainHTTP: r.remote.plainHTTP, InsecureSkipTLSVerify: r.remote.skipTLSVerify, Sink: r.sink(),
		Verification: s.verify.verification(),
	}
}
