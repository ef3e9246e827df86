// Command zarf-host deploys Zarf packages into Kubernetes, guarded by WASM plugins.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/zarf-host/zarf-host/cmd/internal/cli"
	"github.com/zarf-host/zarf-host/host"
)

// version is set when the program is built.
var version = "dev"

func main() {
	host.PluginChildMain() // where this process is a plugin's, nothing else runs in it
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel() // the operation ends in order, within 10 s
		<-signals
		os.Exit(130)
	}()
	os.Exit(cli.Run(ctx, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, version))
}
