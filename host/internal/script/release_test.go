package script_test

import (
	"context"
	"os"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/zarf-host/zarf-host/host/chart"
	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/object"
)

// scriptRelease installs manifests as a Helm release that no package has: without labels, as Helm by
// hand does.
func scriptRelease(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 3, "release NAMESPACE NAME FILE")
	text, err := os.ReadFile(ts.MkAbs(args[2]))
	ts.Check(err)
	ctx := context.Background()
	conn, err := cluster.Connect(ctx, cluster.Options{Kubeconfig: needCluster(ts).cluster.Kubeconfig()})
	ts.Check(err)
	waiter, err := conn.Waiter(event.Discard)
	ts.Check(err)
	client, err := chart.New(chart.Options{Config: conn.Config(), SecondConfig: conn.Second, Waiter: waiter, Sink: event.Discard})
	ts.Check(err)
	_, err = client.Apply(ctx, chart.Wanted{
		Release: object.Release{Namespace: args[0], Name: args[1]},
		Generated: &chart.Generated{
			Name: "by-hand", Version: "0.1.0", Files: []chart.GeneratedFile{{Name: "all.yaml", Data: []byte(fillNames(ts, string(text)))}},
		},
	}, chart.ApplyOptions{})
	ts.Check(err)
}
