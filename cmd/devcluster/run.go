//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/zarf-host/zarf-host/cmd/devcluster/internal/pki"
	"github.com/zarf-host/zarf-host/cmd/devcluster/internal/supervise"
	"github.com/zarf-host/zarf-host/cmd/devcluster/internal/volume"
	"golang.org/x/sys/unix"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

const (
	// startLimit bounds each wait of the start; on an idle machine all of
	// them together take five seconds.
	startLimit = 2 * time.Minute
	// stopLimit is how long a component may take to end by itself.
	stopLimit = 10 * time.Second
	// restartLimit is shorter: while others keep their watches open, the API
	// server would wait a minute for them, and losing it rudely is what a
	// restart is asked for.
	restartLimit = time.Second
)

type runOptions struct {
	dataDir       string
	port          int
	nodes         int
	kwokConfig    string
	dieWithParent bool
	discard       bool
}

func newRunCmd() *cobra.Command {
	opts := runOptions{}
	cmd := &cobra.Command{
		Use:   "run --data-dir DIR",
		Short: "Run a control plane until SIGTERM",
		Long: `Run a control plane in the foreground until SIGTERM or Ctrl-C.

DIR/kubeconfig is the administrator's; DIR/ready exists while the control plane
is ready; DIR/logs holds a log of each component. Started again on the same DIR
it goes on with the same data. Ports N and N+1 are used, on loopback only.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run(cmd.Context(), opts, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.dataDir, "data-dir", "", "folder for data, logs and certificates, created if missing")
	flags.IntVar(&opts.port, "port", 6443, "port of the API server; 0 takes a free one")
	flags.IntVar(&opts.nodes, "nodes", 1, "how many nodes to pretend")
	flags.StringVar(&opts.kwokConfig, "kwok-config", "", "more configuration for kwok, such as stages and port-forwards")
	flags.BoolVar(&opts.dieWithParent, "die-with-parent", false, "stop when the process that started this one ends")
	flags.BoolVar(&opts.discard, "discard", false, "remove the data folder at the end, unless something went wrong; it must be empty at the start")
	_ = cmd.MarkFlagRequired("data-dir")
	_ = cmd.MarkFlagDirname("data-dir")
	return cmd
}

// plane is a control plane on its way up, running, or on its way down.
type plane struct {
	layout  layout
	client  kubernetes.Interface
	spawner *supervise.Spawner
	self    string
	nodes   int
	// running holds the components in the order in which they were started.
	running []*supervise.Process
	died    chan *supervise.Process
	// grace is how long components may take to stop.
	grace time.Duration
}

func run(ctx context.Context, opts runOptions, out io.Writer) (err error) {
	began := time.Now()
	if opts.dieWithParent {
		if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGTERM), 0, 0, 0); err != nil {
			return fmt.Errorf("asking to end with the parent: %w", err)
		}
	}
	if opts.nodes < 1 {
		return fmt.Errorf("a cluster needs at least one node, not %d", opts.nodes)
	}
	if opts.kwokConfig != "" {
		if opts.kwokConfig, err = filepath.Abs(opts.kwokConfig); err != nil {
			return fmt.Errorf("finding kwok's configuration: %w", err)
		}
		if _, err := os.Stat(opts.kwokConfig); err != nil {
			return fmt.Errorf("reading kwok's configuration: %w", err)
		}
	}
	if opts.discard {
		if entries, err := os.ReadDir(opts.dataDir); err == nil && len(entries) > 0 {
			return fmt.Errorf("promising to discard %s: it is not empty", opts.dataDir)
		}
	}
	l, err := prepare(opts.dataDir)
	if err != nil {
		return err
	}
	defer func() {
		if opts.discard && err == nil {
			err = os.RemoveAll(string(l))
		}
	}()
	lock, err := supervise.Acquire(l.lock())
	if err != nil {
		return fmt.Errorf("taking the data folder %s: %w", l, err)
	}
	defer lock.Close()
	// What an earlier run that was killed left behind is not true any more.
	_ = os.Remove(l.ready())
	port, err := choosePort(opts.port)
	if err != nil {
		return err
	}
	pid := strconv.Itoa(os.Getpid()) + "\n"
	if err := os.WriteFile(l.pid(), []byte(pid), 0o644); err != nil {
		return fmt.Errorf("writing the process id: %w", err)
	}
	defer os.Remove(l.pid())
	closeLog, err := sendLogsTo(l.log("devcluster"))
	if err != nil {
		return err
	}
	defer closeLog()

	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	p := &plane{layout: l, self: self, nodes: opts.nodes, spawner: supervise.NewSpawner(), died: make(chan *supervise.Process, 16), grace: stopLimit}
	defer p.stop()
	// Volumes are provisioned until just before the components stop.
	working, stopWorking := context.WithCancel(ctx)
	defer stopWorking()
	if err := p.start(working, opts, port); err != nil {
		if ctx.Err() != nil {
			return nil // asked to stop before it was up
		}
		return err
	}
	requests, err := serveControl(working, l)
	if err != nil {
		return err
	}
	if err := os.WriteFile(l.ready(), nil, 0o644); err != nil {
		return fmt.Errorf("telling that the control plane is ready: %w", err)
	}
	defer os.Remove(l.ready())
	fmt.Fprintf(out, "control plane ready after %.1fs: %s\n", time.Since(began).Seconds(), l.kubeconfig(adminUser))
	return p.supervise(ctx, requests)
}

// prepare makes the data folder and works in it: the path of a unix socket may
// have no more than 107 bytes, so sockets are named relative to it.
func prepare(dir string) (layout, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("finding the data folder: %w", err)
	}
	l := layout(abs)
	for _, folder := range []string{l.path("run"), l.path("logs"), l.path("tmp")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return "", fmt.Errorf("creating the data folder: %w", err)
		}
	}
	if err := os.Chdir(abs); err != nil {
		return "", fmt.Errorf("entering the data folder: %w", err)
	}
	return l, nil
}

// start brings everything up and returns when pods can run.
func (p *plane) start(ctx context.Context, opts runOptions, port int) error {
	l := p.layout
	certs, err := pki.Ensure(l.pki(), leaves())
	if err != nil {
		return err
	}
	if err := writeKubeconfigs(l, certs, port); err != nil {
		return err
	}
	kwokConfigs := []string{l.kwokConfig()}
	if opts.kwokConfig != "" {
		kwokConfigs = append(kwokConfigs, opts.kwokConfig)
	}
	if err := os.WriteFile(l.kwokConfig(), []byte(kwokStages()), 0o644); err != nil {
		return fmt.Errorf("writing kwok's configuration: %w", err)
	}
	client, err := newClient(l.kubeconfig(adminUser))
	if err != nil {
		return err
	}
	p.client = client

	launch := func(component string) error {
		return p.launch(spec(component, p.self, l, arguments(component, l, certs, port, kwokConfigs)))
	}
	if err := launch(etcdName); err != nil {
		return err
	}
	// An API server that finds no etcd waits longer than etcd takes to start.
	if err := p.wait(ctx, "etcd to listen", func(context.Context) error {
		conn, err := net.Dial("unix", etcdSocket)
		if err != nil {
			return err
		}
		return conn.Close()
	}); err != nil {
		return err
	}
	if err := launch(apiServerName); err != nil {
		return err
	}
	if err := p.waitForAPIServer(ctx); err != nil {
		return err
	}
	if err := releaseNodes(ctx, p.client, p.nodes); err != nil {
		return err
	}
	began := time.Now()
	for _, component := range []string{controllerManagerName, schedulerName, kwokName} {
		if err := launch(component); err != nil {
			return err
		}
	}
	if err := p.wait(ctx, "nodes and the storage class to be created", func(ctx context.Context) error {
		return seed(ctx, p.client, p.nodes)
	}); err != nil {
		return err
	}
	go func() {
		if err := volume.Run(ctx, p.client, l.volumes()); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "provisioning volumes")
		}
	}()
	return p.wait(ctx, "a ready node and the default service account", func(ctx context.Context) error {
		return usable(ctx, p.client, p.nodes, began)
	})
}

func (p *plane) launch(spec supervise.Spec) error {
	process, err := p.spawner.Start(spec)
	if err != nil {
		return err
	}
	p.running = append(p.running, process)
	p.watch(process)
	return nil
}

func (p *plane) watch(process *supervise.Process) {
	go func() {
		<-process.Done()
		p.died <- process
	}()
}

// supervise waits for the end, and restarts what it is asked to.
func (p *plane) supervise(ctx context.Context, requests <-chan restartRequest) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case process := <-p.died:
			if slices.Contains(p.running, process) {
				p.grace = restartLimit // the others may wait for it in vain
				return process.Err()
			}
		case request := <-requests:
			i := slices.IndexFunc(p.running, func(q *supervise.Process) bool { return q.Name() == request.Component })
			if i < 0 {
				request.answer <- fmt.Errorf("restarting %q: no component is called so", request.Component)
				continue
			}
			err := p.restart(ctx, i, request.DownFor)
			request.answer <- err
			if err != nil {
				return err // what could not be started again is missing
			}
		}
	}
}

// restart ends a running component, keeps it down for as long as asked and
// returns when the API server works, with it, again.
func (p *plane) restart(ctx context.Context, i int, down time.Duration) error {
	old := p.running[i]
	p.running = slices.Delete(p.running, i, i+1)
	old.Stop(restartLimit)
	select {
	case <-time.After(down):
	case <-ctx.Done():
		return nil // all of it stops
	}
	if old.Name() == kwokName {
		if err := releaseNodes(ctx, p.client, p.nodes); err != nil {
			return err
		}
	}
	process, err := p.spawner.Start(old.Spec())
	if err != nil {
		return err
	}
	p.running = slices.Insert(p.running, i, process)
	p.watch(process)
	if err := p.waitForAPIServer(ctx); err != nil && ctx.Err() == nil {
		return fmt.Errorf("restarting %s: %w", old.Name(), err)
	}
	return nil
}

// stop ends the components, the last started first. It says so first: nobody
// may take the control plane for ready while it goes.
func (p *plane) stop() {
	_ = os.Remove(p.layout.ready())
	for _, process := range slices.Backward(p.running) {
		process.Stop(p.grace)
	}
}

func (p *plane) waitForAPIServer(ctx context.Context) error {
	return p.wait(ctx, "the API server to be ready", func(ctx context.Context) error {
		return p.client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})
}

// wait tries until it works, a component dies or the limit has passed.
func (p *plane) wait(ctx context.Context, what string, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s (logs are in %s): %w", what, p.layout.path("logs"), errors.Join(ctx.Err(), err))
		case process := <-p.died:
			if slices.Contains(p.running, process) {
				return fmt.Errorf("waiting for %s: %w", what, process.Err())
			}
		case <-ticker.C:
		}
	}
}

func newClient(kubeconfig string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.QPS, config.Burst = 200, 400
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return client, nil
}

// sendLogsTo keeps what client-go logs, such as broken watches while the API
// server restarts, away from the terminal.
func sendLogsTo(path string) (func(), error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the log: %w", err)
	}
	klog.LogToStderr(false)
	klog.SetOutput(file)
	return func() {
		klog.Flush()
		klog.SetOutput(io.Discard)
		file.Close()
	}, nil
}
