//go:build linux

package main

import (
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // time zones of CronJobs on machines that have none

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kwokconfig "sigs.k8s.io/kwok/pkg/config"
	kwok "sigs.k8s.io/kwok/pkg/kwok/cmd"
	kwoklog "sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/signals"
)

// entryPoints are the programs that this binary also is. They are functions,
// so that only the chosen one touches the flag sets that they all share.
func entryPoints() map[string]func() int {
	return map[string]func() int{
		etcdName:              runEtcd,
		apiServerName:         func() int { return cli.Run(apiserver.NewAPIServerCommand()) },
		controllerManagerName: func() int { return cli.Run(controllermanager.NewControllerManagerCommand()) },
		schedulerName:         func() int { return cli.Run(scheduler.NewSchedulerCommand()) },
		kwokName:              runKWOK,
		"kubectl":             runKubectl,
	}
}

// runEtcd runs etcd in the working directory. Sockets are named relative to it
// because the path of a unix socket may have no more than 107 bytes.
func runEtcd() int {
	cfg := embed.NewConfig()
	cfg.Name = "devcluster"
	cfg.Dir = "etcd"
	cfg.LogLevel = "warn"
	cfg.LogOutputs = []string{"stderr"}
	cfg.UnsafeNoFsync = true // data need to survive a kill, not a power cut
	cfg.EnableGRPCGateway = false
	cfg.WarningUnaryRequestDuration = embed.DefaultWarningUnaryRequestDuration // unset, every request is slow
	cfg.ListenClientUrls = []url.URL{{Scheme: "unix", Host: etcdSocket}}
	cfg.ListenPeerUrls = []url.URL{{Scheme: "unix", Host: "etcd-peer.sock"}}
	// Nobody dials these, but etcd insists on host:port.
	cfg.AdvertiseClientUrls = []url.URL{{Scheme: "http", Host: "127.0.0.1:2379"}}
	cfg.AdvertisePeerUrls = []url.URL{{Scheme: "http", Host: "127.0.0.1:2380"}}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)

	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	server, err := embed.StartEtcd(cfg)
	if err != nil {
		fmt.Fprintln(os.Stderr, "starting etcd:", err)
		return 1
	}
	select {
	case <-stop:
		server.Close()
		return 0
	case err := <-server.Err():
		fmt.Fprintln(os.Stderr, "etcd:", err)
		return 1
	}
}

func runKWOK() int {
	// Kubernetes' packages have put a flag "version" of their own kind into
	// the common set by being imported; kwok's would clash with it.
	pflag.CommandLine = pflag.NewFlagSet(os.Args[0], pflag.ExitOnError)

	flags := pflag.NewFlagSet("global", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.Usage = func() {}
	ctx, _ := kwoklog.InitFlags(signals.SetupSignalContext(), flags)
	ctx, err := kwokconfig.InitFlags(ctx, flags)
	if err != nil {
		fmt.Fprintln(os.Stderr, "reading kwok's configuration:", err)
		return 1
	}
	cmd := kwok.NewCommand(ctx)
	cmd.PersistentFlags().AddFlagSet(flags)
	if err := cmd.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "kwok:", err)
		return 1
	}
	return 0
}

func runKubectl() int {
	// The verbosity counts while the command is built, before flags are parsed.
	_, _ = logs.GlogSetter(kubectl.GetLogVerbosity(os.Args))
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err) // prints as kubectl does and exits
	}
	return 0
}
