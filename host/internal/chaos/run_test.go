package chaos_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/zarf-host/zarf-host/host/internal/faultproxy"
	"github.com/zarf-host/zarf-host/host/internal/testcluster"
	"github.com/zarf-host/zarf-host/host/state"
)

// runLimit is how long one run of the program may take before it counts as hanging.
const runLimit = 3 * time.Minute

// A cell is a package of its own in a namespace of its own, and a way to the cluster that can be
// broken: what happens in one cell is of no concern to another.
type cell struct {
	t          *testing.T
	cluster    *testcluster.Cluster
	proxy      *faultproxy.Proxy
	kubeconfig string
	home       string
	name       string // of the package and of its namespace
	v1, v2     string // its archives
	rewritten  bool   // somebody else wrote the record
}

func newCell(t *testing.T, cluster *testcluster.Cluster) *cell {
	t.Helper()
	c := &cell{t: t, cluster: cluster, home: t.TempDir(), name: "chaos-" + strings.ToLower(rand.Text())[:8]}
	c.proxy, c.kubeconfig = cluster.Proxy(t)
	c.v1, c.v2 = buildPackages(t, c.name)
	t.Cleanup(c.discard)
	return c
}

// discard deletes what the cell left, without waiting: a namespace takes its time, and nobody uses
// its name again.
func (c *cell) discard() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	api := c.cluster.Client()
	// None of it need be there, and another test may have taken the server down.
	_ = api.CoreV1().Namespaces().Delete(ctx, c.name, meta.DeleteOptions{})
	_ = api.CoreV1().Secrets(state.Namespace).Delete(ctx, c.record(), meta.DeleteOptions{})
	_ = api.CoordinationV1().Leases(state.Namespace).Delete(ctx, c.record(), meta.DeleteOptions{})
}

// record is the name of the package's Secret, and of its lease.
func (c *cell) record() string { return state.SecretName(c.name, "") }

func named(text, name string) string { return strings.ReplaceAll(text, "NAME", name) }

// A process is a run of the program.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	out    bytes.Buffer
	began  time.Time
	ended  chan struct{} // closed when it has ended and code and took are known
	code   int           // -1 when it was killed
	took   time.Duration
	cancel context.CancelFunc
}

// start runs the program in the cell.
func (c *cell) start(args ...string) *process {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), runLimit)
	p := &process{t: c.t, ended: make(chan struct{}), cancel: cancel}
	p.cmd = exec.CommandContext(ctx, program.get(c.t), args...)
	p.cmd.Env = append(os.Environ(), "KUBECONFIG="+c.kubeconfig, "HOME="+c.home,
		"ZARF_CONFIG=", "ZARF_HOST_CONFIG=", "NO_COLOR=1")
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	p.cmd.WaitDelay = 5 * time.Second
	p.began = time.Now()
	if err := p.cmd.Start(); err != nil {
		cancel()
		c.t.Fatalf("running the program: %v", err)
	}
	go func() {
		defer close(p.ended)
		defer cancel()
		_ = p.cmd.Wait() // the code says it
		p.took, p.code = time.Since(p.began), p.cmd.ProcessState.ExitCode()
	}()
	return p
}

// wait returns the exit code once the program has ended.
func (p *process) wait() int {
	p.t.Helper()
	<-p.ended
	if p.took >= runLimit {
		p.t.Fatalf("`zarf-host %s` hung and was killed\n%s", strings.Join(p.cmd.Args[1:], " "), p.out.String())
	}
	return p.code
}

// kill ends the program as the kernel does it when memory runs out, and waits until it is dead.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.ended
}

func (p *process) interrupt() {
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Errorf("interrupting the program: %v", err)
	}
}

// run runs the program to its end.
func (c *cell) run(args ...string) *process {
	c.t.Helper()
	p := c.start(args...)
	p.wait()
	return p
}

// must runs the program, which must succeed.
func (c *cell) must(args ...string) *process {
	c.t.Helper()
	p := c.run(args...)
	if p.code != 0 {
		c.t.Fatalf("`zarf-host %s` ended with %d\n%s", strings.Join(args, " "), p.code, p.out.String())
	}
	return p
}

// An operation is what is broken, and what must have happened before.
type operation struct {
	name    string
	prepare func(c *cell)
	args    func(c *cell) []string
}

func deployV1(c *cell) []string { return []string{"deploy", c.v1, "--confirm"} }

func deployed(c *cell) { c.must(deployV1(c)...) }

func operations() []operation {
	return []operation{
		{"deploy", func(*cell) {}, deployV1},
		{"upgrade", deployed, func(c *cell) []string { return []string{"deploy", c.v2, "--confirm"} }},
		{"prune", deployed, func(c *cell) []string {
			return []string{"deploy", c.v2, "--confirm", "--prune=cluster-resources"}
		}},
		{"remove", deployed, func(c *cell) []string { return []string{"remove", c.name, "--confirm"} }},
	}
}

// A reference is an operation that nobody disturbed.
type reference struct {
	operation
	requests []faultproxy.Request
	end      picture
}

func (r reference) count() int { return len(r.requests) }

// at names a request of the operation by its number, method and kind of object.
func (r reference) at(n int) string {
	q := r.requests[n-1]
	kind := "namespaces"
	if _, inside, ok := strings.Cut(q.Path, "/namespaces/"); ok {
		if segments := strings.Split(inside, "/"); len(segments) > 1 {
			kind = segments[1]
		}
	}
	return fmt.Sprintf("%02d-%s-%s", n, q.Method, kind)
}

func undisturbed(t *testing.T, cluster *testcluster.Cluster, op operation) reference {
	t.Helper()
	_, err := cluster.Client().CoreV1().Namespaces().Get(t.Context(), state.Namespace, meta.GetOptions{})
	if err != nil { // only the very first operation of a cluster makes it, so it would not be counted right
		deployed(newCell(t, cluster))
	}
	c := newCell(t, cluster)
	op.prepare(c)
	c.proxy.Reset()
	p := c.must(op.args(c)...)
	ref := reference{operation: op, requests: c.proxy.Requests(), end: c.picture()}
	t.Logf("%s: %d changing requests in %s", op.name, ref.count(), p.took.Round(time.Millisecond))
	for i, r := range ref.requests {
		t.Logf("  %2d %-6s %s", i+1, r.Method, strings.ReplaceAll(r.Path, c.name, "NAME"))
	}
	return ref
}
