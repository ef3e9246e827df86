//go:build linux

// Command kubelet is the node agent of Kubernetes as it is, of the version that devcluster runs. With
// it and containerd, pods of a devcluster really run: the tests of package airgap that need images to
// be pulled start it where the machine can.
//
// It is a module of its own, so that devcluster is not built anew for what only it depends on.
package main

import (
	"context"
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	"k8s.io/kubernetes/cmd/kubelet/app"
)

func main() { os.Exit(cli.Run(app.NewKubeletCommand(context.Background()))) }
