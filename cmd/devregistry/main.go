//go:build linux

// Command devregistry runs a real container registry on one machine, for the demo and the tests of
// zarf-host: CNCF distribution, the one that Zarf's own registry is, with deletes on.
//
//	devregistry run --data-dir DIR [--port N] [--htpasswd USER:PASSWORD] [--tls] [--client-ca] [--no-delete] [--no-untag]
//
// The script beside this file, build, builds it. It is a module of its own because the product must
// not have what distribution depends on.
//
// The straight line: main.go reads the flags, serve.go brings the registry up and down, pki.go makes
// the certificates.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

const usage = "usage: devregistry run --data-dir DIR [flags]"

func main() {
	// The death signal that serve may ask for belongs to a thread.
	runtime.LockOSThread()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string, out, help io.Writer) error {
	if len(args) == 0 || args[0] != "run" {
		return errors.New(usage)
	}
	var opts options
	flags := flag.NewFlagSet("devregistry run", flag.ContinueOnError)
	flags.SetOutput(help)
	flags.StringVar(&opts.dataDir, "data-dir", "", "folder for blobs, log and certificates, created if missing; the same folder goes on with the same data")
	flags.IntVar(&opts.port, "port", 5000, "port on loopback; 0 takes a free one")
	flags.StringVar(&opts.login, "htpasswd", "", "USER:PASSWORD that every request must bring")
	flags.BoolVar(&opts.tls, "tls", false, "serve HTTPS, with a certificate of DIR/ca.crt")
	flags.BoolVar(&opts.clientCA, "client-ca", false, "demand a client certificate such as DIR/client.crt; implies --tls")
	flags.BoolVar(&opts.noDelete, "no-delete", false, "refuse to delete anything")
	flags.BoolVar(&opts.noUntag, "no-untag", false, "refuse to delete by tag, as registries do that know images by digest alone")
	flags.BoolVar(&opts.dieWithParent, "die-with-parent", false, "stop when the process that started this one ends")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if opts.dataDir == "" || flags.NArg() > 0 {
		return errors.New(usage)
	}
	return serve(ctx, opts, out)
}
